import { storedError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { Clock, Duration, EpochMs } from '../base/time.js';
import { durationToMs } from '../base/time.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteEnd } from '../history/remote-end.js';
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
import type { VirtualClock } from './virtual-clock.js';
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
  /** What reads say before the end, in the words of the protocol: each from so long after the start on. Default `working`. */
  readonly states?: readonly { readonly from: Duration; readonly state: string }[];
  /** Reads do not find the task before so long after the start, as behind a replica that lags; nor does who looks for it, nor a cancel. */
  readonly knownFrom?: Duration;
  /** Reads do not find the task from so long after the start on: the server has forgotten it. */
  readonly goneAfter?: Duration;
  /** For how long the server promises to keep the task. */
  readonly ttl?: Duration;
  /** So many reads, the first ones, get no answer. */
  readonly failingReads?: number;
  /** The reads are answered with more than can be stored. */
  readonly tooLarge?: boolean;
  /** So many starts, the first ones, get no answer; the task is made all the same. */
  readonly lostReplies?: number;
  /** The start is answered only after so long; without it, at once. Nobody waits for longer than a start may take. */
  readonly answersAfter?: Duration;
  /** The server does not cancel the task. */
  readonly refusesCancel?: boolean;
}

export type ScriptedQuestion = Partial<Omit<RemoteQuestion, 'key'>> & Pick<RemoteQuestion, 'message'>;

export interface ScriptedServerOptions {
  readonly protocol: 'mcp' | 'a2a';
  /** Answers a repeated start with the task it has. Default true. */
  readonly dedupes?: boolean;
  /** Can be asked for the task of a start that got no answer. Default false. */
  readonly finds?: boolean;
  /**
   * It is known to answer starts at once, so that turns make them. Default true; false: workers do, until it has named a
   * running task at once.
   */
  readonly answersAtOnce?: boolean;
  /** Decides what a call does. */
  readonly task: (request: RemoteRequest) => ScriptedTask;
}

/** One on which somebody can wait, where servers are to answer late. */
type TestClock = Clock & Partial<Pick<VirtualClock, 'delay'>>;

interface Task {
  readonly taskId: string;
  readonly key: string;
  readonly end: RemoteEnd;
  readonly script: ScriptedTask;
  /** Questions that have been answered. */
  answered: number;
  readonly startedAtMs: EpochMs;
  endsAtMs: EpochMs | undefined;
  cancelled: boolean;
  reads: number;
}

type Replied = Pick<ScriptedTask, 'answersAfter'> & { readonly reply: StartReply };

function paceOf({ answersAfter }: ScriptedTask): Pick<ScriptedTask, 'answersAfter'> {
  return answersAfter === undefined ? {} : { answersAfter };
}

const noAnswer = storedError('REMOTE_UNREACHABLE', 'no answer');
const noSuchTask = storedError('REMOTE_PROTOCOL_VIOLATION', 'no such task');

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
  /** How often it was asked for the task of a start without an answer. */
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

  /** @internal Called by the test app, which knows the name and the clock. */
  connect(name: string, clock: TestClock): void {
    this.#name = name;
    this.#clock = clock;
    for (const { taskId, script } of this.#toBegin.splice(0)) this.#begin(taskId, '', script);
  }

  problemWith(request: RemoteRequest): string | undefined {
    if ((request.kind === 'tool') === (this.protocol === 'mcp')) return undefined;
    return this.protocol === 'mcp' ? 'an MCP server has tools' : 'an A2A agent has skills and takes messages';
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
    // Whoever asks in a turn gives up before that, and time does not pass for a turn here.
    const untilMs = start.untilMs ?? this.#clock.nowMs();
    await this.#clock.delay?.(Math.min(answersAtMs, untilMs) - this.#clock.nowMs());
    return answersAtMs <= untilMs ? reply : { kind: 'unknown', error: noAnswer };
  }

  #reply(start: StartRequest): Replied {
    const { request, idempotencyKey } = start;
    const ofKey = this.starts.filter(({ key }) => key === idempotencyKey).length;
    const known = this.dedupes ? this.#tasks.find((task) => task.key === idempotencyKey) : undefined;
    if (known !== undefined) return { reply: this.#started(known, ofKey), ...paceOf(known.script) };
    const script = this.#options.task(request);
    return { reply: this.#replyTo(start, script, ofKey), ...paceOf(script) };
  }

  #replyTo(start: StartRequest, script: ScriptedTask, ofKey: number): StartReply {
    const first = this.#asksFirst(script, start);
    if (first !== undefined) return first;
    if (script.refusal !== undefined)
      return { kind: 'refused', error: storedError('REMOTE_START_REFUSED', script.refusal) };
    const taskId = `task-${this.#tasks.length + 1}`;
    if (script.after === undefined && script.never !== true && (script.asks ?? []).length === 0)
      return { kind: 'ended', end: this.#end(script, taskId) };
    return this.#started(this.#begin(taskId, start.idempotencyKey, script), ofKey);
  }

  /** Begins a task that no workflow has asked for, to be attached to: now, or with the test app. */
  begin(taskId: string, script: ScriptedTask): void {
    if (this.#name === '') this.#toBegin.push({ taskId, script });
    else this.#begin(taskId, '', script);
  }

  #begin(taskId: string, key: string, script: ScriptedTask): Task {
    const isOpen = script.after === undefined || (script.asks ?? []).length > 0;
    const task: Task = {
      ...{ taskId, key, script, end: this.#end(script, taskId), answered: 0, cancelled: false, reads: 0 },
      startedAtMs: this.#clock.nowMs(),
      endsAtMs: isOpen ? undefined : this.#endOf(script),
    };
    this.#tasks.push(task);
    return task;
  }

  #started(task: Task, start: number): StartReply {
    if (start <= (task.script.lostReplies ?? 0)) return { kind: 'unknown', error: noAnswer };
    return { kind: 'started', handle: this.#handle(task) };
  }

  async traits(): Promise<ServerTraits> {
    return { dedupes: this.dedupes, finds: this.#finds };
  }

  async find({ idempotencyKey }: StartRequest): Promise<FindReply> {
    this.looks++;
    const [task, second] = this.#tasks.filter(({ key }) => key === idempotencyKey);
    const isOne = task !== undefined && second === undefined && this.#knows(task);
    return isOne ? { kind: 'found', handle: this.#handle(task) } : { kind: 'none' };
  }

  async adopt({ taskId }: { readonly taskId: string }): Promise<StartReply> {
    this.reads++;
    const task = this.#tasks.find((known) => known.taskId === taskId);
    if (task === undefined || !this.#knows(task))
      return { kind: 'refused', error: storedError('REMOTE_START_REFUSED', 'no such task') };
    return this.#isOver(task) ? { kind: 'ended', end: task.end } : { kind: 'started', handle: this.#handle(task) };
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    this.reads++;
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined || !this.#knows(task)) return { kind: 'missing', error: noSuchTask };
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
    if (question !== undefined) return { kind: 'working', state: 'input_required', questions: [question] };
    return this.#isOver(task) ? { kind: 'ended', end: task.end } : { kind: 'working', state: this.#stateOf(task) };
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    this.cancels++;
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined || !this.#knows(task)) return { kind: 'gone', error: noSuchTask };
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

  #handle({ taskId, script }: Task): RemoteTaskHandle {
    const ttl = script.ttl === undefined ? {} : { ttlMs: durationToMs(script.ttl, 'ttl') };
    return { server: this.#name, protocol: this.protocol, wire: 'scripted', taskId, ...ttl };
  }

  #isOver({ endsAtMs }: Task): boolean {
    return endsAtMs !== undefined && endsAtMs <= this.#clock.nowMs();
  }

  #knows({ script: { knownFrom, goneAfter }, startedAtMs }: Task): boolean {
    const ageMs = this.#clock.nowMs() - startedAtMs;
    return (
      (knownFrom === undefined || ageMs >= durationToMs(knownFrom, 'knownFrom')) &&
      (goneAfter === undefined || ageMs < durationToMs(goneAfter, 'goneAfter'))
    );
  }

  #stateOf({ script: { states = [] }, startedAtMs }: Task): string {
    const ageMs = this.#clock.nowMs() - startedAtMs;
    return states.findLast(({ from }) => durationToMs(from, 'from') <= ageMs)?.state ?? 'working';
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
