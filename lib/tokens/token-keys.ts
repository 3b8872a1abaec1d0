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

/** Wait whose server may push. The name of the server is signed too: a push of one server fits no wait of another. */
export interface PushTarget extends TokenTarget {
  readonly server: string;
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
    const parts = this.#partsOf(token);
    if (parts === undefined) throw invalidToken();
    const { runId, waitId, key, macText } = parts;
    if (!isSpelled(mac(key, 'settle', `${runId}.${waitId}`), macText)) throw invalidToken();
    return { runId, waitId };
  }

  /**
   * Creates what a server needs to push news of a wait: the last part of our URL, and the secret that it sends along.
   * Both are the same for each owner and retry while the key signs, nothing of them is stored, and neither settles.
   */
  pushToken(target: PushTarget): { readonly token: string; readonly secret: string } {
    const { runId, waitId } = target;
    const key = this.#current;
    const token = `${runId}.${waitId}.${key.keyId}.${pushMac(key, 'push', target).toString('base64url')}`;
    return { token, secret: pushMac(key, 'pushSecret', target).toString('base64url') };
  }

  /**
   * Returns the wait and the server, one of `servers`, that a push token was made for, and the secret that was made with
   * it. Returns undefined for every kind of invalid token.
   */
  parsePushToken(token: string, servers: readonly string[]): (PushTarget & { readonly secret: string }) | undefined {
    const parts = this.#partsOf(token);
    if (parts === undefined) return undefined;
    const { runId, waitId, key, macText } = parts;
    const server = servers.find((name) => isSpelled(pushMac(key, 'push', { runId, waitId, server: name }), macText));
    if (server === undefined) return undefined;
    const target = { runId, waitId, server };
    return { ...target, secret: pushMac(key, 'pushSecret', target).toString('base64url') };
  }

  #partsOf(token: string): (TokenTarget & { readonly key: TokenKey; readonly macText: string }) | undefined {
    const [runId, waitId, keyId, macText, ...rest] = token.split('.');
    const key = keyId === undefined ? undefined : this.#keys.get(keyId);
    if (runId === undefined || waitId === undefined || macText === undefined || rest.length > 0) return undefined;
    if (!isRunId(runId) || !isWaitId(waitId) || key === undefined) return undefined;
    return { runId, waitId, key, macText };
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

  /**
   * Returns what the keys that sign pushes are made of, 32 bytes each, the current one first. It is the same in each
   * process, nothing of it is stored, and it tells nothing of the token key.
   */
  signingSeeds(): readonly { readonly keyId: string; readonly seed: Uint8Array }[] {
    return [...this.#keys.values()].map((key) => ({ keyId: key.keyId, seed: mac(key, 'sign', '') }));
  }

  get #oldest(): TokenKey {
    return [...this.#keys.values()].at(-1) ?? this.#current;
  }
}

type Purpose = 'settle' | 'run' | 'tenant-run' | 'sent' | 'push' | 'pushSecret' | 'sign';

/** Computes a MAC. The purpose is signed too, so that a MAC made for one purpose is invalid for another. */
function mac(key: TokenKey, purpose: Purpose, text: string): Buffer {
  return createHmac('sha256', key.secret).update(`outwait/${purpose}/1\0${text}`).digest();
}

function pushMac(key: TokenKey, purpose: 'push' | 'pushSecret', { runId, waitId, server }: PushTarget): Buffer {
  return mac(key, purpose, `${runId}.${waitId}.${server}`);
}

/** Compares the text too: base64url decoding is lenient, and one capability should have one spelling. */
function isSpelled(expected: Buffer, macText: string): boolean {
  const given = Buffer.from(macText, 'base64url');
  return (
    given.length === expected.length && timingSafeEqual(given, expected) && expected.toString('base64url') === macText
  );
}

function invalidToken(): EngineError {
  return new EngineError('TOKEN_INVALID', 'no wait is known for this token');
}
