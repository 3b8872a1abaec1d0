import { oauthScope, type OAuthClient } from '../../workflow/server-auth.js';
import type { HttpHead } from '../http/http.js';
import { remoteError } from '../rpc/remote-error.js';
import { SingleFlight } from '../../base/single-flight.js';
import { readChallenge, type BearerChallenge } from './challenge.js';
import type { Credentials, Presented, Renewed } from './credentials.js';
import { findProtectedResource, findTokenSource, type Found, type TokenSource } from './oauth-discovery.js';
import { requestToken, type AccessToken, type TokenDeps, type TokenReply } from './oauth-token.js';

/** How long before its expiry a token is replaced; at half of its life if that is shorter. */
const oauthTokenMarginMs = 60_000;

/** Maximum number of scopes of a token, including those of a step-up. */
const oauthScopesMax = 100;

/** Source and scope of tokens; found once and kept until the authorization server refuses. */
interface Grant {
  readonly source: TokenSource;
  readonly resource: string;
  /** Scopes listed in the server's own metadata. */
  readonly scopes: readonly string[];
}

/** Number of past tokens still redacted: the server may put an older one into a text. */
const rememberedTokens = 4;

/**
 * Access tokens of a client for one server. A token is shared by all callers and kept until shortly before it expires;
 * a 401 drops it, a 403 `insufficient_scope` widens its scope. The first authorization server that the server names is
 * the only one trusted for as long as the process lives.
 */
export class OAuthCredentials implements Credentials {
  readonly #client: OAuthClient;
  readonly #serverUrl: string;
  readonly #deps: TokenDeps;
  readonly #asking = new SingleFlight<TokenReply>();
  #grant: Grant | undefined;
  #firstIssuer: string | undefined;
  #scopes: readonly string[];
  #token: AccessToken | undefined;
  /** Scopes with which the token was requested. */
  #tokenScopes: readonly string[] = [];
  readonly #shown: string[] = [];

  constructor(client: OAuthClient, serverUrl: string, deps: TokenDeps) {
    this.#client = client;
    this.#serverUrl = serverUrl;
    this.#deps = deps;
    this.#scopes = client.scopes ?? [];
  }

  async present(): Promise<Presented> {
    const { issuer, tokenUrl } = this.#client;
    // Without these settings, only a refusal by the server says where its tokens come from.
    const knowsSource = this.#grant !== undefined || issuer !== undefined || tokenUrl !== undefined;
    if (!this.#isFresh() && knowsSource) {
      const reply = await this.#ask(undefined);
      if (reply.kind === 'failed' && !this.#isAlive()) return { kind: 'failed', error: reply.error };
    }
    const authorization = this.#authorization();
    const headers = authorization === undefined ? {} : { authorization };
    return { kind: 'ready', headers, secrets: [...this.#shown, ...(await this.#clientSecret())] };
  }

  async renew(refusal: HttpHead, presented: Extract<Presented, { kind: 'ready' }>): Promise<Renewed> {
    const challenge = readChallenge(refusal.headers['www-authenticate']);
    const scopes = this.#scopes;
    if (refusal.status === 403) {
      if (challenge?.error !== 'insufficient_scope' || !this.#widen(challenge)) return { kind: 'unchanged' };
      this.#token = undefined;
    } else {
      const current = this.#authorization();
      // Another caller has fetched a new token meanwhile.
      if (current !== undefined && current !== presented.headers['authorization']) return { kind: 'renewed' };
      this.#token = undefined;
    }
    const reply = await this.#ask(challenge);
    if (reply.kind === 'token') return { kind: 'renewed' };
    // Restores the scopes if the extra one is not granted: otherwise no token could be obtained any more.
    if (refusal.status === 403 && reply.isRefusal) this.#scopes = scopes;
    return { kind: 'failed', error: reply.error };
  }

  #authorization(): string | undefined {
    return this.#isAlive() && this.#token !== undefined ? `Bearer ${this.#token.value.reveal()}` : undefined;
  }

  #isFresh(): boolean {
    if (this.#token === undefined) return false;
    const marginMs = Math.min(oauthTokenMarginMs, this.#token.lifeMs / 2);
    return this.#deps.clock.nowMs() < this.#token.expiresAtMs - marginMs;
  }

  #isAlive(): boolean {
    return this.#token !== undefined && this.#deps.clock.nowMs() < this.#token.expiresAtMs;
  }

  /** Requests a token, one request at a time; callers that come meanwhile share its answer. */
  async #ask(challenge: BearerChallenge | undefined): Promise<TokenReply> {
    const wanted = this.#scopes;
    const reply = await this.#asking.run(() => this.#askAnew(challenge));
    // Asks again if the shared request was made for fewer scopes.
    const isLess = reply.kind === 'token' && wanted.some((scope) => !this.#tokenScopes.includes(scope));
    return isLess ? this.#asking.run(() => this.#askAnew(challenge)) : reply;
  }

  async #askAnew(challenge: BearerChallenge | undefined): Promise<TokenReply> {
    const grant = await this.#findGrant(challenge);
    if (grant.kind === 'failed') return { ...grant, isRefusal: false };
    if (this.#scopes.length === 0) this.#scopes = usable(challenge?.scopes ?? grant.value.scopes);
    const scopes = this.#scopes;
    let reply = await this.#request(grant.value, scopes);
    if (reply.kind === 'failed' && reply.isRefusal) {
      // Reads afresh what may be outdated: the secret and the metadata.
      this.#grant = undefined;
      const { clientSecret, privateKey } = this.#client;
      const sources = [clientSecret, privateKey?.key].filter((source) => source !== undefined);
      if (this.#deps.reader.forget(sources)) reply = await this.#request(grant.value, scopes);
    }
    if (reply.kind === 'token') {
      this.#grant = grant.value;
      this.#token = reply.token;
      this.#tokenScopes = scopes;
      this.#shown.unshift(reply.token.value.reveal());
      this.#shown.splice(rememberedTokens);
    }
    return reply;
  }

  #request({ source, resource }: Grant, scopes: readonly string[]): Promise<TokenReply> {
    return requestToken(this.#deps, { source, client: this.#client, scopes, resource });
  }

  async #findGrant(challenge: BearerChallenge | undefined): Promise<Found<Grant>> {
    if (this.#grant !== undefined) return { kind: 'found', value: this.#grant };
    const { issuer, tokenUrl, resource = canonical(this.#serverUrl) } = this.#client;
    if (tokenUrl !== undefined)
      return { kind: 'found', value: { source: { issuer: issuer ?? tokenUrl, tokenUrl }, resource, scopes: [] } };
    const discovery = { ...this.#deps, serverUrl: this.#serverUrl };
    if (issuer !== undefined) {
      const source = await findTokenSource(discovery, issuer);
      return source.kind === 'failed'
        ? source
        : { kind: 'found', value: { source: source.value, resource, scopes: [] } };
    }
    const found = await findProtectedResource(discovery, challenge?.resourceMetadata);
    if (found.kind === 'failed') return found;
    const named = found.value;
    if (named.issuer !== (this.#firstIssuer ?? named.issuer)) {
      const problem = 'cannot get an access token: the server names another authorization server than before';
      return { kind: 'failed', error: remoteError('CONFIG_INVALID', problem) };
    }
    const source = await findTokenSource(discovery, named.issuer);
    if (source.kind === 'failed') return source;
    this.#firstIssuer = named.issuer;
    return {
      kind: 'found',
      value: { source: source.value, resource: this.#client.resource ?? named.resource, scopes: named.scopes ?? [] },
    };
  }

  /** Returns true if the server asks for a scope that the token does not have. */
  #widen({ scopes = [] }: BearerChallenge): boolean {
    const missing = usable(scopes).filter((scope) => !this.#scopes.includes(scope));
    if (missing.length === 0) return false;
    this.#scopes = [...this.#scopes, ...missing].slice(0, oauthScopesMax);
    return true;
  }

  async #clientSecret(): Promise<readonly string[]> {
    const source = this.#client.clientSecret;
    if (source === undefined) return [];
    // Read only to redact it; where it is needed, a failure to read it is reported.
    const value = await this.#deps.reader.read(source).catch(() => undefined);
    return value === undefined ? [] : [value.reveal()];
  }
}

/** Returns the distinct scopes that can be sent, in order. */
function usable(scopes: readonly string[]): readonly string[] {
  return [...new Set(scopes)].filter((scope) => oauthScope.test(scope)).slice(0, oauthScopesMax);
}

/** RFC 8707 section 2: no fragment; and no query, which may hold a key. */
function canonical(serverUrl: string): string {
  const { origin, pathname } = new URL(serverUrl);
  return pathname === '/' ? origin : `${origin}${pathname}`;
}
