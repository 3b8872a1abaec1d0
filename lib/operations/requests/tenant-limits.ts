import { EngineError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import type { TenantLimits } from '../../workflow/access.js';
import type { Cap } from '../../store/run-store.js';
import type { Deps } from '../deps.js';

// Loaded late: most deployments have no limits of tenants, and few starts are refused.

/** When a caller may try again after its live runs were too many: one of them must end first. */
const liveRetryMs = 30_000;
/** A context that is full stays so: clients that try again by themselves must not do so often. */
const turnsRetryMs = 3_600_000;

/**
 * Takes one of the starts or signals that a tenant has in this minute, before anything else is written.
 * @throws EngineError `TENANT_LIMIT_REACHED` (details: limit, retryAfterMs), `PAYLOAD_TOO_LARGE`
 */
export async function admit(
  deps: Deps,
  tenant: string,
  limits: TenantLimits,
  { of, payload }: { readonly of: 'starts' | 'signals'; readonly payload: JsonValue | undefined },
): Promise<void> {
  if (limits.payloadBytes !== undefined)
    checkJsonBytes(`the ${of === 'starts' ? 'input' : 'payload'} is`, jsonBytes(payload), limits.payloadBytes);
  const perMinute = of === 'starts' ? limits.startsPerMinute : limits.signalsPerMinute;
  if (perMinute === undefined) return;
  const atMs = deps.clock.nowMs();
  const { permits } = await deps.store.callers();
  if (await permits.takePermit(tenant, of, { atMs, perMinute })) return;
  throw reached(`${of}PerMinute`, perMinute, 60_000 - (atMs % 60_000));
}

/** Creates the error for a start while as many runs are live as the tenant may have. */
export function tooManyLive(liveMax: number): EngineError {
  return reached('liveRuns', liveMax, liveRetryMs);
}

function reached(limit: keyof TenantLimits, max: number, retryAfterMs: number): EngineError {
  return new EngineError('TENANT_LIMIT_REACHED', `the tenant has reached its limit of ${max} (${limit})`, {
    details: { limit, max, retryAfterMs },
  });
}

/** Creates the error for the start of a served task that a cap has refused. */
export function capReached({ counter, of, max }: Cap): EngineError {
  const who = counter.startsWith('skill') ? 'of the skill' : 'of the caller';
  const [limit, text, retryAfterMs] =
    of === 'live'
      ? (['maxLive', `the limit of tasks ${who} under way (${max}) is reached`, liveRetryMs] as const)
      : ([
          'turnsPerContext',
          `the limit of tasks in one context (${max}) is reached: begin another context`,
          turnsRetryMs,
        ] as const);
  return new EngineError('TOO_MANY_REQUESTS', text, { details: { limit, max, retryAfterMs } });
}
