import { pollIntervalMaxMs } from '../base/limits.js';

const startAttempts = 5;
const startBackoffBaseMs = 1_000;
/** Pauses between the attempts of a write whose data is stored nowhere else, as long as there is time. */
const storeRetryBackoffBaseMs = 200;
const storeRetryBackoffMaxMs = 5_000;

/**
 * Returns the backoff after attempt `attempt` failed; undefined if it was the last. Exponential, never less than the
 * server asks.
 */
export function startRetryDelayMs(attempt: number, retryAfterMs = 0): number | undefined {
  return attempt >= startAttempts ? undefined : Math.max(startBackoffBaseMs * 2 ** (attempt - 1), retryAfterMs);
}

/** Returns the backoff before an answer is sent again: exponential up to 5 min, never less than the server asks. */
export function answerRetryDelayMs(attempt: number, retryAfterMs = 0): number {
  return Math.max(Math.min(startBackoffBaseMs * 2 ** Math.min(attempt - 1, 20), pollIntervalMaxMs), retryAfterMs);
}

export interface StepRetry {
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly maxIntervalMs: number;
  /** Random part of the interval, 0 to 1. */
  readonly jitter: number;
}

/**
 * Returns the backoff after attempt `attempt` of a step failed; undefined if it was the last. Exponential up to the
 * maximum, minus a random part; never less than the error asks. `fraction`: uniform in [0, 1).
 */
export function stepRetryDelayMs(
  policy: StepRetry,
  attempt: number,
  fraction: number,
  retryAfterMs = 0,
): number | undefined {
  if (attempt >= policy.maxAttempts) return undefined;
  // 2 ** 52 exceeds any interval, and is still finite.
  const intervalMs = Math.min(policy.initialIntervalMs * 2 ** Math.min(attempt - 1, 52), policy.maxIntervalMs);
  return Math.max(Math.ceil(intervalMs * (1 - policy.jitter * fraction)), retryAfterMs);
}

/** Returns the backoff after attempt `failures` of a write failed: exponential up to 5 s, half of it random. */
export function storeRetryDelayMs(failures: number, fraction: number): number {
  const longestMs = Math.min(storeRetryBackoffBaseMs * 2 ** Math.min(failures - 1, 20), storeRetryBackoffMaxMs);
  return Math.ceil(longestMs * (1 - fraction / 2));
}
