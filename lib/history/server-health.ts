import type { EpochMs } from '../base/time.js';

/** What all workers together know of one remote server. Of one that has never failed only whether it is prompt, and how it is spoken to, is stored. */
export interface ServerHealth {
  /** Requests in a row that failed for the server's sake, each soon after the one before. */
  readonly failures: number;
  readonly failedAtMs?: EpochMs;
  /** Times in a row that it was left alone, and the probe afterwards failed. */
  readonly trips: number;
  /** The breaker is open: until then no request goes to the server, and then one, the probe. */
  readonly openUntilMs?: EpochMs;
  /** A probe is under way, at most until then. */
  readonly probeUntilMs?: EpochMs;
  /** The server has asked to be left alone until then (`Retry-After`). */
  readonly holdUntilMs?: EpochMs;
  /** The server has named a running task at once, where a start might have taken minutes, and was never slow since. */
  readonly isPrompt?: true;
}

export const healthy: ServerHealth = { failures: 0, trips: 0 };
