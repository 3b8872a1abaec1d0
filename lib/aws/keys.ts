import { EngineError } from '../base/errors.js';
import { createCipher, type PayloadCipher } from '../store/cipher.js';
import { TokenKeys } from '../tokens/token-keys.js';

interface Key {
  readonly keyId: string;
  readonly secret: Uint8Array;
}

/**
 * Reads `keyId:base64url[,keyId:base64url]`: the first key signs, all verify, so a key is rotated by putting the new
 * one in front. The last one also makes the run ids of keyed starts and must be kept for good. @throws EngineError `CONFIG_INVALID` that names the position of a wrong entry, never its text
 */
export function parseTokenKeys(text: string): TokenKeys {
  return new TokenKeys(parseKeys(text, 'token'));
}

/** The same form, 32 bytes each: the first key encrypts, all decrypt. Undefined text: payloads are not encrypted. */
export function parsePayloadKeys(text: string | undefined): PayloadCipher | undefined {
  return text === undefined ? undefined : createCipher(parseKeys(text, 'payload'));
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
