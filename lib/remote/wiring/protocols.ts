import type { ServerConfig } from '../../workflow/app.js';
import { A2aTransport } from '../a2a/a2a-transport.js';
import { awsSecrets } from '../../secrets/aws-secrets.js';
import { defaultAwsIdentity } from '../auth/sigv4-credentials.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { McpTransport } from '../mcp/mcp-transport.js';
import type { RemoteTaskTransport } from '../transport.js';

// Code that speaks to servers; transports.ts loads it late.

/** Returns a factory of transports that share their AWS clients. */
export function transportMaker(deps: TransportDeps): (server: string, config: ServerConfig) => RemoteTaskTransport {
  const shared = { awsSecrets: awsSecrets(), awsIdentity: defaultAwsIdentity(), ...deps };
  return (server, config) => {
    switch (config.protocol) {
      case 'mcp':
        return new McpTransport(server, config, shared);
      case 'a2a':
        return new A2aTransport(server, config, shared);
    }
  };
}
