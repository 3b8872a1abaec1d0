import { lazy } from '../../base/lazy.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import type { GuardDeps } from '../guard/server-guard.js';
import type { RemoteTransports } from '../transport.js';
import { lazyTransports } from './transports.js';

/**
 * Returns the remote servers of an app by name, each behind its guard. Clients and guards are loaded with the first call
 * of a server.
 */
export function guardedTransports(
  servers: Readonly<Record<string, ServerConfig>>,
  deps: TransportDeps & GuardDeps,
): RemoteTransports {
  const loadGuarded = lazy(async () => {
    const [{ transportMaker }, { protectTransports }] = await Promise.all([
      import('./protocols.js'),
      import('../guard/protection.js'),
    ]);
    const make = transportMaker(deps);
    return (server: string, config: ServerConfig) =>
      protectTransports({ get: () => make(server, config) }, () => config.limits, deps).get(server);
  });
  return lazyTransports(servers, async (server, config) => (await loadGuarded())(server, config));
}
