import { EngineError } from '../../base/errors.js';
import { lazy } from '../../base/lazy.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { lazyTransport } from './lazy-transport.js';
import type { RemoteTaskTransport, RemoteTransports } from '../transport.js';

/** Returns the remote servers of an app by name; each transport is created at its first use and kept. */
export function createTransports(
  servers: Readonly<Record<string, ServerConfig>>,
  deps: TransportDeps,
): RemoteTransports {
  const loadMaker = lazy(async () => {
    const { transportMaker } = await import('./protocols.js');
    return transportMaker(deps);
  });
  return lazyTransports(servers, async (server, config) => (await loadMaker())(server, config));
}

/** Returns servers by name. `load` creates the transport of one, with its first call. */
export function lazyTransports(
  servers: Readonly<Record<string, ServerConfig>>,
  load: (server: string, config: ServerConfig) => Promise<RemoteTaskTransport>,
): RemoteTransports {
  const made = new Map<string, RemoteTaskTransport>();
  return {
    get(server) {
      let transport = made.get(server);
      if (transport === undefined) {
        const config = configOf(server, servers);
        transport = lazyTransport(config, () => load(server, config));
        made.set(server, transport);
      }
      return transport;
    },
  };
}

function configOf(server: string, servers: Readonly<Record<string, ServerConfig>>): ServerConfig {
  const config = Object.hasOwn(servers, server) ? servers[server] : undefined;
  if (config !== undefined) return config;
  const known = Object.keys(servers).sort().join(', ');
  throw new EngineError(
    'SERVER_NOT_FOUND',
    `no server is named "${server}"; the app configures ${known === '' ? 'none' : known}`,
  );
}
