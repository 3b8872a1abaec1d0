import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { EngineError } from '../base/errors.js';
import type { KeyReference, PayloadKeyring } from './payload-keyring.js';

/** Encrypts payloads before they are stored. `context`: where the text belongs; it cannot be decrypted elsewhere. */
export interface PayloadCipher {
  /** @throws EngineError `STORE_UNAVAILABLE` if no key is available at the moment */
  seal(text: string, context: string): Promise<string>;
  /**
   * `formerContext` is that of the first format, which earlier versions wrote.
   * @throws EngineError `PAYLOAD_UNREADABLE`, or `STORE_UNAVAILABLE` if the key is not available at the moment
   */
  open(sealed: string, context: string, formerContext?: string): Promise<string>;
  /** Whether to refuse unencrypted payloads, because none of ours are left. Default false. */
  readonly refusesPlaintext?: boolean;
}

// Stored words: format version, then how the key is found. Key reference and body follow, separated by a colon.
const formats = { named: '2e:', wrapped: '2k:' } as const satisfies Record<KeyReference['kind'], string>;
const formerFormats = { named: '1e:', wrapped: '1k:' } as const satisfies Record<KeyReference['kind'], string>;
const allFormats: readonly string[] = [...Object.values(formats), ...Object.values(formerFormats)];
const ivBytes = 12;
const tagBytes = 16;

export function isSealed(text: string): boolean {
  return allFormats.some((format) => text.startsWith(format));
}

/** Creates an AES-256-GCM cipher. The first keyring encrypts; each decrypts what was encrypted under its keys. */
export function createCipher(sealing: PayloadKeyring, ...others: readonly PayloadKeyring[]): PayloadCipher {
  const keyrings = [sealing, ...others];
  return {
    async seal(text, context) {
      const { reference, secret } = await sealing.current();
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', secret, iv);
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      const sealed = Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
      return `${formats[reference.kind]}${textOf(reference)}:${sealed}`;
    },
    async open(sealed, context, formerContext = context) {
      const { reference, body, isFormer } = parse(sealed);
      const secret = await find(keyrings, reference);
      const bytes = Buffer.from(body, 'base64');
      if (bytes.length < ivBytes + tagBytes) throw unreadable('it is damaged');
      try {
        const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, ivBytes));
        decipher.setAAD(Buffer.from(isFormer ? formerContext : context));
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString('utf8');
      } catch {
        throw unreadable(`${nameOf(reference)} does not decrypt it, or it was changed`);
      }
    },
  };
}

async function find(keyrings: readonly PayloadKeyring[], reference: KeyReference): Promise<Uint8Array> {
  for (const keyring of keyrings) {
    const secret = await keyring.find(reference);
    if (secret !== undefined) return secret;
  }
  throw unreadable(
    reference.kind === 'named'
      ? `it is sealed under ${nameOf(reference)}, which is not configured`
      : 'it is sealed under a KMS key, but none is configured',
  );
}

function parse(sealed: string): {
  readonly reference: KeyReference;
  readonly body: string;
  readonly isFormer: boolean;
} {
  const [, format, key, body] = /^([12][ek]:)([^:]+):(.*)$/s.exec(sealed) ?? [];
  if (format === undefined || key === undefined || body === undefined) throw unreadable('it is damaged');
  return {
    reference:
      format === formats.named || format === formerFormats.named
        ? { kind: 'named', keyId: key }
        : { kind: 'wrapped', wrapped: key },
    body,
    isFormer: format === formerFormats.named || format === formerFormats.wrapped,
  };
}

function textOf(reference: KeyReference): string {
  return reference.kind === 'named' ? reference.keyId : reference.wrapped;
}

function nameOf(reference: KeyReference): string {
  return reference.kind === 'named' ? `the key "${reference.keyId}"` : 'its KMS key';
}

function unreadable(why: string): EngineError {
  return new EngineError('PAYLOAD_UNREADABLE', `a stored payload cannot be read: ${why}`);
}
