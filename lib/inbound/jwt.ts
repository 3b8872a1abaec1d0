import type { createLocalJWKSet, CryptoKey, JSONWebKeySet, JWTPayload, JWTVerifyOptions } from 'jose';
import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { JsonObject } from '../base/json.js';
import type { JwtAuth } from '../workflow/jwt-options.js';
import { compactJson } from './compact-json.js';
import { headerOf, type InboundRequest } from './request.js';
import { sha256 } from './signature.js';

/** Difference between the sender's clock and ours. */
const toleranceSeconds = 30;
/** Largest body that is compared in its compact form too. */
const compactMaxBytes = 256 * 1_024;

/** What a verified token says. */
export interface JwtClaims {
  readonly issuer: string;
  readonly jti: string;
  readonly subject?: string;
  /** The remote task that the token is about. */
  readonly taskId?: string;
  /** Whether the token holds the digest of the body. */
  readonly coversBody: boolean;
  /** From then on the token is refused for its age, by any clock within the tolerance. */
  readonly untilMs: number;
}

/**
 * Returns the public keys of an issuer (RFC 7517). `isRenewed`: those known so far do not have the key of a token.
 * @throws EngineError if they cannot be read
 */
export type ReadKeys = (options: { readonly isRenewed: boolean }) => Promise<JsonObject>;

/**
 * Verifies the token of a request: signature, issuer, audience, times, and the digest of the body if there is one.
 * Returns undefined for every token that is not one of the issuer for us. Reads no clock, and keys only for a token that
 * names the issuer and an algorithm of the configuration.
 * @throws EngineError of `readKeys`; `CONFIG_INVALID` if it is not known what audience tokens must have;
 * `STORE_UNAVAILABLE` if a key of the issuer cannot be used
 */
export async function verifyJwt(
  auth: JwtAuth,
  request: InboundRequest,
  readKeys: ReadKeys,
): Promise<JwtClaims | undefined> {
  const audience = auth.audience ?? request.audience;
  if (audience === undefined)
    throw new EngineError('CONFIG_INVALID', 'a JWT needs an audience, and none is configured');
  const [, token] = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(headerOf(request.headers, 'authorization') ?? '') ?? [];
  if (token === undefined || !(await mayBeOf(auth, token))) return undefined;
  const options: JWTVerifyOptions = {
    issuer: auth.issuer,
    audience: typeof audience === 'string' ? audience : [...audience],
    algorithms: [...auth.algorithms],
    requiredClaims: ['iat', 'exp', 'jti'],
    // Without it a token from the future passes.
    maxTokenAge: auth.maxAgeMs / 1_000,
    clockTolerance: toleranceSeconds,
    currentDate: new Date(request.atMs),
    ...defined({ subject: auth.subject }),
  };
  let payload = await verified(token, await readKeys({ isRenewed: false }), options);
  payload ??= await verified(token, await readKeys({ isRenewed: true }), options);
  return payload === undefined || payload === 'refused' ? undefined : claimsOf(auth, payload, request);
}

/** Looks at a token before it is verified: whoever knows no issuer of ours causes no request. */
async function mayBeOf({ issuer, algorithms }: JwtAuth, token: string): Promise<boolean> {
  const { decodeJwt, decodeProtectedHeader } = await import('./jwt-verifying.js');
  try {
    const { alg } = decodeProtectedHeader(token);
    return algorithms.some((name) => name === alg) && decodeJwt(token).iss === issuer;
  } catch {
    return false;
  }
}

/** Returns undefined if no key of the set may have signed the token. */
async function verified(
  token: string,
  keys: JsonObject,
  options: JWTVerifyOptions,
): Promise<JWTPayload | 'refused' | undefined> {
  const { errors, jwtVerify } = await import('./jwt-verifying.js');
  try {
    return (await jwtVerify(token, await keysIn(keys), options)).payload;
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return undefined;
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifiedByAny(token, error, options);
    if (error instanceof errors.JOSEError) return 'refused';
    throw new EngineError('STORE_UNAVAILABLE', 'a key of the issuer cannot be used', { cause: error });
  }
}

/** Tries the keys that a token without `kid` may mean. */
async function verifiedByAny(
  token: string,
  candidates: AsyncIterable<CryptoKey>,
  options: JWTVerifyOptions,
): Promise<JWTPayload | 'refused'> {
  const { errors, jwtVerify } = await import('./jwt-verifying.js');
  for await (const key of candidates) {
    try {
      return (await jwtVerify(token, key, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return 'refused';
    }
  }
  return 'refused';
}

type LocalKeySet = ReturnType<typeof createLocalJWKSet>;
/** Imported keys, for as long as their set is kept. */
const imported = new WeakMap<JsonObject, LocalKeySet>();

async function keysIn(keys: JsonObject): Promise<LocalKeySet> {
  const { createLocalJWKSet } = await import('./jwt-verifying.js');
  const known = imported.get(keys) ?? createLocalJWKSet(keys as unknown as JSONWebKeySet);
  imported.set(keys, known);
  return known;
}

function claimsOf(auth: JwtAuth, payload: JWTPayload, { body }: InboundRequest): JwtClaims | undefined {
  const { jti, iat, sub } = payload;
  const { taskId, request_body_sha256: digest } = payload;
  if (typeof jti !== 'string' || jti === '' || iat === undefined) return undefined;
  if (taskId !== undefined && typeof taskId !== 'string') return undefined;
  if (digest !== undefined && (typeof digest !== 'string' || !isDigestOf(digest, body))) return undefined;
  if (digest === undefined && auth.requireBodyHash === true) return undefined;
  return {
    issuer: auth.issuer,
    jti,
    coversBody: digest !== undefined,
    untilMs: Math.ceil((iat + toleranceSeconds) * 1_000 + auth.maxAgeMs),
    ...defined({ subject: sub, taskId }),
  };
}

/** Whether the digest is that of the body, as it came or in the compact form that some senders sign. */
function isDigestOf(digest: string, body: Uint8Array): boolean {
  if (!/^[0-9a-f]{64}$/i.test(digest)) return false;
  const given = digest.toLowerCase();
  if (sha256(body).toString('hex') === given) return true;
  const compact = body.length > compactMaxBytes ? undefined : compactJson(body);
  return compact !== undefined && sha256(compact).toString('hex') === given;
}
