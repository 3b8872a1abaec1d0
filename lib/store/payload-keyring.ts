import { EngineError } from '../base/errors.js';

/** A reference stored next to a sealed payload, by which its key is found. */
export type KeyReference =
  /** A configured key: 1 to 32 letters, digits, `-` or `_`. */
  | { readonly kind: 'named'; readonly keyId: string }
  /** The key itself, encrypted under a KMS key; base64. */
  | { readonly kind: 'wrapped'; readonly wrapped: string };

export interface DataKey {
  readonly reference: KeyReference;
  /** 32 bytes, for AES-256. */
  readonly secret: Uint8Array;
}

/** Source of the keys of payloads. */
export interface PayloadKeyring {
  /** Returns the key to seal with. @throws EngineError `STORE_UNAVAILABLE` if there is none at the moment */
  current(): Promise<DataKey>;
  /**
   * Returns the secret of a reference; undefined if it is not of this keyring.
   * @throws EngineError `PAYLOAD_UNREADABLE` if it is not available, `STORE_UNAVAILABLE` if not at the moment
   */
  find(reference: KeyReference): Promise<Uint8Array | undefined>;
}

export interface PayloadKey {
  /** 1 to 32 letters, digits, `-` or `_`; stored with each payload, so that keys can be rotated. */
  readonly keyId: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
}

/**
 * Creates a keyring of configured keys. The first seals; all open, so an old key must stay in the list as long as any
 * payload is sealed under it.
 */
export function namedKeyring(keys: readonly PayloadKey[]): PayloadKeyring {
  const [first] = keys;
  if (first === undefined) throw new EngineError('CONFIG_INVALID', 'at least one payload key is needed');
  for (const { keyId, secret } of keys) {
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(keyId)) {
      throw new EngineError('CONFIG_INVALID', 'a payload key id must be 1 to 32 letters, digits, "-" or "_"');
    }
    if (secret.length !== 32)
      throw new EngineError('CONFIG_INVALID', `payload key ${keyId} must be 32 bytes, got ${secret.length}`);
  }
  const byId = new Map(keys.map((key) => [key.keyId, key.secret]));
  const current: DataKey = { reference: { kind: 'named', keyId: first.keyId }, secret: first.secret };
  return {
    current: async () => current,
    find: async (reference) => (reference.kind === 'named' ? byId.get(reference.keyId) : undefined),
  };
}
