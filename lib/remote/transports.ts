import { EngineError } from '../base/errors.js';
import type { ServerConfig } from '../workflow/app.js';
import { A2aTransport } from './a2a/client.js';
import { awsSecrets } from './auth/aws-secrets.js';
import { defaultAwsIdentity } from './auth/sigv4-credentials.js';
import type { TransportDeps } from './endpoint.js';
import { McpTransport } from './mcp/client.js';
import type { RemoteTaskTransport, RemoteTransports } from './transport.js';

/** The remote servers of an app by name; each transport is made at its first use and kept. */
export function createTransports(
  servers: Readonly<Record<string, ServerConfig>>,
  deps: TransportDeps,
): RemoteTransports {
  const made = new Map<string, RemoteTaskTransport>();
  // One client of AWS for all servers.
  const shared = { awsSecrets: awsSecrets(), awsIdentity: defaultAwsIdentity(), ...deps };
  return {
    get(server) {
      let transport = made.get(server);
      if (transport === undefined) {
        transport = createTransport(server, servers, shared);
        made.set(server, transport);
      }
      return transport;
    },
  };
}

function createTransport(
  server: string,
  servers: Readonly<Record<string, ServerConfig>>,
  deps: TransportDeps,
): RemoteTaskTransport {
  const config = Object.hasOwn(servers, server) ? servers[server] : undefined;
  if (config === undefined) {
    const known = Object.keys(servers).sort().join(', ');
    throw new EngineError(
      'SERVER_NOT_FOUND',
      `no server is named "${server}"; the app configures ${known === '' ? 'none' : known}`,
    );
  }
  switch (config.protocol) {
    case 'mcp':
      return new McpTransport(server, config, deps);
    case 'a2a':
      return new A2aTransport(server, config, deps);
  }
}
