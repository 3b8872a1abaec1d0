import { EngineError } from '../base/errors.js';
import type { Clock } from '../base/time.js';
import { createCipher, type PayloadCipher } from '../store/cipher.js';
import { lazyKeyService } from '../store/kms/lazy-key-service.js';
import { wrappingKeyring } from '../store/kms/kms-keyring.js';
import { namedKeyring } from '../store/payload-keyring.js';
import { TokenKeys } from '../tokens/token-keys.js';
import type { PlainPayloads } from '../topology/env.js';

interface Key {
  readonly keyId: string;
  readonly secret: Uint8Array;
}

/**
 * Reads `keyId:base64url[,keyId:base64url]`. The first key signs and all verify, so a key is rotated by putting the new
 * one in front. The last one also makes the run ids of keyed starts and must be kept for good.
 * @throws EngineError `CONFIG_INVALID` that names the position of a wrong entry, never its text
 */
export function parseTokenKeys(text: string): TokenKeys {
  return new TokenKeys(parseKeys(text, 'token'));
}

/** Reads the same from a secret, which may also hold a single key, as Secrets Manager generates it, with id `k1`. */
export function parseTokenKeySecret(text: string): TokenKeys {
  return parseTokenKeys(text.includes(':') ? text : `k1:${text}`);
}

export interface PayloadKeySources {
  /** Keys in the same form, 32 bytes each: the first encrypts, all decrypt. */
  readonly payloadKeys: string | undefined;
  /** Id, ARN or alias of a KMS key. If set, its data keys encrypt, and `payloadKeys` only decrypt older payloads. */
  readonly payloadKmsKey: string | undefined;
  /** Whether payloads stored in the clear are read; default `read`. */
  readonly plainPayloads?: PlainPayloads;
}

/**
 * Creates the cipher of payloads. Returns undefined if neither source is configured.
 * @throws EngineError `CONFIG_INVALID`
 */
export function createPayloadCipher(
  { payloadKeys, payloadKmsKey, plainPayloads }: PayloadKeySources,
  clock: Clock,
): PayloadCipher | undefined {
  const named = payloadKeys === undefined ? [] : [namedKeyring(parseKeys(payloadKeys, 'payload'))];
  const wrapping =
    payloadKmsKey === undefined ? [] : [wrappingKeyring(lazyKeyService({ keyId: payloadKmsKey }), clock)];
  const [sealing, ...others] = [...wrapping, ...named];
  if (sealing !== undefined)
    return { ...createCipher(sealing, ...others), refusesPlaintext: plainPayloads === 'refuse' };
  if (plainPayloads === 'refuse')
    throw new EngineError('CONFIG_INVALID', 'payloads in the clear are refused, but no payload key is configured');
  return undefined;
}

function parseKeys(text: string, kind: string): readonly Key[] {
  return text.split(',').map((entry, at) => {
    const [keyId, secret, ...rest] = entry.trim().split(':');
    if (keyId === undefined || secret === undefined || rest.length > 0 || !/^[A-Za-z0-9_-]+$/.test(secret)) {
      throw new EngineError('CONFIG_INVALID', `${kind} key ${at + 1} must have the form keyId:base64url`);
    }
    return { keyId, secret: Buffer.from(secret, 'base64url') };
  });
}
