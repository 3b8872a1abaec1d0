import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { JsonObject } from '../base/json.js';

/** What a signing key is made of: the same seed gives the same key in each process. */
export interface SigningSeed {
  readonly keyId: string;
  /** 32 bytes. */
  readonly seed: Uint8Array;
}

/** Begins a private Ed25519 key in PKCS #8 (RFC 8410); the seed follows. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Returns the set of public keys, also of those that sign no more or not yet (RFC 7517). */
export function publicKeys(seeds: readonly SigningSeed[]): JsonObject {
  return {
    keys: seeds.map(({ keyId, seed }) => {
      const { kty = '', crv = '', x = '' } = createPublicKey(privateKey(seed)).export({ format: 'jwk' });
      return { kty, crv, x, kid: keyId, use: 'sig', alg: 'EdDSA' };
    }),
  };
}

/** Returns the private key that a seed stands for. */
export function privateKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
}
