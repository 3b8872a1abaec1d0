import type { EpochMs } from '../base/time.js';

/**
 * Health of a remote server as all workers together know it. Nothing but `isPrompt` is stored before its first failure.
 */
export interface ServerHealth {
  /** Requests in a row that failed because of the server, each soon after the one before. */
  readonly failures: number;
  readonly failedAtMs?: EpochMs;
  /** How often in a row the server was left alone and the following probe failed. */
  readonly trips: number;
  /** End of an open breaker: no request goes to the server before, and then a single one, the probe. */
  readonly openUntilMs?: EpochMs;
  /** Latest end of the probe that is under way. */
  readonly probeUntilMs?: EpochMs;
  /** Until when the server asked not to be called (`Retry-After`). */
  readonly holdUntilMs?: EpochMs;
  /** Set if the server once returned a running task promptly, and no start has been slow since. */
  readonly isPrompt?: true;
}

export const healthy: ServerHealth = { failures: 0, trips: 0 };
