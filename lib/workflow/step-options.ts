import type { JsonValue } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Duration } from '../base/time.js';

/** How often a step is tried, and how long the waits between are. */
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
