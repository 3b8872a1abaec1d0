import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject, JsonValue } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Duration, EpochMs } from '../base/time.js';
import type { ParentClosePolicy, RemoteClosePolicy } from '../history/event.js';
import type { InputForm } from '../history/input-form.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type { Workflow } from './define-workflow.js';

/** What each wait for a remote task takes. */
export interface RemoteWaitOptions {
  /** Name of the server in the app's configuration. */
  readonly server: string;
  /** Longest wait, from this call on; default `{ hours: 24 }`; rounded up to whole seconds, at least 1 s. Then `RemoteTaskTimedOut`. */
  readonly timeout?: Duration;
  /**
   * Answers what the server asks before or while the task runs; only then is it told that it may ask. The handler may
   * wait, with the context it is given, for steps, signals or people (`askPerson`). If it throws, so does the call.
   * Without a handler a task that asks is waited for until the timeout.
   */
  readonly onInput?: InputHandler;
  /** As long as somebody follows the run (`outwait watch`), what the task says of its progress is shown to them. Default false. */
  readonly watch?: boolean;
  /** Checks the result; one that fails is `RemoteResultInvalid`, with the raw result in its details. Any Standard Schema validator. */
  readonly resultSchema?: StandardSchemaV1;
  /**
   * What becomes of the task when the run ends, or no longer waits for it (a cancelled scope, a race that another branch
   * has won), before the task does: `cancel` asks the server to cancel it, `leave` lets it run. Default `cancel`.
   */
  readonly onCancel?: RemoteClosePolicy;
  /** The same when the timeout passes first. Default `cancel`. */
  readonly onTimeout?: RemoteClosePolicy;
}

/** What each call of a remote task takes. */
export interface RemoteCallOptions extends RemoteWaitOptions {
  /** A second execution does no harm, so a start that got no answer may be repeated towards a server that does not dedupe. Default false. */
  readonly retrySafe?: boolean;
  /** Calls again, with a fresh key and a timeout of its own, when the task ends without an outcome. Default: not. */
  readonly restart?: RestartPolicy;
  /**
   * The key by which the server tells a repeat of this call, 1 to 200 visible ASCII characters; sent as it is, with `#2`,
   * `#3` … behind it for restarts. Default: one that no other call has. Calls with one key on one server are one task:
   * it is theirs together, and a cancel of one of them cancels it.
   */
  readonly idempotencyKey?: string;
}

/** How a remote task ended without an outcome, for `restart`. */
export type RestartCause = 'failed' | 'rejected' | 'cancelled' | 'timedOut' | 'expired' | 'lost';

export interface RestartPolicy {
  /** Calls in all, the first included: 2 to 20. */
  readonly attempts: number;
  /** After which ends; default `['failed', 'cancelled', 'expired', 'lost']`. */
  readonly on?: readonly RestartCause[];
}

/** Waits for a task that somebody else has started. */
export interface AttachCall extends RemoteWaitOptions {
  readonly taskId: string;
  /** A2A: the context of the task, where the agent wants it. */
  readonly contextId?: string;
}

/** Calls a tool of an MCP server. */
export type McpCall = RemoteCallOptions & { readonly tool: string; readonly arguments?: JsonObject };
/** Calls a skill of an A2A agent: one data part `{ skill, arguments }`, a convention of this project and of those it follows. */
export type A2aSkillCall = RemoteCallOptions & { readonly skill: string; readonly arguments?: JsonValue };
/** Sends an A2A agent a message with parts of the author's own, in the names of A2A 1.0. */
export type A2aMessageCall = RemoteCallOptions & { readonly message: { readonly parts: readonly JsonObject[] } };
export type RemoteCall = McpCall | A2aSkillCall | A2aMessageCall;

/** How a remote task ended. A result that the tool itself marks as an error is an outcome, not an exception. */
export interface RemoteOutcome {
  /** MCP: the tool result object. A2A: the whole task, or the message that came in its place, in the names of 1.0. */
  readonly result: JsonValue;
  /** MCP `isError`; always false for A2A. */
  readonly isError: boolean;
  readonly server: string;
  /** Missing when the server answered at once, without a task. */
  readonly taskId?: string;
  /** With `isError`: the reply to the start said so already (a quota, arguments that do not fit), and no task ran. */
  readonly phase?: 'start';
}

/** Decides what a remote server that asks is answered; the question is untrusted text. */
export type InputHandler = (question: RemoteQuestion, ctx: WorkflowContext) => Promise<RemoteAnswer> | RemoteAnswer;

export interface AskOptions extends InputForm {
  /** What it is about; shown to whoever asks what the run waits for. Default `question`. */
  readonly name?: string;
  /** Longest wait; then `INPUT_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
}

export interface RetryPolicy {
  /** Attempts in all; default 5, at least 1. */
  readonly maxAttempts?: number;
  /** Wait before the second attempt; default `{ seconds: 1 }`. Each later one is twice the one before. */
  readonly initialInterval?: Duration;
  /** Longest wait between attempts; default `{ minutes: 5 }`. */
  readonly maxInterval?: Duration;
  /** Part of each wait that is left to chance, 0 to 1; default 0. */
  readonly jitter?: number;
  /** Errors that another attempt will not mend: names of error classes, or a predicate. Default: only NonRetryableError. */
  readonly nonRetryable?: readonly string[] | ((error: unknown) => boolean);
}

export interface StepOptions {
  readonly retry?: RetryPolicy;
  /**
   * The step runs in a worker of its own, with up to `{ minutes: 14 }` for each attempt, while the run waits and holds
   * nothing. What an attempt reports is saved while it runs. Default false: it runs in the turn.
   */
  readonly long?: boolean;
  /** Longest time of one attempt; default and maximum `{ seconds: 45 }`, of a long step `{ minutes: 14 }`. */
  readonly timeout?: Duration;
  /** Longest time of an attempt without a report; then it fails with `STEP_HEARTBEAT_MISSED` and is repeated. Default: no limit. */
  readonly heartbeatTimeout?: Duration;
  /** Longest time from the request to the end, with all attempts and the waits between them. Default: no limit. */
  readonly deadline?: Duration;
  /** The start is recorded first, and a step whose process died is not run again: it fails with `STEP_INTERRUPTED`. Default false. */
  readonly atMostOnce?: boolean;
}

/** Handed to the function of a step. */
export interface StepContext {
  /** 1 for the first. An attempt that a crash cut off is not counted. */
  readonly attempt: number;
  /** The same on each attempt of this step, different for every other step. */
  readonly idempotencyKey: string;
  /** A key for one of several effects of the step, as stable as `idempotencyKey`. */
  subKey(name: string): string;
  /** What the attempt before this one reported last, if it failed; of a long step also if its process died. */
  readonly progress: JsonValue | undefined;
  /**
   * Says how far the attempt has come; the next one is given the last such report. A long step's is saved every 20 s.
   * @throws EngineError `PAYLOAD_TOO_LARGE` for more than 256 KiB of JSON
   */
  readonly report: (progress: JsonValue) => void;
  /** Aborts when the attempt has failed for its timeouts, or nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface SignalOptions<Payload = JsonValue> {
  /** Longest wait; then `SIGNAL_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
  /** Takes only a signal that this accepts; others stay for later waits. */
  readonly where?: (payload: Payload) => boolean;
}

/** A wait that somebody outside ends, once. */
export interface ExternalWait {
  /** The capability to settle it: `POST /activities/external/{token}/complete` or `/fail`. */
  readonly token: string;
  /** @throws ExternalWaitFailed, or `EXTERNAL_TIMED_OUT` */
  readonly outcome: Promise<{ readonly result: JsonValue; readonly isError: boolean }>;
}

/** A durable promise. */
export interface DurablePromise<Value> {
  /** Whoever holds it may settle the promise, once. */
  readonly token: string;
  readonly promise: Promise<Value>;
}

export interface TokenOptions {
  /** What it is for; shown to whoever asks what the run waits for. Default `token`. */
  readonly name?: string;
  /** Longest wait. Default: no limit. */
  readonly timeout?: Duration;
}

export interface ChildOptions {
  /** Longest wait; then the child is treated by `parentClose` and the call fails with `CHILD_TIMED_OUT`. Default: no limit. */
  readonly timeout?: Duration;
  /** What happens to the child when this run ends or no longer waits for it; default `cancel`. */
  readonly parentClose?: ParentClosePolicy;
}

export interface Saga {
  /** Work that undoes what was just done; runs as a step, the last one added first, if the saga's body fails. */
  compensate(name: string, work: (step: StepContext) => unknown, options?: StepOptions): void;
}

/** A part of the workflow whose waits can be closed together. */
export interface ScopeHandle {
  /** Rejects the open waits of the scope, and all that it will ask for, with `RUN_CANCELLED`. */
  cancel(): void;
}

/**
 * What a workflow may use of the world. Every method that waits returns a plain promise: `Promise.all`, `race`, `any`,
 * loops and try/finally mix them freely.
 */
export interface WorkflowContext {
  readonly runId: string;

  /**
   * Starts a task on a remote server and waits for its end. The wait holds no compute and survives restarts.
   * @throws RemoteTaskFailed, RemoteTaskRejected, RemoteTaskCancelled, RemoteTaskTimedOut, RemoteTaskExpired,
   * RemoteTaskLost, RemoteStartRefused, RemoteStartFailed (never started), RemoteStartAmbiguous (may be running),
   * RemoteResultInvalid; `PAYLOAD_TOO_LARGE` for a result that cannot be stored, `SERVER_NOT_FOUND`, `INPUT_INVALID`.
   */
  callRemoteTask(call: RemoteCall): Promise<RemoteOutcome>;
  /**
   * Waits like `callRemoteTask` for a task that somebody else has started. It is read first; a server that does not know
   * it refuses. Who has not started it does not stop it: `onCancel` and `onTimeout` are `leave` unless given.
   * @throws what `callRemoteTask` throws, but for RemoteStartAmbiguous; `CONFIG_INVALID` for a server that takes over none
   */
  attachRemoteTask(call: AttachCall): Promise<RemoteOutcome>;

  /**
   * Runs `work` at least once and records its result exactly once; a replay returns the recorded result.
   * @throws StepFailed when the attempts are used up, the error is a NonRetryableError, or the result is no JSON or too large.
   */
  step<Result>(
    name: string,
    work: (step: StepContext) => Promise<Result> | Result,
    options?: StepOptions,
  ): Promise<Result>;

  /** Runs `fn` for each item, at most `concurrency` at a time (default 16), and gives the results in order. */
  map<Item, Result>(
    items: readonly Item[],
    fn: (item: Item, index: number) => Promise<Result>,
    options?: { readonly concurrency?: number },
  ): Promise<Result[]>;

  /** Waits at least as long as said, to the precision of one sweep (a minute) beyond 90 s. */
  sleep(duration: Duration): Promise<void>;
  /** Waits until an instant; one that has passed is now. */
  sleepUntil(instant: EpochMs | Date): Promise<void>;

  /**
   * Waits for a signal of that name. Signals are kept until a wait takes them, oldest first.
   * @throws EngineError `SIGNAL_TIMED_OUT`
   */
  signal<Payload = JsonValue>(name: string, options?: SignalOptions<Payload>): Promise<Payload>;

  /** A token that any outside system may settle. Resolves when the token may be handed out. */
  externalToken(options?: TokenOptions): Promise<ExternalWait>;
  /**
   * Asks a person: the question is listed by `outwait inputs` and `GET /inputs` until somebody answers, once, with
   * `outwait answer` or `POST /inputs/{id}`. Declining and cancelling are answers too.
   * @throws EngineError `INPUT_TIMED_OUT`
   */
  ask(question: AskOptions): Promise<RemoteAnswer>;
  /** A promise that any caller may settle, once. A failure rejects it with ExternalWaitFailed. */
  promise<Value = JsonValue>(options?: TokenOptions): Promise<DurablePromise<Value>>;

  /**
   * Runs another workflow as a run of its own and waits for its result.
   * @throws ChildFailed with the child's error in its details; `CHILD_TIMED_OUT`
   */
  child<Input, Output>(workflow: Workflow<Input, Output>, input: Input, options?: ChildOptions): Promise<Output>;

  /**
   * Like Promise.race over branches, each with a context of its own; the open waits of the losers are closed and their remote
   * tasks cancelled. Settles when their shielded parts and sagas have ended.
   */
  race<Result>(branches: readonly ((ctx: WorkflowContext) => Promise<Result>)[]): Promise<Result>;
  /** Runs `body` with a context whose waits can be closed together; settles after shielded parts and sagas of what was closed. */
  scope<Result>(body: (ctx: WorkflowContext, scope: ScopeHandle) => Promise<Result>): Promise<Result>;
  /** Runs `body` with a context whose waits no cancel from outside closes: for cleanup. */
  shield<Result>(body: (ctx: WorkflowContext) => Promise<Result>): Promise<Result>;
  /** Runs `body`; if it fails, runs the compensations that it added, last in first out, shielded, and then fails the same. */
  saga<Result>(body: (saga: Saga) => Promise<Result>): Promise<Result>;

  /** Ends this run and goes on as a new one of the same workflow, with `input` and the signals that nobody has read. Never returns. */
  continueAsNew(input?: JsonValue): Promise<never>;
  /** The history has grown so long that the workflow should go on as a new run: 10,000 events. */
  readonly shouldContinueAsNew: boolean;

  /** May new code take its new path? True unless this run has passed this point with the old code. Recorded once it is true. */
  patched(patchId: string): boolean;
  /** Answers queries of that name, any time, also after the end. `handler` must not wait and change nothing. */
  onQuery(name: string, handler: (input: JsonValue | undefined) => unknown): void;
  /** Says how far the workflow has come. Beyond 1 KiB it is kept as text, cut. */
  progress(progress: JsonValue): void;

  /** The time of the event that woke the workflow; the same on every replay. Never goes back. */
  now(): EpochMs;
  /** Uniform in [0, 1); the same sequence on every replay. Not for secrets. */
  random(): number;
  /** A UUID of version 4; the same on every replay. */
  uuid(): string;
  /** Logs once: silent while the history is replayed. */
  readonly log: Log;
}
