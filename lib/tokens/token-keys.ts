import { createHmac, timingSafeEqual } from 'node:crypto';
import { EngineError } from '../base/errors.js';
import { isRunId, isWaitId, type RunId, type WaitId } from '../base/ids.js';

export interface TokenKey {
  /** 1 to 16 letters or digits; part of each token, so that keys can be rotated. */
  readonly keyId: string;
  /** At least 32 random bytes. */
  readonly secret: Uint8Array;
}

export interface TokenTarget {
  readonly runId: RunId;
  readonly waitId: WaitId;
}

/**
 * Creates and checks the capability to settle one external wait: `<runId>.<waitId>.<keyId>.<mac>`, mac = HMAC-SHA256
 * under the app's token key. Nothing secret is stored, any owner derives the same token again, and a forged one is
 * refused without reading the table.
 */
export class TokenKeys {
  readonly #keys: ReadonlyMap<string, TokenKey>;
  readonly #current: TokenKey;

  /**
   * The first key signs; all verify. The last one also creates the run ids of starts with an idempotency key, so it
   * must stay last for good: without it a repeated key starts a second run. A new key goes first.
   * @throws EngineError `CONFIG_INVALID`
   */
  constructor(keys: readonly TokenKey[]) {
    const [current] = keys;
    if (current === undefined) throw new EngineError('CONFIG_INVALID', 'at least one token key is needed');
    for (const { keyId, secret } of keys) {
      if (!/^[A-Za-z0-9]{1,16}$/.test(keyId))
        throw new EngineError('CONFIG_INVALID', 'a token key id must be 1 to 16 letters or digits');
      if (secret.length < 32)
        throw new EngineError('CONFIG_INVALID', `token key ${keyId} must be at least 32 bytes, got ${secret.length}`);
    }
    this.#current = current;
    this.#keys = new Map(keys.map((key) => [key.keyId, key]));
  }

  /** Id of the key that signs. */
  get currentKeyId(): string {
    return this.#current.keyId;
  }

  /** Creates a token. `keyId`: the key to sign with, if it still exists; default the first. */
  settleToken({ runId, waitId }: TokenTarget, keyId?: string): string {
    const key = (keyId === undefined ? undefined : this.#keys.get(keyId)) ?? this.#current;
    return `${runId}.${waitId}.${key.keyId}.${mac(key, 'settle', `${runId}.${waitId}`).toString('base64url')}`;
  }

  /** @throws EngineError `TOKEN_INVALID`, the same for every kind of invalid token */
  parseSettleToken(token: string): TokenTarget {
    const [runId, waitId, keyId, macText, ...rest] = token.split('.');
    const key = keyId === undefined ? undefined : this.#keys.get(keyId);
    if (
      runId === undefined ||
      waitId === undefined ||
      macText === undefined ||
      rest.length > 0 ||
      !isRunId(runId) ||
      !isWaitId(waitId) ||
      key === undefined
    ) {
      throw invalidToken();
    }
    const given = Buffer.from(macText, 'base64url');
    const expected = mac(key, 'settle', `${runId}.${waitId}`);
    // The text is compared too: base64url decoding is lenient, and one capability should have one spelling.
    if (
      given.length !== expected.length ||
      !timingSafeEqual(given, expected) ||
      expected.toString('base64url') !== macText
    )
      throw invalidToken();
    return { runId, waitId };
  }

  /** Returns the run id of a start with a key: the same put then dedupes, and the id cannot be guessed from the key. */
  keyedRunId(workflow: string, key: string, tenant?: string): RunId {
    const named = `${workflow}\0${key}`;
    const made =
      tenant === undefined ? mac(this.#oldest, 'run', named) : mac(this.#oldest, 'tenant-run', `${tenant}\0${named}`);
    return made.subarray(0, 16).toString('hex');
  }

  /** Computes a digest that reveals other content under a key. Keyed: the content may be secret and easy to guess. */
  sentDigest(sent: string): string {
    return mac(this.#oldest, 'sent', sent).toString('hex');
  }

  get #oldest(): TokenKey {
    return [...this.#keys.values()].at(-1) ?? this.#current;
  }
}

/** Computes a MAC. The purpose is signed too, so that a MAC made for one purpose is invalid for another. */
function mac(key: TokenKey, purpose: 'settle' | 'run' | 'tenant-run' | 'sent', text: string): Buffer {
  return createHmac('sha256', key.secret).update(`outwait/${purpose}/1\0${text}`).digest();
}

function invalidToken(): EngineError {
  return new EngineError('TOKEN_INVALID', 'no wait is known for this token');
}
