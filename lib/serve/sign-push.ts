import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import type { JsonObject } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/** What a signing key is made of: the same seed gives the same key in each process. */
export interface SigningSeed {
  readonly keyId: string;
  /** 32 bytes. */
  readonly seed: Uint8Array;
}

/** What a signature of a push says. */
export interface PushClaims {
  readonly issuer: string;
  /** URL of the receiver. */
  readonly audience: string;
  /** The same for each attempt of one push. */
  readonly id: string;
  readonly taskId: string;
  readonly body: string;
  readonly atMs: EpochMs;
}

const validSeconds = 300;
/** Begins a private Ed25519 key in PKCS #8 (RFC 8410); the seed follows. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Returns a JWT over a push, which receivers verify with the published keys; it covers the body by its digest. */
export async function signPush({ keyId, seed }: SigningSeed, claims: PushClaims): Promise<string> {
  const { issuer, audience, id, taskId, body, atMs } = claims;
  const atS = Math.floor(atMs / 1_000);
  return new SignJWT({ taskId, request_body_sha256: createHash('sha256').update(body).digest('hex') })
    .setProtectedHeader({ alg: 'EdDSA', kid: keyId, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setJti(id)
    .setIssuedAt(atS)
    .setExpirationTime(atS + validSeconds)
    .sign(privateKey(seed));
}

/** Returns the set of public keys, also of those that sign no more or not yet (RFC 7517). */
export function publicKeys(seeds: readonly SigningSeed[]): JsonObject {
  return {
    keys: seeds.map(({ keyId, seed }) => {
      const { kty = '', crv = '', x = '' } = createPublicKey(privateKey(seed)).export({ format: 'jwk' });
      return { kty, crv, x, kid: keyId, use: 'sig', alg: 'EdDSA' };
    }),
  };
}

function privateKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
}
