import type { Caller } from '../../../../lib/base/caller.js';
import { EngineError, hasCode } from '../../../../lib/base/errors.js';
import type { Deps } from '../../../../lib/operations/deps.js';
import { createPushConfigs } from '../../../../lib/operations/serve/push-configs.js';
import { createTasks } from '../../../../lib/operations/serve/tasks.js';
import { isFinal, type ServedTask } from '../../../../lib/serve/task/served-task.js';
import type { SendRequest, Tasks } from '../../../../lib/serve/tasks.js';
import type { World } from '../../world.js';
import { short } from '../book.js';
import type { Case } from '../timetable.js';
import { callers, ownerOf, serveConfig } from './callers.js';
import { answerTo } from './conversation.js';
import { Receivers } from './receivers.js';
import type { ServedOracles } from './served-oracles.js';
import type { ServedRequest } from './served.js';
import type { TaskTruth } from './truth.js';
import { Watcher } from './watcher.js';

const S = 1_000;

/** What a caller may be told of its own tasks when something goes wrong, or comes too late. */
const refusals = ['STORE_UNAVAILABLE', 'STORE_RESULT_UNKNOWN', 'WORKFLOW_NOT_FOUND'] as const;

/** What one request is about. */
interface Asked {
  readonly request: ServedRequest;
  readonly caller: Caller;
  /** Missing: it is about no task. */
  readonly truth: TaskTruth | undefined;
  /** Whether the task is that of another caller. */
  readonly isForeign: boolean;
  /** Whether the message of a follow-up had been taken before. */
  readonly isRepeat: boolean;
}

/** The callers of what is served; checks what each is told. */
export class ServedCallers {
  readonly #case: Case;
  readonly #world: World;
  readonly #oracles: ServedOracles;
  readonly #callers: readonly Caller[];
  /** The messages that were sent, by task and id: a repeat has the same content. */
  readonly #sent = new Map<string, Pick<SendRequest, 'message' | 'ifGenerationMatch'>>();
  #names = 0;

  constructor(given: Case, world: World, oracles: ServedOracles) {
    this.#case = given;
    this.#world = world;
    this.#oracles = oracles;
    this.#callers = callers(given);
  }

  /** Makes a request, as a process of its own. */
  make(request: ServedRequest): void {
    const tasks = this.#oracles.tasks;
    const truth = 'task' in request ? tasks[request.task % Math.max(1, tasks.length)] : undefined;
    if ('task' in request && truth === undefined) return;
    const isForeign = 'task' in request && request.foreign === true;
    const caller = this.#callerOf(request, truth, isForeign);
    if (caller === undefined) return;
    const isRepeat = request.what === 'followUp' && this.#isTaken(truth!.taskId, request.id);
    const asked: Asked = { request, caller, truth, isForeign, isRepeat };
    if (request.what === 'watch' && !isForeign) {
      const tasksOf = (deps: Deps): Tasks => this.#tasks(deps, caller);
      const { counts } = this.#oracles;
      new Watcher({ world: this.#world, truth: truth!, tasksOf, request, counts }).begin();
      return;
    }
    this.#world.request('caller', async (deps) => {
      try {
        await this.#ask(deps, asked);
        if (isForeign) this.#fail('foreign-caller-let-in', `${request.what} of task ${short(truth!.taskId)}`);
      } catch (error) {
        this.#check(asked, error);
      }
    });
  }

  #callerOf(request: ServedRequest, truth: TaskTruth | undefined, isForeign: boolean): Caller | undefined {
    if ('by' in request) return this.#callers[request.by];
    return this.#callers.find((caller) => (ownerOf(caller) === truth?.owner) !== isForeign);
  }

  /** Returns the dependencies of a caller; tenants have caps. */
  #depsOf(deps: Deps, caller: Caller): Deps {
    const { tenants } = this.#case;
    const app = tenants === undefined ? deps.app : { ...deps.app, access: { limits: { liveRuns: 2 } } };
    return { ...deps, caller, app };
  }

  #tasks(deps: Deps, caller: Caller): Tasks {
    return createTasks(this.#depsOf(deps, caller), serveConfig(this.#case));
  }

  async #ask(deps: Deps, asked: Asked): Promise<void> {
    const { request, caller, truth } = asked;
    const tasks = this.#tasks(deps, caller);
    const taskId = truth?.taskId ?? '';
    const from = truth?.generation ?? 1;
    switch (request.what) {
      case 'task':
        return this.#start(tasks, caller, request);
      case 'followUp': {
        const answered = await this.#followUp(tasks, asked, request);
        if (request.blocks && !asked.isForeign) await this.#wait(deps, tasks, truth!, answered);
        return;
      }
      case 'cancelTask': {
        const task = await tasks.cancel(taskId);
        this.#oracles.checkTask(task, from);
        this.#oracles.cancelled.add(taskId);
        return;
      }
      case 'readTask':
        this.#oracles.checkTask(await tasks.read(taskId), from);
        return;
      case 'awaitTask':
        return this.#wait(deps, tasks, truth!);
      case 'listTasks':
        return this.#list(tasks, caller);
      case 'putPush': {
        const config = {
          id: request.id,
          url: Receivers.urlOf(request.receiver, String(++this.#names)),
          wire: '1.0',
        } as const;
        await createPushConfigs(this.#depsOf(deps, caller)).set(taskId, config);
        return;
      }
      case 'dropPush':
        await createPushConfigs(this.#depsOf(deps, caller)).remove(taskId, request.id);
        return;
      case 'watch':
        for await (const one of tasks.follow(taskId, { signal: new AbortController().signal })) {
          this.#fail('foreign-caller-let-in', `${one.kind} of task ${short(taskId)}`);
          return;
        }
    }
  }

  async #start(tasks: Tasks, caller: Caller, request: Extract<ServedRequest, { what: 'task' }>): Promise<void> {
    const { skill, key, context, push } = request;
    const start = `${ownerOf(caller)} ${skill} ${key ?? `n${++this.#names}`}`;
    const isNamed = skill === 'desk';
    const send: SendRequest = {
      message: { messageId: start, role: 'user', parts: [isNamed ? { data: {} } : { text: start }] },
      ...(isNamed ? { skill, arguments: { round: 0, n: start } } : {}),
      ...(key === undefined ? {} : { key }),
      ...(contextOf(key, context) === undefined ? {} : { contextId: contextOf(key, context)! }),
      ...(push === undefined ? {} : { push: { url: Receivers.urlOf(push, start.replaceAll(' ', '-')), wire: '1.0' } }),
    };
    const task = await tasks.send(send);
    this.#oracles.checkTask(task, 1);
    if (key !== undefined) this.#oracles.onStarted(start, task.taskId);
  }

  /** Sends a message to a task. Returns the question that it has answered by name, if any. */
  async #followUp(
    tasks: Tasks,
    { truth, caller, isForeign }: Asked,
    { id, names }: Extract<ServedRequest, { what: 'followUp' }>,
  ): Promise<string | undefined> {
    const { taskId } = truth!;
    const name = `${taskId} ${id}`;
    const seen = names && !isForeign ? await tasks.read(taskId) : undefined;
    const question = seen === undefined ? undefined : questionOf(seen);
    const text = question === undefined ? `says ${id}` : answerTo(question);
    const fresh = {
      message: { messageId: isForeign ? `of ${caller.id}` : id, role: 'user', parts: [{ text }] },
      ...(question === undefined ? {} : { ifGenerationMatch: seen!.generation }),
    } as const;
    // What is sent again is what was sent before; somebody else's message has an id of its own.
    const known = isForeign ? undefined : this.#sent.get(name);
    if (!isForeign && known === undefined) this.#sent.set(name, fresh);
    const from = truth!.generation;
    const task = await tasks.send({ taskId, ...(known ?? fresh) });
    this.#oracles.checkTask(task, from);
    if (isForeign) return undefined;
    this.#oracles.taken.push({ taskId, messageId: id });
    if (!truth!.runIds.some((runId) => this.#world.items.has(`run#${runId} i#message-${id}`)))
      this.#fail('message-not-kept', `${id} of task ${short(taskId)}`);
    return known === undefined ? question : undefined;
  }

  /** Waits for a task to end or ask, as a blocking message does; `answered`: the question that was answered before. */
  async #wait(deps: Deps, tasks: Tasks, { taskId, generation }: TaskTruth, answered?: string): Promise<void> {
    const untilMs = deps.clock.nowMs() + 25 * S;
    const task = await tasks.waitFor(taskId, { untilMs });
    this.#oracles.checkTask(task, generation);
    if (answered !== undefined && questionOf(task) === answered && deps.clock.nowMs() < untilMs)
      this.#fail('answered-question-shown', answered);
  }

  async #list(tasks: Tasks, caller: Caller): Promise<void> {
    const from = new Map(this.#oracles.tasks.map((truth) => [truth.taskId, truth]));
    const before = new Map(this.#oracles.tasks.map(({ taskId, generation }) => [taskId, generation]));
    const { tasks: listed } = await tasks.list({ pageSize: 10 });
    for (const task of listed) {
      if (from.get(task.taskId) !== undefined && from.get(task.taskId)!.owner !== ownerOf(caller))
        this.#fail('foreign-task-listed', short(task.taskId));
      this.#oracles.checkTask(task, before.get(task.taskId) ?? 1);
    }
  }

  #isTaken(taskId: string, messageId: string): boolean {
    return this.#oracles.taken.some((taken) => taken.taskId === taskId && taken.messageId === messageId);
  }

  /** Checks that a request was refused for a reason. */
  #check({ request, truth, isForeign, isRepeat }: Asked, error: unknown): void {
    if (refusals.some((code) => hasCode(error, code))) return;
    if (isForeign && hasCode(error, 'TASK_NOT_FOUND') && (error as Error).message === 'no task has this id') return;
    if (request.what === 'task' && hasCode(error, 'TENANT_LIMIT_REACHED') && this.#case.tenants !== undefined) return;
    const where = `${request.what} of task ${short(truth?.taskId ?? '')}: ${error instanceof Error ? error.message : 'unknown'}`;
    const isOver = truth?.final !== undefined;
    if (isRepeat) this.#fail('repeat-told-otherwise', where);
    else if (request.what === 'cancelTask' && hasCode(error, 'TASK_ENDED')) {
      if (!isOver || truth.final === 'canceled') this.#fail('cancel-refused', where);
    } else if (request.what === 'followUp' && hasCode(error, 'TASK_ENDED')) {
      if (!isOver) this.#fail('ended-too-early', where);
    } else if (request.what !== 'followUp' || !hasCode(error, 'QUESTION_CLOSED'))
      this.#fail('caller-fails', error instanceof EngineError ? `${error.code} ${where}` : where);
  }

  #fail(kind: string, detail: string): void {
    this.#world.fail(kind, detail);
  }
}

/** Returns the context of a start: starts with one key have the same one, as they are the same. */
function contextOf(key: string | undefined, context: string | undefined): string | undefined {
  if (key === undefined) return context;
  return key === 't3' ? undefined : 'c1';
}

/** Returns the text of the question that a caller sees; undefined if there is none. */
function questionOf({ status }: ServedTask): string | undefined {
  if (isFinal(status.state) || status.state !== 'input-required') return undefined;
  const part = status.message?.parts[0];
  return part !== undefined && 'text' in part ? part.text : undefined;
}
