import type { JsonObject, JsonValue } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Duration, EpochMs } from '../base/time.js';

interface RemoteCallOptions {
  /** Name of the server in the app's configuration. */
  readonly server: string;
  /** Longest wait, from this call on; default `{ hours: 24 }`; rounded up to whole seconds, at least 1 s. Then `RemoteTaskTimedOut`. */
  readonly timeout?: Duration;
  /** A second execution does no harm, so a start that got no answer may be repeated towards a server that does not dedupe. Default false. */
  readonly retrySafe?: boolean;
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
}

export interface RetryPolicy {
  /** Attempts in all; default 5, at least 1. */
  readonly maxAttempts?: number;
  /** Wait before the second attempt; default `{ seconds: 1 }`. Each later one is twice the one before. */
  readonly initialInterval?: Duration;
  /** Longest wait between attempts; default `{ minutes: 5 }`. */
  readonly maxInterval?: Duration;
}

export interface StepOptions {
  readonly retry?: RetryPolicy;
  /** Longest time of one attempt; default and maximum `{ seconds: 45 }`. */
  readonly timeout?: Duration;
}

/** Handed to the function of a step. */
export interface StepContext {
  /** 1 for the first. An attempt that a crash cut off is not counted. */
  readonly attempt: number;
  /** The same on each attempt of this step, different for every other step. */
  readonly idempotencyKey: string;
  /** Aborts when the attempt has timed out. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * What a workflow may use of the world. Every method that waits returns a plain promise: `Promise.all`, `race`, `any`,
 * loops and try/finally mix them freely.
 */
export interface WorkflowContext {
  readonly runId: string;

  /**
   * Starts a task on a remote server and waits for its end. The wait holds no compute and survives restarts.
   * @throws RemoteTaskFailed, RemoteTaskRejected, RemoteTaskCancelled, RemoteTaskTimedOut, RemoteStartRefused,
   * RemoteStartFailed (never started), RemoteStartAmbiguous (may be running); `SERVER_NOT_FOUND`, `INPUT_INVALID`.
   */
  callRemoteTask(call: RemoteCall): Promise<RemoteOutcome>;

  /**
   * Runs `work` at least once and records its result exactly once; a replay returns the recorded result.
   * @throws StepFailed when the attempts are used up, the error is a NonRetryableError, or the result is no JSON or over 300 KB.
   */
  step<Result>(
    name: string,
    work: (step: StepContext) => Promise<Result> | Result,
    options?: StepOptions,
  ): Promise<Result>;

  /** Waits at least as long as said, to the precision of one sweep (a minute) beyond 90 s. */
  sleep(duration: Duration): Promise<void>;

  /** The time of the event that woke the workflow; the same on every replay. Never goes back. */
  now(): EpochMs;
  /** Uniform in [0, 1); the same sequence on every replay. Not for secrets. */
  random(): number;
  /** A UUID of version 4; the same on every replay. */
  uuid(): string;
  /** Logs once: silent while the history is replayed. */
  readonly log: Log;
}
