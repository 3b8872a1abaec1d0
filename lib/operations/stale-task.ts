import { isStale } from '../decide/stale.js';
import type { TokenRecord } from '../history/records.js';
import { staleAfterMs } from '../workflow/stale-after.js';
import type { Deps } from './deps.js';

/**
 * Whether the remote task of an open wait has not changed for `afterMs`; default: `staleAfter` of its server, or an
 * hour.
 */
export function isTaskStale(
  { app, clock }: Pick<Deps, 'app' | 'clock'>,
  token: TokenRecord,
  afterMs?: number,
): boolean {
  const server = token.handle?.server ?? '';
  const ofServer = Object.hasOwn(app.servers, server) ? app.servers[server] : undefined;
  return isStale(token, afterMs ?? staleAfterMs(ofServer), clock.nowMs());
}
