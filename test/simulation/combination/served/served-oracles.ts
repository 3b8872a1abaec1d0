import type { HistoryEvent } from '../../../../lib/history/event.js';
import type { Deps } from '../../../../lib/operations/deps.js';
import { createTasks } from '../../../../lib/operations/serve/tasks.js';
import { isFinal, type ServedTask } from '../../../../lib/serve/task/served-task.js';
import type { Tasks } from '../../../../lib/serve/tasks.js';
import type { World } from '../../world.js';
import { isForced, short, type Book } from '../book.js';
import type { Known } from '../known.js';
import type { Told } from '../telling.js';
import { callers, ownerOf, serveConfig } from './callers.js';
import { Receivers } from './receivers.js';
import { TaskTruth } from './truth.js';

/** A message that a caller was told is taken. */
interface Taken {
  readonly taskId: string;
  readonly messageId: string;
}

/** How often something was checked: what never comes up is not checked. */
export interface ServedCounts {
  /** Replies with a task that had been read as final before. */
  finals: number;
  /** Changes that followers were told. */
  followed: number;
  /** Connections of followers who came back. */
  resumed: number;
}

/** Checks the promises about served tasks: with each write, with each reply, and at the end. */
export class ServedOracles {
  readonly receivers: Receivers;
  readonly counts: ServedCounts = { finals: 0, followed: 0, resumed: 0 };
  readonly taken: Taken[] = [];
  /** Tasks whose cancel was acknowledged. */
  readonly cancelled = new Set<string>();
  readonly #known: Known;
  readonly #world: World;
  readonly #tasks = new Map<string, TaskTruth>();
  /** The tasks of the starts that were answered, by caller, skill and key. */
  readonly #byKey = new Map<string, string>();
  /** Final tasks as they were first read. */
  readonly #finals = new Map<string, string>();

  constructor(known: Known) {
    this.#known = known;
    this.#world = known.world;
    this.receivers = new Receivers(known.world, known.given, (taskId) => this.#tasks.get(taskId));
  }

  get tasks(): readonly TaskTruth[] {
    return [...this.#tasks.values()];
  }

  task(taskId: string): TaskTruth | undefined {
    return this.#tasks.get(taskId);
  }

  // ----- with each write -----

  onNewRun({ runId, head }: Book): void {
    const { task, owner, tenant, workflow } = head;
    if (task === undefined) return;
    const taskId = task.firstRunId ?? runId;
    const before = this.#tasks.get(taskId);
    const truth = before ?? new TaskTruth({ taskId, skill: workflow, owner: ownerOf({ id: owner ?? '', tenant }) });
    if ((before === undefined) !== (task.firstRunId === undefined)) this.#fail('task-without-first-run', short(runId));
    if (task.generation !== truth.generation)
      this.#fail('next-run-at-another-generation', `${task.generation}, its callers have seen ${truth.generation}`);
    truth.runIds.push(runId);
    this.#tasks.set(taskId, truth);
  }

  onEvent({ runId, head }: Book, event: HistoryEvent): void {
    const truth = this.#tasks.get(head.task?.firstRunId ?? runId);
    if (truth === undefined) return;
    if (truth.final !== undefined) this.#fail('task-changed-after-end', `${event.type} of task ${short(truth.taskId)}`);
    truth.apply(event);
  }

  // ----- with each reply -----

  /** Checks a task that was sent to its caller; `from`: the generation that it had when it was asked for. */
  checkTask(task: ServedTask, from: number): void {
    const { taskId, generation, status, history } = task;
    const truth = this.#tasks.get(taskId);
    if (truth === undefined) {
      this.#fail('told-of-no-task', short(taskId));
      return;
    }
    const where = `task ${short(taskId)}`;
    if (generation > truth.generation) this.#fail('read-from-the-future', `${where} is at ${truth.generation}`);
    if (generation < from) this.#fail('stale-read', `${where} at ${generation}, it was at ${from} before`);
    const state = truth.stateAt(generation);
    if (status.state !== state)
      this.#fail('state-not-of-log', `${where} at ${generation}: ${status.state}, not ${state}`);
    const ids = history.map(({ messageId }) => messageId);
    if (new Set(ids).size < ids.length) this.#fail('message-shown-twice', `${where}: ${ids.join(' ')}`);
    if (!isFinal(status.state)) return;
    const text = JSON.stringify(task);
    if (this.#finals.has(taskId)) this.counts.finals++;
    const first = this.#finals.get(taskId) ?? text;
    this.#finals.set(taskId, first);
    if (text !== first) this.#fail('final-task-changed', `${where}: ${first} and then ${text}`);
  }

  /** Checks that starts of one caller with one key are one task. */
  onStarted(key: string, taskId: string): void {
    if (!this.#known.books.has(taskId)) this.#fail('told-of-no-task', short(taskId));
    const known = this.#byKey.get(key) ?? taskId;
    this.#byKey.set(key, known);
    if (known !== taskId) this.#fail('two-tasks-of-one-key', `${key}: ${short(known)} and ${short(taskId)}`);
  }

  // ----- at the end -----

  /** Checks what the code of a run that has ended was given. */
  onTold({ runId, ending, state, chain, place, items }: Book, { read }: Told): void {
    if (ending === undefined || isForced(ending)) return;
    for (const inboxId of state.takenInbox) {
      if (!inboxId.startsWith('message-') || items.get(`i#${inboxId}`)?.['answers'] !== undefined) continue;
      const isRead = read.includes(inboxId.slice('message-'.length));
      if (isRead && state.unreadSignals.has(inboxId))
        this.#fail('read-message-unread', `${inboxId} of run ${short(runId)}`);
      const next = this.#known.books.get(chain.runIds[place + 1] ?? '');
      if (isRead === next?.items.has(`i#${inboxId}`))
        this.#fail(isRead ? 'message-read-twice' : 'message-not-handed-on', `${inboxId} of run ${short(runId)}`);
    }
  }

  /** Checks that no news are owed any more. */
  get isCalm(): boolean {
    for (const { items } of this.#known.books.values())
      for (const [sk, { dueAtMs }] of items) if (sk.startsWith('p#') && dueAtMs !== undefined) return false;
    return true;
  }

  /** Checks what each caller is told when all is over. */
  async checkEnd(deps: Deps): Promise<void> {
    this.receivers.checkEnd();
    for (const caller of callers(this.#known.given)) {
      const tasks = createTasks({ ...deps, caller }, serveConfig(this.#known.given));
      const own = this.tasks.filter(({ owner }) => owner === ownerOf(caller));
      for (const truth of own) await this.#checkEnded(truth, tasks);
      await this.#checkList(tasks, own);
    }
  }

  async #checkEnded(truth: TaskTruth, tasks: Tasks): Promise<void> {
    const { taskId } = truth;
    const where = `task ${short(taskId)}`;
    const task = await tasks.read(taskId);
    this.checkTask(task, truth.generation);
    const state = task.status.state;
    if (truth.final === undefined) this.#fail('task-not-ended', `${where} is ${state}`);
    if (this.cancelled.has(taskId) && state !== 'canceled') this.#fail('cancel-not-kept', `${where} is ${state}`);
    await this.#checkTail(truth, tasks);
    const isKept = truth.runIds.every((runId) => !isForced(this.#known.books.get(runId)!.ending!));
    const shown = new Set(task.history.map(({ messageId }) => messageId));
    for (const { messageId } of this.taken.filter((taken) => taken.taskId === taskId))
      if (isKept && !shown.has(messageId)) this.#fail('message-lost', `${messageId} to ${where}`);
  }

  /** Checks that a follower who has seen only the first generation is sent all the others. */
  async #checkTail(truth: TaskTruth, tasks: Tasks): Promise<void> {
    let last = 1;
    const { signal } = new AbortController();
    for await (const one of tasks.follow(truth.taskId, { afterGeneration: 1, signal })) {
      if (one.kind === 'snapshot') continue;
      const problem = truth.problemWith(one);
      if (problem !== undefined) this.#fail('told-otherwise', problem);
      if (one.generation !== ++last) this.#fail('tail-with-gap', `${one.generation} instead of ${last}`);
    }
    if (last !== truth.generation) this.#fail('tail-cut-off', `${last} of ${truth.generation}`);
  }

  /** Checks that the list of a caller has its tasks with their states, and nothing else. */
  async #checkList(tasks: Tasks, own: readonly TaskTruth[]): Promise<void> {
    const listed = await tasks.list({ pageSize: 100 });
    const ids = listed.tasks.map(({ taskId }) => taskId);
    const missing = own.find(({ taskId }) => !ids.includes(taskId));
    if (missing !== undefined) this.#fail('task-not-listed', short(missing.taskId));
    if (ids.length > own.length || listed.totalSize !== own.length)
      this.#fail('list-of-others', `${ids.length} of ${own.length}`);
    for (const state of ['completed', 'canceled', 'failed', 'rejected'] as const) {
      const { totalSize } = await tasks.list({ pageSize: 100, state });
      const expected = own.filter(({ final }) => final === state).length;
      if (totalSize !== expected) this.#fail('hint-not-of-log', `${totalSize} ${state}, not ${expected}`);
    }
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}
