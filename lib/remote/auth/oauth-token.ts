import { defined } from '../../base/defined.js';
import type { JWK } from 'jose';
import type { StoredError } from '../../base/errors.js';
import type { Random } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { OAuthClient, PrivateKey } from '../../workflow/server-auth.js';
import type { HttpClient } from '../http/http.js';
import { remoteError } from '../rpc/remote-error.js';
import { isTransient } from '../rpc/transient.js';
import { jsonDocument } from './json-document.js';
import type { TokenSource } from './oauth-discovery.js';
import { Secret } from '../../secrets/secret.js';
import type { SecretReader } from '../../secrets/secret-reader.js';
import { revealed } from './static-credentials.js';
import { oauthRequestTimeoutMs } from './limits.js';

/** Life of a token if the server states none; the second limit is the longest that is believed. */
const oauthTokenLifeDefaultMs = 300_000;
const oauthTokenLifeMaxMs = 24 * 3_600_000;
/** Life of a client's assertion (RFC 7523), which is used at once. */
const oauthAssertionLifeMs = 60_000;

export interface AccessToken {
  readonly value: Secret;
  readonly expiresAtMs: EpochMs;
  /** Whole life as the server gave it. */
  readonly lifeMs: number;
}

export type TokenReply =
  | { readonly kind: 'token'; readonly token: AccessToken }
  /** `isRefusal`: the authorization server does not, or no longer, accept the client or its proof. */
  | { readonly kind: 'failed'; readonly error: StoredError; readonly isRefusal: boolean };

export interface TokenRequest {
  readonly source: TokenSource;
  readonly client: OAuthClient;
  readonly scopes: readonly string[];
  readonly resource: string;
}

export interface TokenDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly reader: SecretReader;
  readonly allowPrivateAddresses: boolean;
}

/**
 * Makes one token request with the grant `client_credentials` (RFC 6749 section 4.4.2, RFC 7523 section 2.2, RFC 8707).
 */
export async function requestToken(deps: TokenDeps, request: TokenRequest): Promise<TokenReply> {
  const { source, client, scopes, resource } = request;
  const proof = await proofOf(deps, request);
  if (proof.kind === 'failed') return { ...proof, isRefusal: false };
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    resource,
    ...defined({ scope: scopes.length === 0 ? undefined : scopes.join(' '), audience: client.audience }),
    ...proof.form,
  });
  const reply = await deps.http.send({
    url: source.tokenUrl,
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', ...proof.headers },
    body: form.toString(),
    allowPrivateAddresses: deps.allowPrivateAddresses,
    timeoutMs: oauthRequestTimeoutMs,
  });
  if (reply.kind !== 'reply') return failed(reply.error.code, `cannot get an access token: ${reply.error.message}`);
  const body = jsonDocument(reply.text);
  if (reply.status === 200) return tokenIn(body, deps.clock.nowMs());
  const problem = `the authorization server answered with status ${reply.status}${errorCodeIn(body)}`;
  if (isTransient(reply.status)) return failed('REMOTE_UNREACHABLE', problem);
  return { ...failed('CONFIG_INVALID', `cannot get an access token: ${problem}`), isRefusal: true };
}

type Proof =
  | {
      readonly kind: 'proof';
      readonly headers: Readonly<Record<string, string>>;
      readonly form: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'failed'; readonly error: StoredError };

/** Proves the client's identity by a signed assertion, else by its secret in a way the server accepts. */
async function proofOf(deps: TokenDeps, { source, client }: TokenRequest): Promise<Proof> {
  const takes = (method: string): boolean => source.methods?.includes(method) ?? method !== 'client_secret_post';
  if (client.privateKey !== undefined) {
    if (!takes('private_key_jwt')) return noProof('the authorization server does not accept private_key_jwt');
    return assertion(deps, source, client.clientId, client.privateKey);
  }
  const secret = await revealed(deps.reader, client.clientSecret ?? '');
  if (typeof secret !== 'string') return { kind: 'failed', error: secret };
  if (takes('client_secret_basic')) {
    // RFC 6749 section 2.3.1: both are form-encoded first.
    const pair = [client.clientId, secret]
      .map((text) => new URLSearchParams({ '': text }).toString().slice(1))
      .join(':');
    return { kind: 'proof', headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }, form: {} };
  }
  if (!takes('client_secret_post')) return noProof('the authorization server does not accept a client secret');
  return { kind: 'proof', headers: {}, form: { client_id: client.clientId, client_secret: secret } };
}

async function assertion(deps: TokenDeps, source: TokenSource, clientId: string, key: PrivateKey): Promise<Proof> {
  const { SignJWT } = await import('./jwt-signing.js');
  const text = await revealed(deps.reader, key.key);
  if (typeof text !== 'string') return { kind: 'failed', error: text };
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1_000);
  try {
    const jwt = await new SignJWT({})
      .setProtectedHeader({ alg: key.algorithm, ...defined({ kid: key.keyId }) })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(source.issuer)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + oauthAssertionLifeMs / 1_000)
      .setJti(deps.random.hex(16))
      .sign(await importKey(text, key.algorithm));
    return {
      kind: 'proof',
      headers: {},
      form: {
        client_id: clientId,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: jwt,
      },
    };
  } catch {
    // Drops the cause, whose text may hold a part of the key.
    return noProof(`the private key must be PKCS #8 as PEM or a JWK as JSON, for ${key.algorithm}`);
  }
}

async function importKey(text: string, algorithm: PrivateKey['algorithm']) {
  const { importJWK, importPKCS8 } = await import('./jwt-signing.js');
  if (text.trimStart().startsWith('{')) return importJWK(JSON.parse(text) as JWK, algorithm);
  // Restores line ends: an environment variable often holds those of a PEM as "\n".
  return importPKCS8(text.replaceAll('\\n', '\n'), algorithm);
}

/** Reads a token response (RFC 6749 section 5.1). */
function tokenIn(body: JsonObject | undefined, nowMs: EpochMs): TokenReply {
  const { access_token: value, token_type: type, expires_in: seconds } = body ?? {};
  if (typeof value !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(value))
    return failed('REMOTE_UNREACHABLE', 'the authorization server returned no access token');
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    return failed('CONFIG_INVALID', 'the authorization server returned a token of a type other than Bearer');
  const isLife = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0;
  const lifeMs = isLife ? Math.min(seconds * 1_000, oauthTokenLifeMaxMs) : oauthTokenLifeDefaultMs;
  return { kind: 'token', token: { value: new Secret(value), expiresAtMs: nowMs + lifeMs, lifeMs } };
}

/**
 * Codes of RFC 6749 section 5.2 and RFC 8707. Any other text is not shown: it could be anything, even the client's
 * secret.
 */
const errorCodes: readonly unknown[] = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
];

function errorCodeIn(body: JsonObject | undefined): string {
  const code = body?.['error'];
  return typeof code === 'string' && errorCodes.includes(code) ? ` (${code})` : '';
}

function noProof(problem: string): Proof {
  return { kind: 'failed', error: remoteError('CONFIG_INVALID', `cannot get an access token: ${problem}`) };
}

function failed(code: StoredError['code'], message: string): Extract<TokenReply, { kind: 'failed' }> {
  return { kind: 'failed', error: remoteError(code, message), isRefusal: false };
}
