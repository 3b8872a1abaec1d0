import { storedError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { Clock, Duration, EpochMs } from '../base/time.js';
import { durationToMs } from '../base/time.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type { AnswerReply, CancelReply, PollReply, RemoteTaskTransport, StartReply, StartRequest } from '../remote/transport.js';
import type { RemoteRequest } from '../workflow/remote-request.js';

/** What a scripted server does with one call. */
export interface ScriptedTask {
  /** How long the task runs; default: it ends at once, in the reply to the start. */
  readonly after?: Duration;
  /** The result of the task. */
  readonly result?: JsonValue;
  /** MCP: the tool marks its own result as an error. */
  readonly isError?: boolean;
  /** The task fails with this text. */
  readonly failure?: string;
  /** A2A: the agent rejects the task with this text. */
  readonly rejection?: string;
  /** The start is refused with this text. */
  readonly refusal?: string;
  /** The task never ends. */
  readonly never?: boolean;
  /** What the task asks, one after the other; its time runs from the last answer. */
  readonly asks?: readonly ScriptedQuestion[];
  /** What the server asks before it makes a task, one after the other. */
  readonly asksFirst?: readonly ScriptedQuestion[];
}

export type ScriptedQuestion = Partial<Omit<RemoteQuestion, 'key'>> & Pick<RemoteQuestion, 'message'>;

export interface ScriptedServerOptions {
  readonly protocol: 'mcp' | 'a2a';
  /** Answers a repeated start with the task it has. Default true. */
  readonly dedupes?: boolean;
  /** Decides what a call does. */
  readonly task: (request: RemoteRequest) => ScriptedTask;
}

interface Task {
  readonly taskId: string;
  readonly key: string;
  readonly end: RemoteEnd;
  readonly script: ScriptedTask;
  /** Questions that have been answered. */
  answered: number;
  endsAtMs: EpochMs | undefined;
  cancelled: boolean;
}

/** A remote server for tests, on the clock of the test: it speaks the engine's port, not the wire. */
export class ScriptedServer implements RemoteTaskTransport {
  readonly protocol: 'mcp' | 'a2a';
  readonly dedupes: boolean;
  /** Start calls in order, each with its idempotency key. */
  readonly starts: { readonly key: string; readonly request: RemoteRequest }[] = [];
  /** Answers that were taken, in order. */
  readonly answers: { readonly key: string; readonly answer: RemoteAnswer }[] = [];
  /** The keys of every delivery of an answer, also of those that were not taken. */
  readonly delivered: string[] = [];
  reads = 0;
  cancels = 0;
  readonly #options: ScriptedServerOptions;
  readonly #tasks: Task[] = [];
  #name = '';
  #clock: Clock = { nowMs: () => 0 };

  constructor(options: ScriptedServerOptions) {
    this.protocol = options.protocol;
    this.dedupes = options.dedupes ?? true;
    this.#options = options;
  }

  /** @internal Called by the test app, which knows the name and the clock. */
  connect(name: string, clock: Clock): void {
    this.#name = name;
    this.#clock = clock;
  }

  problemWith(request: RemoteRequest): string | undefined {
    if ((request.kind === 'tool') === (this.protocol === 'mcp')) return undefined;
    return this.protocol === 'mcp' ? 'an MCP server has tools' : 'an A2A agent has skills and takes messages';
  }

  async start(start: StartRequest): Promise<StartReply> {
    const { request, idempotencyKey } = start;
    this.starts.push({ key: idempotencyKey, request });
    const known = this.dedupes ? this.#tasks.find((task) => task.key === idempotencyKey) : undefined;
    if (known !== undefined) return { kind: 'started', handle: this.#handle(known) };
    const script = this.#options.task(request);
    const first = this.#asksFirst(script, start);
    if (first !== undefined) return first;
    if (script.refusal !== undefined)
      return { kind: 'refused', error: storedError('REMOTE_START_REFUSED', script.refusal) };
    const taskId = `task-${this.#tasks.length + 1}`;
    const end = this.#end(script, taskId);
    const asks = (script.asks?.length ?? 0) > 0;
    if (script.after === undefined && script.never !== true && !asks) return { kind: 'ended', end };
    const endsAtMs = asks || script.after === undefined ? undefined : this.#endOf(script);
    const task: Task = { taskId, key: idempotencyKey, end, script, answered: 0, endsAtMs, cancelled: false };
    this.#tasks.push(task);
    return { kind: 'started', handle: this.#handle(task) };
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    this.reads++;
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined)
      return { kind: 'unreadable', error: storedError('REMOTE_PROTOCOL_VIOLATION', 'no such task') };
    if (task.cancelled) {
      return {
        kind: 'ended',
        end: { kind: 'failed', error: storedError('REMOTE_TASK_CANCELLED', 'remote task cancelled') },
      };
    }
    const isOver = task.endsAtMs !== undefined && task.endsAtMs <= this.#clock.nowMs();
    const question = openQuestion(task);
    if (question !== undefined) return { kind: 'working', state: 'input_required', questions: [question] };
    return isOver ? { kind: 'ended', end: task.end } : { kind: 'working', state: 'working' };
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    this.cancels++;
    for (const task of this.#tasks) if (task.taskId === handle.taskId) task.cancelled = true;
    return { kind: 'done' };
  }

  async answer(
    handle: RemoteTaskHandle,
    question: RemoteQuestion,
    answer: RemoteAnswer,
    idempotencyKey: string,
  ): Promise<AnswerReply> {
    this.delivered.push(idempotencyKey);
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined || openQuestion(task)?.key !== question.key) return { kind: 'done' };
    this.answers.push({ key: question.key, answer });
    task.answered++;
    if (openQuestion(task) === undefined) task.endsAtMs = this.#endOf(task.script);
    return { kind: 'done' };
  }

  /** One question for each time that the start comes back with the answers to the last ones. */
  #asksFirst({ asksFirst = [] }: ScriptedTask, { continuation }: StartRequest): StartReply | undefined {
    const at = Number(continuation?.state ?? '0');
    const given = Object.entries(continuation?.answers ?? {});
    for (const [key, answer] of given) this.answers.push({ key, answer });
    const question = asksFirst[at];
    if (question === undefined) return undefined;
    return { kind: 'asked', questions: [{ kind: 'form', ...question, key: 'first' }], state: String(at + 1) };
  }

  #endOf({ after, never }: ScriptedTask): EpochMs | undefined {
    if (never === true) return undefined;
    return this.#clock.nowMs() + (after === undefined ? 0 : durationToMs(after, 'after'));
  }

  #handle({ taskId }: Task): RemoteTaskHandle {
    return { server: this.#name, protocol: this.protocol, wire: 'scripted', taskId };
  }

  #end(script: ScriptedTask, taskId: string): RemoteEnd {
    if (script.rejection !== undefined) {
      return {
        kind: 'failed',
        error: storedError('REMOTE_TASK_REJECTED', `remote task failed: ${script.rejection}`, {
          server: this.#name,
          taskId,
        }),
      };
    }
    if (script.failure !== undefined) {
      return {
        kind: 'failed',
        error: storedError('REMOTE_TASK_FAILED', `remote task failed: ${script.failure}`, {
          server: this.#name,
          taskId,
        }),
      };
    }
    return { kind: 'completed', result: script.result ?? null, isError: script.isError ?? false, taskId };
  }
}

function openQuestion({ script, answered }: Task): RemoteQuestion | undefined {
  const question = script.asks?.[answered];
  return question === undefined ? undefined : { kind: 'form', ...question, key: `question-${answered + 1}` };
}

export function scriptedServer(options: ScriptedServerOptions): ScriptedServer {
  return new ScriptedServer(options);
}
