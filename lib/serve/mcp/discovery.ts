// Documents by which clients find the server and its issuer. Public, and pure.

import { defined } from '../../base/defined.js';
import type { JsonObject } from '../../base/json.js';
import type { ServeConfig } from '../../workflow/serve.js';
import { legacyVersions, modern } from './call.js';

const openIdSuffix = '/.well-known/openid-configuration';

/** Returns the issuers of tokens for the server. */
function issuersOf({ agent }: ServeConfig): readonly string[] {
  return (agent.security ?? []).flatMap((scheme) =>
    scheme.type === 'openIdConnect' ? [scheme.openIdConnectUrl.replace(openIdSuffix, '')] : [],
  );
}

function scopesOf({ agent }: ServeConfig): readonly string[] {
  return [
    ...new Set(
      (agent.security ?? []).flatMap((scheme) => (scheme.type === 'openIdConnect' ? (scheme.scopes ?? []) : [])),
    ),
  ];
}

/** Returns the metadata of the protected resource (RFC 9728); undefined if tokens come from no issuer. */
export function resourceMetadata(serve: ServeConfig, baseUrl: string): JsonObject | undefined {
  const issuers = issuersOf(serve);
  if (issuers.length === 0) return undefined;
  const scopes = scopesOf(serve);
  return {
    resource: `${baseUrl}/mcp`,
    authorization_servers: issuers,
    bearer_methods_supported: ['header'],
    resource_name: serve.agent.name,
    ...defined({
      scopes_supported: scopes.length === 0 ? undefined : scopes,
      resource_documentation: serve.agent.documentationUrl,
    }),
  };
}

/** Returns the header `WWW-Authenticate` of a request without a valid credential. */
export function challengeOf(serve: ServeConfig, baseUrl: string): string {
  if (issuersOf(serve).length === 0) return 'Bearer';
  const { origin, pathname } = new URL(`${baseUrl}/mcp`);
  const scopes = scopesOf(serve);
  const scope = scopes.length === 0 ? '' : `, scope="${scopes.join(' ')}"`;
  return `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource${pathname}"${scope}`;
}

/** Returns the card of the server (SEP-2127): where it is and which revisions it speaks. It lists no tools. */
export function serverCard({ agent }: ServeConfig, baseUrl: string): JsonObject {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${reversedHost(baseUrl)}/mcp`,
    title: agent.name,
    description: agent.description,
    version: agent.version ?? '1',
    remotes: [
      { type: 'streamable-http', url: `${baseUrl}/mcp`, supportedProtocolVersions: [modern, ...legacyVersions] },
    ],
    ...defined({
      websiteUrl: agent.documentationUrl,
      icons: agent.iconUrl === undefined ? undefined : [{ src: agent.iconUrl }],
    }),
  };
}

/** Returns the catalog of what is here: the MCP server and the A2A agent. */
export function aiCatalog({ agent }: ServeConfig, baseUrl: string): JsonObject {
  const { hostname } = new URL(baseUrl);
  const entry = (kind: string, type: string, path: string): JsonObject => ({
    identifier: `urn:air:${hostname}:${kind}`,
    displayName: agent.name,
    description: agent.description,
    type,
    url: `${baseUrl}${path}`,
  });
  return {
    specVersion: '1.0',
    host: { displayName: agent.provider?.organization ?? agent.name },
    entries: [
      entry('mcp', 'application/mcp-server-card+json', '/mcp/server-card'),
      entry('a2a', 'application/a2a-agent-card+json', '/.well-known/agent-card.json'),
    ],
  };
}

function reversedHost(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  return /^[\d.]+$|:/.test(hostname) ? 'local' : hostname.split('.').reverse().join('.');
}
