import { EngineError } from '../base/errors.js';

/** A reference that is stored beside a sealed payload, by which its key is found again. */
export type KeyReference =
  /** A configured key: 1 to 32 letters, digits, `-` or `_`. */
  | { readonly kind: 'named'; readonly keyId: string }
  /** The key itself, encrypted under a key of KMS; base64. */
  | { readonly kind: 'wrapped'; readonly wrapped: string };

export interface DataKey {
  readonly reference: KeyReference;
  /** 32 bytes, for AES-256. */
  readonly secret: Uint8Array;
}

/** Where the keys of payloads come from. */
export interface PayloadKeyring {
  /** The key that seals now. @throws EngineError `STORE_UNAVAILABLE` when there is none to be had at the moment */
  current(): Promise<DataKey>;
  /**
   * The secret of a reference; undefined for one that is not of this keyring.
   * @throws EngineError `PAYLOAD_UNREADABLE` when it cannot be had, `STORE_UNAVAILABLE` when not at the moment
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
 * Keys of the configuration. The first seals; all open, so an old key stays in the list until nothing is sealed under it.
 * @throws EngineError `CONFIG_INVALID`
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
