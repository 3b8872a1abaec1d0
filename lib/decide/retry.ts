import { startAttempts, startBackoffBaseMs } from '../base/limits.js';

/** How long to wait after failed attempt `attempt`; undefined when it was the last. Exponential, never sooner than the server asks. */
export function startRetryDelayMs(attempt: number, retryAfterMs = 0): number | undefined {
  return attempt >= startAttempts ? undefined : Math.max(startBackoffBaseMs * 2 ** (attempt - 1), retryAfterMs);
}

export interface StepRetry {
  readonly maxAttempts: number;
  readonly initialIntervalMs: number;
  readonly maxIntervalMs: number;
}

/** How long to wait after failed attempt `attempt` of a step; undefined when it was the last. */
export function stepRetryDelayMs(policy: StepRetry, attempt: number): number | undefined {
  if (attempt >= policy.maxAttempts) return undefined;
  // 2 ** 52 is far beyond any interval, and still a number.
  return Math.min(policy.initialIntervalMs * 2 ** Math.min(attempt - 1, 52), policy.maxIntervalMs);
}
