import { pollIntervalMaxMs } from '../base/limits.js';

const startAttempts = 5;
const startBackoffBaseMs = 1_000;
/** Pauses between the tries of a write that holds what no item has yet, as long as there is time. */
const storeRetryBackoffBaseMs = 200;
const storeRetryBackoffMaxMs = 5_000;

/** How long to wait after failed attempt `attempt`; undefined when it was the last. Exponential, never sooner than the server asks. */
export function startRetryDelayMs(attempt: number, retryAfterMs = 0): number | undefined {
  return attempt >= startAttempts ? undefined : Math.max(startBackoffBaseMs * 2 ** (attempt - 1), retryAfterMs);
}

/** How long to wait before an answer is sent again: exponential up to 5 min, never sooner than the server asks. */
export function answerRetryDelayMs(attempt: number, retryAfterMs = 0): number {
  return Math.max(Math.min(startBackoffBaseMs * 2 ** Math.min(attempt - 1, 20), pollIntervalMaxMs), retryAfterMs);
}

export interface StepRetry {
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly maxIntervalMs: number;
  /** Part of the interval that is left to chance, 0 to 1. */
  readonly jitter: number;
}

/**
 * How long to wait after failed attempt `attempt` of a step; undefined when it was the last. Exponential up to the
 * maximum, less a part left to chance; never sooner than the error asks. `fraction`: uniform in [0, 1).
 */
export function stepRetryDelayMs(
  policy: StepRetry,
  attempt: number,
  fraction: number,
  retryAfterMs = 0,
): number | undefined {
  if (attempt >= policy.maxAttempts) return undefined;
  // 2 ** 52 is far beyond any interval, and still a number.
  const intervalMs = Math.min(policy.initialIntervalMs * 2 ** Math.min(attempt - 1, 52), policy.maxIntervalMs);
  return Math.max(Math.ceil(intervalMs * (1 - policy.jitter * fraction)), retryAfterMs);
}

/** How long to wait after failed try `failures` of a write: exponential up to 5 s, half of it left to chance. */
export function storeRetryDelayMs(failures: number, fraction: number): number {
  const longestMs = Math.min(storeRetryBackoffBaseMs * 2 ** Math.min(failures - 1, 20), storeRetryBackoffMaxMs);
  return Math.ceil(longestMs * (1 - fraction / 2));
}
