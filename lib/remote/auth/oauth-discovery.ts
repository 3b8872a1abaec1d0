import type { StoredError } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { HttpClient } from '../http/http.js';
import { remoteError } from '../rpc/remote-error.js';
import { isTransient } from '../rpc/transient.js';
import { jsonDocument } from './json-document.js';
import { oauthRequestTimeoutMs } from './limits.js';

/** Authorization server that issues the tokens for a server. */
export interface TokenSource {
  /** Issuer identifier, also the audience of assertions. */
  readonly issuer: string;
  readonly tokenUrl: string;
  /** `token_endpoint_auth_methods_supported`; missing if the server does not say. */
  readonly methods?: readonly string[];
}

/** Metadata of a protected server (RFC 9728). */
export interface ProtectedResource {
  readonly resource: string;
  readonly issuer: string;
  readonly scopes?: readonly string[];
}

export type Found<Value> =
  | { readonly kind: 'found'; readonly value: Value }
  /** `CONFIG_INVALID` if the next attempt would fail the same way, else `REMOTE_UNREACHABLE`. Contains no URL. */
  | { readonly kind: 'failed'; readonly error: StoredError };

export interface DiscoveryDeps {
  readonly http: HttpClient;
  /** URL of the server that is called. */
  readonly serverUrl: string;
  readonly allowPrivateAddresses: boolean;
}

/**
 * Reads the protected resource metadata of the server from where its challenge says, else from the well-known places.
 * Their `resource` must be the server, or contain it.
 */
export async function findProtectedResource(
  deps: DiscoveryDeps,
  challengeUrl: string | undefined,
): Promise<Found<ProtectedResource>> {
  const { origin, pathname } = new URL(deps.serverUrl);
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '');
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const places = challengeUrl === undefined ? [...new Set([wellKnown + path, wellKnown])] : [challengeUrl];
  const found = await firstDocument(deps, places, 'the metadata of the server');
  if (found.kind === 'failed') return found;
  const { resource, authorization_servers: servers, scopes_supported: scopes } = found.value;
  if (typeof resource !== 'string' || !contains(resource, deps.serverUrl))
    return refused('the metadata of the server names another resource');
  const [issuer] = Array.isArray(servers) ? (servers as readonly JsonValue[]) : [];
  if (typeof issuer !== 'string') return refused('the metadata of the server names no authorization server');
  return { kind: 'found', value: { resource, issuer, ...textsIn('scopes', scopes) } };
}

/**
 * Reads the metadata of an authorization server (RFC 8414 section 3, OpenID Connect Discovery). They must name
 * `issuer`.
 */
export async function findTokenSource(deps: DiscoveryDeps, issuer: string): Promise<Found<TokenSource>> {
  if (!isUsable(issuer, deps.serverUrl)) return refused('the issuer must be an https URL');
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const found = await firstDocument(deps, [...new Set(places)], 'the metadata of the authorization server');
  if (found.kind === 'failed') return found;
  const { issuer: named, token_endpoint: tokenUrl, token_endpoint_auth_methods_supported: methods } = found.value;
  // RFC 8414 section 3.3: must be identical, otherwise the document may be another server's.
  if (named !== issuer) return refused('the metadata of the authorization server names another issuer');
  if (typeof tokenUrl !== 'string' || !isUsable(tokenUrl, deps.serverUrl))
    return refused('the token endpoint of the authorization server must be an https URL');
  return { kind: 'found', value: { issuer, tokenUrl, ...textsIn('methods', methods) } };
}

/**
 * Whether a URL is https; http is allowed only if the server itself is, and then the HTTP client applies its address
 * rules.
 */
export function isUsable(text: string, serverUrl: string): boolean {
  if (text.length > 2_048 || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && new URL(serverUrl).protocol === 'http:');
}

/** RFC 8707 and MCP: the server's own URL, or one above it on the same origin. */
function contains(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [outer, inner] = [new URL(resource), new URL(serverUrl)];
  if (outer.origin !== inner.origin || outer.hash !== '' || (outer.search !== '' && outer.search !== inner.search))
    return false;
  const folder = outer.pathname.endsWith('/') ? outer.pathname : `${outer.pathname}/`;
  return `${inner.pathname}/`.startsWith(folder);
}

/** Reads the JSON object at the first of `places` that answers 200; other final statuses lead to the next place. */
async function firstDocument(
  { http, serverUrl, allowPrivateAddresses }: DiscoveryDeps,
  places: readonly string[],
  what: string,
): Promise<Found<JsonObject>> {
  for (const url of places) {
    if (!isUsable(url, serverUrl)) return refused(`${what} must be at an https URL`);
    const reply = await http.send({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      allowPrivateAddresses,
      timeoutMs: oauthRequestTimeoutMs,
    });
    if (reply.kind !== 'reply')
      return { kind: 'failed', error: { ...reply.error, message: `${what}: ${reply.error.message}` } };
    if (isTransient(reply.status))
      return {
        kind: 'failed',
        error: remoteError('REMOTE_UNREACHABLE', `${what}: answered with status ${reply.status}`),
      };
    if (reply.status !== 200) continue;
    const document = jsonDocument(reply.text);
    return document === undefined ? refused(`${what} is not a JSON object`) : { kind: 'found', value: document };
  }
  return refused(`${what} was not found; configure the issuer or the tokenUrl of the authorization server`);
}

function textsIn<Name extends string>(
  name: Name,
  value: JsonValue | undefined,
): Partial<Record<Name, readonly string[]>> {
  if (!Array.isArray(value)) return {};
  const texts = (value as readonly JsonValue[]).filter((text) => typeof text === 'string');
  return { [name]: texts } as unknown as Record<Name, readonly string[]>;
}

function refused(problem: string): { readonly kind: 'failed'; readonly error: StoredError } {
  return { kind: 'failed', error: remoteError('CONFIG_INVALID', `cannot get an access token: ${problem}`) };
}
