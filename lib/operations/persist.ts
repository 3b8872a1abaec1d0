import { hasCode } from '../base/errors.js';
import { turnReserveMs } from '../base/limits.js';
import { storeRetryDelayMs } from '../decide/retry.js';
import type { Deps } from './deps.js';
import type { TurnLimits } from './turn-limits.js';

/**
 * Sends `request` until the store takes it, with growing pauses. Retries while `needsMs` remain after the next pause,
 * and makes at least `leastTries` attempts regardless; then throws the last error of the store. The request is the same
 * each time, so a lost answer does no harm.
 */
export type Persist = <Result>(
  request: () => Promise<Result>,
  needsMs?: number,
  leastTries?: number,
) => Promise<Result>;

/** Attempts for a write of what only this process knows, even when no time is left: often there still is a moment. */
export const lastTries = 3;

/**
 * Creates a `Persist` for requests that work depends on: a failing store must not cause work to be lost or repeated.
 */
export function persistWithin(deps: Pick<Deps, 'delay' | 'random' | 'log'>, limits: TurnLimits): Persist {
  return async (request, needsMs = turnReserveMs, leastTries = 1) => {
    for (let failures = 1; ; failures++) {
      try {
        return await request();
      } catch (error) {
        if (!isStoreFailure(error)) throw error;
        const pauseMs = storeRetryDelayMs(failures, deps.random.fraction());
        if (failures >= leastTries && limits.remainingMs() < pauseMs + needsMs) throw error;
        deps.log.warn('the store did not take a request; trying again', { failures, pauseMs, code: error.code });
        await deps.delay(pauseMs);
      }
    }
  };
}

/** Returns true for a failure that may pass: nothing was done, or it is unknown whether it was. */
export function isStoreFailure(error: unknown): error is Error & { readonly code: string } {
  return hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN');
}
