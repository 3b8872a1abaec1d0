import { a2aAgent, mcpServer, type ServerConfig } from '../../workflow/app.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import type { ServerLook } from './findings.js';
import { lookAtAgent } from './look-at-agent.js';
import { lookAtTools } from './look-at-tools.js';
import type { RemoteProtocol } from '../../history/remote-protocol.js';

/** Inspects a server of a configuration. */
export async function lookAt(name: string, config: ServerConfig, deps: TransportDeps): Promise<ServerLook> {
  switch (config.protocol) {
    case 'mcp':
      return lookAtTools(name, config, deps);
    case 'a2a':
      return lookAtAgent(name, config, deps);
  }
}

/** Inspects a URL: an agent if it has a card, otherwise an MCP server. */
export async function lookAtUrl(
  name: string,
  url: string,
  protocol: RemoteProtocol | undefined,
  deps: TransportDeps,
): Promise<ServerLook> {
  if (protocol === 'mcp') return lookAt(name, mcpServer({ url }), deps);
  const agent = await lookAt(name, a2aAgent({ card: url }), deps);
  const isAgent = agent.facts.some((fact) => fact.name === 'speaks');
  if (protocol === 'a2a' || isAgent) return agent;
  const server = await lookAt(name, mcpServer({ url }), deps);
  if (server.callable || server.facts.some((fact) => fact.name === 'speaks')) return server;
  // Neither protocol works: reports both reasons; the options of MCP hold for A2A too.
  return {
    ...server,
    missing: [`as an agent (A2A): ${agent.missing.join('; ')}`, `as an MCP server: ${server.missing.join('; ')}`],
  };
}
