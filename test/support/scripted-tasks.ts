import { EngineError } from '../../lib/base/errors.js';
import { defined } from '../../lib/base/defined.js';
import { canonicalJson, type JsonValue } from '../../lib/base/json.js';
import type { Artifact, ServedTask, TaskMessage, TaskState } from '../../lib/serve/task/served-task.js';
import { isFinal } from '../../lib/serve/task/served-task.js';
import type { Followed, ListRequest, SendRequest, TaskPage, Tasks, Wait } from '../../lib/serve/tasks.js';

interface Kept {
  task: ServedTask;
  readonly owner: string;
  readonly events: Exclude<Followed, { kind: 'snapshot' }>[];
}

/** What a script does to a task. */
export type Script = (taskId: string, request: SendRequest, tasks: ScriptedTasks) => void;

/**
 * Tasks in memory that change as a test says, on a clock that stands still unless it is moved. Keeps the promises of
 * `Tasks` for callers of one process.
 */
export class ScriptedTasks {
  nowMs = 1_800_000_000_000;
  /** Every message as it was taken. */
  readonly sent: SendRequest[] = [];
  readonly #tasks = new Map<string, Kept>();
  readonly #keys = new Map<string, { readonly body: string; readonly taskId: string }>();
  readonly #waiters = new Set<() => void>();
  readonly #noticed = new Set<() => void>();
  readonly #script: Script;

  /** `script` runs after a message was taken. */
  constructor(script: Script = () => undefined) {
    this.#script = script;
  }

  /** Moves the clock, and lets waiters see it. */
  advance(ms: number): void {
    this.nowMs += ms;
    this.#wake();
  }

  /** Resolves when a stream or a blocked message waits for a change. */
  async waited(): Promise<void> {
    if (this.#waiters.size > 0) return;
    await new Promise<void>((resolve) => {
      this.#noticed.add(resolve);
    });
  }

  read(taskId: string): ServedTask {
    return this.#kept(taskId).task;
  }

  status(taskId: string, state: TaskState, text?: string): void {
    const kept = this.#kept(taskId);
    const { task } = kept;
    if (isFinal(task.status.state)) throw new Error(`task ${taskId} is over`);
    const generation = task.generation + 1;
    const message: TaskMessage | undefined =
      text === undefined ? undefined : { messageId: `says-${generation}`, role: 'agent', parts: [{ text }] };
    const status = { state, atMs: this.nowMs, ...defined({ message }) };
    const history = task.status.message === undefined ? task.history : [...task.history, task.status.message];
    kept.task = { ...task, status, history, generation };
    kept.events.push({ kind: 'status', status, generation });
    this.#wake();
  }

  artifact(taskId: string, artifact: Artifact, { append = false, lastChunk = true } = {}): void {
    const kept = this.#kept(taskId);
    const { task } = kept;
    const generation = task.generation + 1;
    const known = task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId);
    const whole = append && known !== undefined ? { ...known, parts: [...known.parts, ...artifact.parts] } : artifact;
    const others = task.artifacts.filter(({ artifactId }) => artifactId !== artifact.artifactId);
    kept.task = { ...task, artifacts: [...others, whole], generation };
    kept.events.push({ kind: 'artifact', artifact, append, lastChunk, generation });
    this.#wake();
  }

  complete(taskId: string, output: JsonValue): void {
    this.artifact(taskId, { artifactId: 'result', parts: [{ data: output }] });
    this.status(taskId, 'completed');
  }

  /** Returns the tasks of a caller. */
  of(owner: string): Tasks {
    return {
      send: (request) => Promise.resolve().then(() => this.#send(owner, request)),
      read: (taskId) => Promise.resolve().then(() => this.#own(owner, taskId).task),
      list: (request) => Promise.resolve().then(() => this.#list(owner, request)),
      cancel: (taskId) => Promise.resolve().then(() => this.#cancel(owner, taskId)),
      waitFor: (taskId, wait) => this.#waitFor(owner, taskId, wait),
      follow: (taskId, options) => this.#follow(owner, taskId, options),
    };
  }

  #send(owner: string, request: SendRequest): ServedTask {
    const taskId = request.taskId === undefined ? this.#start(owner, request) : this.#followUp(owner, request);
    return this.#kept(taskId).task;
  }

  #start(owner: string, request: SendRequest): string {
    const { key, message, skill } = request;
    const body = canonicalJson([message.parts, skill ?? null]);
    const known = key === undefined ? undefined : this.#keys.get(`${owner} ${key}`);
    if (known !== undefined) {
      if (known.body !== body) throw new EngineError('KEY_REUSED', 'the key was used for another message');
      return known.taskId;
    }
    if (skill === 'unknown') throw new EngineError('SKILL_NOT_FOUND', 'there is no such skill');
    const taskId = (this.#tasks.size + 1).toString(16).padStart(32, '0');
    if (key !== undefined) this.#keys.set(`${owner} ${key}`, { body, taskId });
    const task: ServedTask = {
      taskId,
      contextId: request.contextId ?? `context-of-${taskId}`,
      skill: skill ?? 'triage',
      createdAtMs: this.nowMs,
      status: { state: 'submitted', atMs: this.nowMs },
      history: [message],
      artifacts: [],
      generation: 1,
      ...defined({ metadata: request.metadata }),
    };
    this.#tasks.set(taskId, { task, owner, events: [] });
    this.sent.push(request);
    this.#script(taskId, request, this);
    return taskId;
  }

  #followUp(owner: string, request: SendRequest): string {
    const taskId = request.taskId ?? '';
    const kept = this.#own(owner, taskId);
    const { message, contextId, ifGenerationMatch } = request;
    if (contextId !== undefined && contextId !== kept.task.contextId)
      throw new EngineError('INPUT_INVALID', 'the task is of another context');
    if (kept.task.history.some(({ messageId }) => messageId === message.messageId)) return taskId;
    if (isFinal(kept.task.status.state)) throw new EngineError('TASK_ENDED', 'the task is over');
    if (ifGenerationMatch !== undefined && ifGenerationMatch !== kept.task.generation)
      throw new EngineError('QUESTION_CLOSED', 'the task has changed since');
    kept.task = { ...kept.task, history: [...kept.task.history, message] };
    this.sent.push(request);
    this.status(taskId, 'working');
    this.#script(taskId, request, this);
    return taskId;
  }

  #cancel(owner: string, taskId: string): ServedTask {
    const { state } = this.#own(owner, taskId).task.status;
    if (isFinal(state) && state !== 'canceled') throw new EngineError('TASK_ENDED', 'the task is over');
    if (!isFinal(state)) this.status(taskId, 'canceled');
    return this.#kept(taskId).task;
  }

  #list(owner: string, request: ListRequest): TaskPage {
    const { skill, contextId, state, statusAfterMs = 0, pageSize, pageToken = '0' } = request;
    if (!/^\d+$/.test(pageToken)) throw new EngineError('INPUT_INVALID', 'the page token is not one');
    const found = [...this.#tasks.values()]
      .filter((kept) => kept.owner === owner)
      .map(({ task }) => task)
      .filter((task) => skill === undefined || task.skill === skill)
      .filter((task) => contextId === undefined || task.contextId === contextId)
      .filter(({ status }) => (state === undefined || status.state === state) && status.atMs >= statusAfterMs)
      .sort((one, other) => other.status.atMs - one.status.atMs);
    const end = Number(pageToken) + pageSize;
    return {
      tasks: found.slice(Number(pageToken), end),
      totalSize: found.length,
      ...defined({ nextPageToken: end < found.length ? String(end) : undefined }),
    };
  }

  async #waitFor(
    owner: string,
    taskId: string,
    { untilMs, signal, until = ({ status }) => status.state === 'input-required' }: Wait,
  ): Promise<ServedTask> {
    for (;;) {
      const { task } = this.#own(owner, taskId);
      const rests = isFinal(task.status.state) || until(task);
      if (rests || this.nowMs >= untilMs || signal?.aborted === true) return task;
      await this.#changed(signal);
    }
  }

  async *#follow(
    owner: string,
    taskId: string,
    { afterGeneration, signal }: { readonly afterGeneration?: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Followed> {
    const kept = this.#own(owner, taskId);
    const { task } = kept;
    if (isFinal(task.status.state) && (afterGeneration ?? task.generation) >= task.generation)
      throw new EngineError('TASK_ENDED', 'the task is over');
    if (afterGeneration === undefined) yield { kind: 'snapshot', task };
    let seen = afterGeneration ?? task.generation;
    while (!signal.aborted) {
      const next = kept.events.find(({ generation }) => generation > seen);
      if (next === undefined) {
        if (isFinal(kept.task.status.state)) return;
        await this.#changed(signal);
      } else {
        seen = next.generation;
        yield next;
      }
    }
  }

  #changed(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(wake);
        resolve();
      };
      this.#waiters.add(wake);
      for (const notice of this.#noticed) notice();
      this.#noticed.clear();
      signal?.addEventListener('abort', wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  #kept(taskId: string): Kept {
    const kept = this.#tasks.get(taskId);
    if (kept === undefined) throw new EngineError('TASK_NOT_FOUND', 'no task has this id');
    return kept;
  }

  #own(owner: string, taskId: string): Kept {
    const kept = this.#kept(taskId);
    if (kept.owner !== owner) throw new EngineError('TASK_NOT_FOUND', 'no task has this id');
    return kept;
  }
}
