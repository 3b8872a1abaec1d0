import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { EngineError } from '../base/errors.js';

export interface PayloadKey {
  /** 1 to 32 letters, digits, `-` or `_`; stored with each payload, so that keys can be rotated. */
  readonly keyId: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/** Encrypts payloads before they are stored. `context`: what the text belongs to; it opens nowhere else. */
export interface PayloadCipher {
  seal(text: string, context: string): string;
  /** @throws EngineError `PAYLOAD_UNREADABLE` */
  open(sealed: string, context: string): string;
}

const prefix = '1e:';
const ivBytes = 12;
const tagBytes = 16;

export function isSealed(text: string): boolean {
  return text.startsWith(prefix);
}

/**
 * AES-256-GCM. The first key seals; all open, so an old key stays in the list until nothing is sealed under it. Where the
 * keys come from (a secret, data keys of KMS) is the caller's.
 * @throws EngineError `CONFIG_INVALID`
 */
export function createCipher(keys: readonly PayloadKey[]): PayloadCipher {
  const [current] = keys;
  if (current === undefined) throw new EngineError('CONFIG_INVALID', 'at least one payload key is needed');
  for (const { keyId, secret } of keys) {
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(keyId)) {
      throw new EngineError('CONFIG_INVALID', 'a payload key id must be 1 to 32 letters, digits, "-" or "_"');
    }
    if (secret.length !== 32)
      throw new EngineError('CONFIG_INVALID', `payload key ${keyId} must be 32 bytes, got ${secret.length}`);
  }
  const byId = new Map(keys.map((key) => [key.keyId, key]));
  return {
    seal(text, context) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', current.secret, iv);
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${prefix}${current.keyId}:${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')}`;
    },
    open(sealed, context) {
      const [, keyId = '', encoded = ''] = /^1e:([^:]+):(.*)$/s.exec(sealed) ?? [];
      const key = byId.get(keyId);
      if (key === undefined) throw unreadable(`it is sealed under the key "${keyId}", which is not configured`);
      const bytes = Buffer.from(encoded, 'base64');
      if (bytes.length < ivBytes + tagBytes) throw unreadable('it is damaged');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.secret, bytes.subarray(0, ivBytes));
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
      } catch {
        throw unreadable(`the key "${keyId}" does not open it, or it was changed`);
      }
    },
  };
}

function unreadable(why: string): EngineError {
  return new EngineError('PAYLOAD_UNREADABLE', `a stored payload cannot be read: ${why}`);
}
