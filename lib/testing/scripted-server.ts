import { defined } from '../base/defined.js';
import { storedError } from '../base/errors.js';
import { durationToMs, type Clock } from '../base/time.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type {
  AnswerReply,
  CancelReply,
  FindReply,
  PollReply,
  RemoteTaskTransport,
  ServerTraits,
  StartReply,
  StartRequest,
} from '../remote/transport.js';
import type { RemoteRequest } from '../workflow/remote-request.js';
import { endOf, isKnown, isOver, openQuestion, shownOf, toEnd, type ScriptedTask, type Task } from './scripted-task.js';
import type { VirtualClock } from './virtual-clock.js';
import type { RemoteProtocol } from '../history/remote-protocol.js';

/** Options of `scriptedServer`. */
export interface ScriptedServerOptions {
  readonly protocol: RemoteProtocol;
  /** Whether the server deduplicates starts: it answers a repeat with the existing task. Default true. */
  readonly dedupes?: boolean;
  /** Whether the server can find the task of a start that got no answer. Default false. */
  readonly finds?: boolean;
  /**
   * Whether the server is known to answer starts at once, so that turns make them. Default true. If false, workers make
   * them until the server has once replied at once with a running task.
   */
  readonly answersAtOnce?: boolean;
  /** Returns the script of a call. */
  readonly task: (request: RemoteRequest) => ScriptedTask;
}

/** Requests that a server of each protocol accepts. */
const takes: Readonly<
  Record<RemoteProtocol, { readonly kinds: readonly RemoteRequest['kind'][]; readonly problem: string }>
> = {
  mcp: { kinds: ['tool'], problem: 'an MCP server has tools' },
  a2a: { kinds: ['skill', 'message'], problem: 'an A2A agent has skills and takes messages' },
};

/** A remote server of a test: shows the requests so far, and can begin tasks for a workflow to attach to. */
export interface ScriptedServerHandle {
  readonly protocol: RemoteProtocol;
  /** Start calls in order, each with its idempotency key. */
  readonly starts: readonly { readonly key: string; readonly request: RemoteRequest }[];
  /** Accepted answers, in order. */
  readonly answers: readonly { readonly key: string; readonly answer: RemoteAnswer }[];
  /** Keys of all deliveries of answers, including those that were not accepted. */
  readonly delivered: readonly string[];
  readonly reads: number;
  readonly cancels: number;
  /** Number of searches for the task of a start without an answer. */
  readonly looks: number;
  /** Begins a task that no workflow has started, so that one can attach to it: now, or when the test app is created. */
  begin(taskId: string, script: ScriptedTask): void;
}

/** The clock of the test, with a delay if servers are to answer late. */
type TestClock = Clock & Partial<Pick<VirtualClock, 'delay'>>;

type Replied = Pick<ScriptedTask, 'answersAfter'> & { readonly reply: StartReply };

const noAnswer = storedError('REMOTE_UNREACHABLE', 'no answer');
const noSuchTask = storedError('REMOTE_PROTOCOL_VIOLATION', 'no such task');

/** A remote server for tests, on the clock of the test. Implements the engine's port; nothing goes over a wire. */
export class ScriptedServer implements RemoteTaskTransport, ScriptedServerHandle {
  readonly protocol: RemoteProtocol;
  readonly dedupes: boolean;
  readonly starts: { readonly key: string; readonly request: RemoteRequest }[] = [];
  readonly answers: { readonly key: string; readonly answer: RemoteAnswer }[] = [];
  readonly delivered: string[] = [];
  reads = 0;
  cancels = 0;
  looks = 0;
  readonly #finds: boolean;
  readonly #options: ScriptedServerOptions;
  readonly #tasks: Task[] = [];
  readonly #toBegin: { readonly taskId: string; readonly script: ScriptedTask }[] = [];
  #name = '';
  #clock: TestClock = { nowMs: () => 0 };

  constructor(options: ScriptedServerOptions) {
    this.protocol = options.protocol;
    this.dedupes = options.dedupes ?? true;
    this.#finds = options.finds ?? false;
    this.#options = options;
  }

  /** @internal Sets the name and the clock; called by the test app. */
  connect(name: string, clock: TestClock): void {
    this.#name = name;
    this.#clock = clock;
    for (const { taskId, script } of this.#toBegin.splice(0)) this.#begin(taskId, '', script);
  }

  problemWith(request: RemoteRequest): string | undefined {
    const { kinds, problem } = takes[this.protocol];
    return kinds.includes(request.kind) ? undefined : problem;
  }

  async answersAtOnce(): Promise<boolean | undefined> {
    return this.#options.answersAtOnce === false ? undefined : true;
  }

  async start(start: StartRequest): Promise<StartReply> {
    const { request, idempotencyKey } = start;
    this.starts.push({ key: idempotencyKey, request });
    const { reply, answersAfter } = this.#reply(start);
    if (answersAfter === undefined) return reply;
    const answersAtMs = this.#clock.nowMs() + durationToMs(answersAfter, 'answersAfter');
    // A turn, which has no deadline here, gives up at once: time does not pass during a turn.
    const untilMs = start.untilMs ?? this.#clock.nowMs();
    await this.#clock.delay?.(Math.min(answersAtMs, untilMs) - this.#clock.nowMs());
    return answersAtMs <= untilMs ? reply : { kind: 'unknown', error: noAnswer };
  }

  #reply(start: StartRequest): Replied {
    const { request, idempotencyKey } = start;
    const ofKey = this.starts.filter(({ key }) => key === idempotencyKey).length;
    const known = this.dedupes ? this.#tasks.find((task) => task.key === idempotencyKey) : undefined;
    if (known !== undefined)
      return { reply: this.#started(known, ofKey), ...defined({ answersAfter: known.script.answersAfter }) };
    const script = this.#options.task(request);
    return { reply: this.#replyTo(start, script, ofKey), ...defined({ answersAfter: script.answersAfter }) };
  }

  #replyTo(start: StartRequest, script: ScriptedTask, ofKey: number): StartReply {
    const first = this.#asksFirst(script, start);
    if (first !== undefined) return first;
    if (script.refusal !== undefined)
      return { kind: 'refused', error: storedError('REMOTE_START_REFUSED', script.refusal) };
    const taskId = `task-${this.#tasks.length + 1}`;
    if (script.after === undefined && script.never !== true && (script.asks ?? []).length === 0)
      return { kind: 'ended', end: toEnd(script, { server: this.#name, taskId }) };
    return this.#started(this.#begin(taskId, start.idempotencyKey, script), ofKey);
  }

  begin(taskId: string, script: ScriptedTask): void {
    if (this.#name === '') this.#toBegin.push({ taskId, script });
    else this.#begin(taskId, '', script);
  }

  #begin(taskId: string, key: string, script: ScriptedTask): Task {
    const isOpen = script.after === undefined || (script.asks ?? []).length > 0;
    const task: Task = {
      ...{
        taskId,
        key,
        script,
        end: toEnd(script, { server: this.#name, taskId }),
        answered: 0,
        cancelled: false,
        reads: 0,
      },
      startedAtMs: this.#clock.nowMs(),
      endsAtMs: isOpen ? undefined : endOf(script, this.#clock.nowMs()),
    };
    this.#tasks.push(task);
    return task;
  }

  #started(task: Task, start: number): StartReply {
    if (start <= (task.script.lostReplies ?? 0)) return { kind: 'unknown', error: noAnswer };
    const { state, note } = shownOf(task, this.#clock.nowMs());
    return { kind: 'started', handle: this.#handle(task), state, ...defined({ note }) };
  }

  async traits(): Promise<ServerTraits> {
    return { dedupes: this.dedupes, finds: this.#finds };
  }

  async find({ idempotencyKey }: StartRequest): Promise<FindReply> {
    this.looks++;
    const [task, second] = this.#tasks.filter(({ key }) => key === idempotencyKey);
    const isOne = task !== undefined && second === undefined && isKnown(task, this.#clock.nowMs());
    return isOne ? { kind: 'found', handle: this.#handle(task) } : { kind: 'none' };
  }

  async adopt({ taskId }: { readonly taskId: string }): Promise<StartReply> {
    this.reads++;
    const task = this.#tasks.find((known) => known.taskId === taskId);
    if (task === undefined || !isKnown(task, this.#clock.nowMs()))
      return { kind: 'refused', error: storedError('REMOTE_START_REFUSED', 'no such task') };
    return isOver(task, this.#clock.nowMs()) ? { kind: 'ended', end: task.end } : this.#started(task, Infinity);
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    this.reads++;
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined || !isKnown(task, this.#clock.nowMs())) return { kind: 'missing', error: noSuchTask };
    if (++task.reads <= (task.script.failingReads ?? 0)) return { kind: 'unreadable', error: noAnswer };
    if (task.script.tooLarge === true)
      return { kind: 'unreadable', error: storedError('PAYLOAD_TOO_LARGE', 'the answer is larger than 4194304 bytes') };
    if (task.cancelled) {
      return {
        kind: 'ended',
        end: { kind: 'failed', error: storedError('REMOTE_TASK_CANCELLED', 'remote task cancelled') },
      };
    }
    const question = openQuestion(task);
    const shown = shownOf(task, this.#clock.nowMs());
    if (question !== undefined) return { kind: 'working', ...shown, questions: [question] };
    return isOver(task, this.#clock.nowMs()) ? { kind: 'ended', end: task.end } : { kind: 'working', ...shown };
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    this.cancels++;
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined || !isKnown(task, this.#clock.nowMs())) return { kind: 'gone', error: noSuchTask };
    if (task.script.refusesCancel === true)
      return { kind: 'refused', error: storedError('REMOTE_UNREACHABLE', 'the task cannot be cancelled') };
    task.cancelled = true;
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
    if (openQuestion(task) === undefined) task.endsAtMs = endOf(task.script, this.#clock.nowMs());
    return { kind: 'done' };
  }

  /** Asks the next question each time the start is repeated with the answer to the last one. */
  #asksFirst({ asksFirst = [] }: ScriptedTask, { continuation }: StartRequest): StartReply | undefined {
    const at = Number(continuation?.state ?? '0');
    const given = Object.entries(continuation?.answers ?? {});
    for (const [key, answer] of given) this.answers.push({ key, answer });
    const question = asksFirst[at];
    if (question === undefined) return undefined;
    return { kind: 'asked', questions: [{ kind: 'form', ...question, key: 'first' }], state: String(at + 1) };
  }

  #handle({ taskId, script }: Task): RemoteTaskHandle {
    const ttl = script.ttl === undefined ? {} : { ttlMs: durationToMs(script.ttl, 'ttl') };
    return { server: this.#name, protocol: this.protocol, wire: 'scripted', taskId, ...ttl };
  }
}

/**
 * Creates a server that follows a script, for `createTestApp(app, { servers })`.
 * @example
 * ```ts
 * import { scriptedServer } from 'outwait/testing';
 *
 * export const reports = scriptedServer({
 *   protocol: 'mcp',
 *   task: () => ({ after: { hours: 5 }, result: { rows: 3 } }),
 * });
 * ```
 */
export function scriptedServer(options: ScriptedServerOptions): ScriptedServerHandle {
  return new ScriptedServer(options);
}
