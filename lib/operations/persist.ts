import { hasCode } from '../base/errors.js';
import { turnReserveMs } from '../base/limits.js';
import { storeRetryDelayMs } from '../decide/retry.js';
import type { Deps } from './deps.js';
import type { TurnLimits } from './turn-limits.js';

/**
 * Does `request` until the store takes it, with growing pauses, as long as `needsMs` are left after a pause, and
 * `leastTries` times whatever is left; then throws what the store said last. It is the same request each time, so one
 * whose answer was lost does no harm.
 */
export type Persist = <Result>(
  request: () => Promise<Result>,
  needsMs?: number,
  leastTries?: number,
) => Promise<Result>;

/** Tries of a write of what this process alone knows: after a suspension there is no time left, and perhaps still a moment. */
export const lastTries = 3;

/** For requests that work hangs on: a store that turns them away is no reason to lose it, or to do it again. */
export function persistWithin(deps: Pick<Deps, 'delay' | 'random' | 'log'>, limits: TurnLimits): Persist {
  return async (request, needsMs = turnReserveMs, leastTries = 1) => {
    for (let failures = 1; ; failures++) {
      try {
        return await request();
      } catch (error) {
        if (!isStoreFailure(error)) throw error;
        const pauseMs = storeRetryDelayMs(failures, deps.random.fraction());
        if (failures >= leastTries && limits.remainingMs() < pauseMs + needsMs) throw error;
        deps.log.warn('the store does not take a request, trying again', { failures, pauseMs, code: error.code });
        await deps.delay(pauseMs);
      }
    }
  };
}

/** Trouble that may pass: nothing was done, or it is not known whether. */
export function isStoreFailure(error: unknown): error is Error & { readonly code: string } {
  return hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN');
}
