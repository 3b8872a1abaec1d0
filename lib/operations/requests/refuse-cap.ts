import { lazy } from '../../base/lazy.js';
import type { Cap } from '../../store/run-store.js';

const loadCaps = lazy(() => import('../serve/caps.js'));

/** Throws that a cap of served tasks is reached. @throws EngineError `TOO_MANY_REQUESTS` (details: limit, max, retryAfterMs) */
export async function refuseCap(cap: Cap): Promise<never> {
  throw (await loadCaps()).capReached(cap);
}
