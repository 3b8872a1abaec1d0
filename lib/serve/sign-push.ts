import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import type { EpochMs } from '../base/time.js';
import { privateKey, type SigningSeed } from './push-keys.js';

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
