import type { Deps } from '../../../lib/operations/deps.js';
import { startNamedRun } from '../../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun, type StartedRun } from '../../../lib/operations/requests/start-run.js';
import type { LimitedStart } from './limits.js';

/** Makes a start as its caller does, or repeats it. */
export async function startLimited(deps: Deps, start: LimitedStart): Promise<StartedRun> {
  const { on, key, lane, timeout, delay, as } = start;
  const request = {
    workflow: on,
    input: { round: 0, n: key, ...(lane === undefined ? {} : { lane }) },
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1_000 }),
    ...(delay === undefined ? {} : { delayMs: delay * 1_000 }),
    // The other workflow computes its own.
    ...(on === 'main' && lane !== undefined ? { concurrencyKey: lane } : {}),
  };
  if (as === undefined) return startRun(deps, { ...request, key });
  if ('id' in as) return startNamedRun(deps, { ...request, ...as, whenEnded: 'startNew' });
  const signal = { name: as.signal, payload: `${as.signal}:start ${key}`, key: `start ${key}` };
  return startOrSignal(deps, { ...request, key, signal });
}

/** Asks again for a start with an idempotency key, without the signal that may have come with it. */
export function repeat(deps: Deps, { as: _, ...start }: LimitedStart): Promise<StartedRun> {
  return startLimited(deps, start);
}
