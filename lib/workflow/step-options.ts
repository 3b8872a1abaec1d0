import type { JsonValue } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Duration } from '../base/time.js';

/** How often a step is attempted, and the intervals between attempts. */
export interface RetryPolicy {
  /** Maximum number of attempts, including the first; default 5, at least 1. */
  readonly maxAttempts?: number;
  /** Interval before the second attempt; default `{ seconds: 1 }`. It doubles for each later attempt. */
  readonly initialInterval?: Duration;
  /** Longest interval between attempts; default `{ minutes: 5 }`. */
  readonly maxInterval?: Duration;
  /** Fraction of each interval that is random, 0 to 1; default 0. */
  readonly jitter?: number;
  /** Errors that are not retried: names of error classes, or a predicate. Default: only NonRetryableError. */
  readonly nonRetryable?: readonly string[] | ((error: unknown) => boolean);
}

/** Options of `ctx.step`. */
export interface StepOptions {
  readonly retry?: RetryPolicy;
  /**
   * Whether the step runs in a separate worker, with up to `{ minutes: 14 }` for each attempt. Meanwhile the run waits
   * and holds no compute, and the progress that an attempt reports is saved. Default false: the step runs in the turn.
   */
  readonly long?: boolean;
  /** Longest time of one attempt; default and maximum `{ seconds: 45 }`, or `{ minutes: 14 }` for a long step. */
  readonly timeout?: Duration;
  /**
   * Longest time without a report; the attempt then fails with `STEP_HEARTBEAT_MISSED` and is retried. Default: no
   * limit.
   */
  readonly heartbeatTimeout?: Duration;
  /**
   * Longest time from the request to the end, including all attempts and the intervals between them. Default: no limit.
   */
  readonly deadline?: Duration;
  /**
   * Whether to run the step at most once: if its process dies, it is not repeated and fails with `STEP_INTERRUPTED`.
   * Default false.
   */
  readonly atMostOnce?: boolean;
}

/** The argument of a step's function. */
export interface StepContext {
  /** Number of the attempt, from 1. An attempt that was interrupted by a crash is not counted. */
  readonly attempt: number;
  /** Key to pass to other systems: the same for each attempt of this step, different for every other step. */
  readonly idempotencyKey: string;
  /** Returns a key for one of several effects of the step, as stable as `idempotencyKey`. */
  subKey(name: string): string;
  /** The last report of the previous attempt if that failed or, for a long step, if its process died. */
  readonly progress: JsonValue | undefined;
  /**
   * Reports the progress of the attempt; the next attempt receives the last report. A long step's is saved every 20 s.
   * @throws EngineError `PAYLOAD_TOO_LARGE` for more than 256 KiB of JSON
   */
  readonly report: (progress: JsonValue) => void;
  /** Aborts when the attempt has timed out, or when its result is no longer needed. */
  readonly signal: AbortSignal;
  readonly log: Log;
}
