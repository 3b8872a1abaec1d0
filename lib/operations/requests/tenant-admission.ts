import { lazy } from '../../base/lazy.js';
import type { JsonValue } from '../../base/json.js';
import type { RunHead } from '../../history/records.js';
import { limitsOf } from '../../workflow/access.js';
import type { Cap } from '../../store/run-store.js';
import type { Deps } from '../deps.js';

/** Loads the check of limits, which most deployments do not have. */
export const loadTenantLimits = lazy(() => import('./tenant-limits.js'));

/** A head that may be put, and with how many live runs of its tenant at most. */
export interface AdmittedStart {
  readonly head: RunHead;
  readonly liveMax?: number;
}

/**
 * Admits the start of a run by the limits of the caller's tenant, if it has any: at most one conditional write.
 * @throws EngineError `TENANT_LIMIT_REACHED`, `PAYLOAD_TOO_LARGE`
 */
export async function admitStart(deps: Deps, head: RunHead): Promise<AdmittedStart> {
  await admitRequest(deps, 'starts', head.input);
  const liveMax = head.tenant === undefined ? undefined : limitsOf(deps.app.access, head.tenant).liveRuns;
  return liveMax === undefined ? { head } : { head: { ...head, counted: true }, liveMax };
}

/** Admits a signal likewise. @throws EngineError `TENANT_LIMIT_REACHED`, `PAYLOAD_TOO_LARGE` */
export async function admitSignal(deps: Deps, payload: JsonValue | undefined): Promise<void> {
  await admitRequest(deps, 'signals', payload);
}

async function admitRequest(deps: Deps, of: 'starts' | 'signals', payload: JsonValue | undefined): Promise<void> {
  const tenant = deps.caller?.tenant;
  if (tenant === undefined || deps.app.access === undefined) return;
  const { admit } = await loadTenantLimits();
  await admit(deps, tenant, limitsOf(deps.app.access, tenant), { of, payload });
}

/** Throws that a tenant has too many live runs. @throws EngineError `TENANT_LIMIT_REACHED` */
export async function refuseStart({ liveMax = 0 }: AdmittedStart): Promise<never> {
  throw (await loadTenantLimits()).tooManyLive(liveMax);
}

/** Throws that a cap of served tasks is reached. @throws EngineError `TOO_MANY_REQUESTS` (details: limit, max, retryAfterMs) */
export async function refuseCap(cap: Cap): Promise<never> {
  throw (await loadTenantLimits()).capReached(cap);
}
