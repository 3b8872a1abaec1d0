import { EngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import { isList } from '../../base/list.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { HttpClient } from '../http/http.js';
import { jsonDocument } from './json-document.js';

const fetchTimeoutMs = 3_000;
const setMaxBytes = 64 * 1_024;
/** Age after which a set is read again. */
const freshMs = 600_000;
/** Age up to which a set is used while its issuer does not answer. */
const staleMaxMs = 3_600_000;
/** Time between two requests for a set: tokens with made-up keys must not cause more. */
const cooldownMs = 30_000;
/** Time between two requests while no set is known: nothing can be verified in the meantime. */
const firstCooldownMs = 5_000;
const keysMax = 100;
/** Kinds of public keys. */
const kinds: readonly unknown[] = ['EC', 'OKP', 'RSA'];

export interface KeySetsDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
}

interface Entry {
  set?: JsonObject;
  readAtMs: EpochMs;
  triedAtMs: EpochMs;
  /** Why the last request failed, if it did. */
  failure?: EngineError;
  reading?: Promise<void>;
}

/** Public keys of issuers (JWKS, RFC 7517) by URL, kept in memory: a process asks an issuer every ten minutes. */
export class KeySets {
  readonly #deps: KeySetsDeps;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: KeySetsDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the keys of an issuer: the same object until they are read again. `isRenewed`: a token names a key that is
   * not among those known, which are therefore read again, unless that was done within 30 s. While the issuer does not
   * answer, keys are used for up to an hour.
   * @throws EngineError `STORE_UNAVAILABLE` if the keys cannot be read
   */
  async read(
    url: string,
    { isRenewed = false, allowPrivateAddresses = false }: KeySetOptions = {},
  ): Promise<JsonObject> {
    const entry = this.#entryOf(`${allowPrivateAddresses ? 'private' : 'public'} ${url}`);
    if (isRenewed || this.#ageMs(entry.readAtMs) >= freshMs) await this.#tryToRead(entry, url, allowPrivateAddresses);
    const { set, failure, readAtMs } = entry;
    if (set === undefined || this.#ageMs(readAtMs) >= staleMaxMs) throw failure ?? unread('was not asked yet');
    // The issuer may have the key by now.
    if (isRenewed && failure !== undefined) throw failure;
    return set;
  }

  #entryOf(key: string): Entry {
    const known = this.#entries.get(key) ?? { readAtMs: -Infinity, triedAtMs: -Infinity };
    this.#entries.set(key, known);
    return known;
  }

  async #tryToRead(entry: Entry, url: string, allowPrivateAddresses: boolean): Promise<void> {
    const pauseMs = entry.set === undefined ? firstCooldownMs : cooldownMs;
    if (entry.reading === undefined && this.#ageMs(entry.triedAtMs) < pauseMs) return;
    entry.reading ??= this.#readAnew(entry, url, allowPrivateAddresses).finally(() => {
      delete entry.reading;
    });
    await entry.reading;
  }

  async #readAnew(entry: Entry, url: string, allowPrivateAddresses: boolean): Promise<void> {
    entry.triedAtMs = this.#deps.clock.nowMs();
    const reply = await this.#deps.http.send({
      method: 'GET',
      url,
      headers: { accept: 'application/jwk-set+json, application/json' },
      allowPrivateAddresses,
      timeoutMs: fetchTimeoutMs,
      limits: { replyMaxBytes: setMaxBytes },
    });
    const set = reply.kind === 'reply' && reply.status === 200 ? keySetIn(reply.text) : undefined;
    if (set === undefined) {
      const answered =
        reply.kind === 'reply' ? `answered with status ${reply.status}, or no keys` : reply.error.message;
      entry.failure = unread(answered);
      return;
    }
    entry.set = set;
    entry.readAtMs = this.#deps.clock.nowMs();
    delete entry.failure;
  }

  /** Counts a time in the future, after a correction of the clock, as now. */
  #ageMs(atMs: EpochMs): number {
    return Math.max(0, this.#deps.clock.nowMs() - atMs);
  }
}

export interface KeySetOptions {
  readonly isRenewed?: boolean;
  readonly allowPrivateAddresses?: boolean;
}

/** Returns the public keys for signatures; undefined if the text is not a set of keys. */
function keySetIn(text: string): JsonObject | undefined {
  const { keys } = jsonDocument(text) ?? {};
  if (!isList(keys) || keys.length > keysMax) return undefined;
  // Leaves out keys of other kinds, and those that the issuer gave away.
  const usable = keys.filter(
    (key) =>
      isJsonObject(key) && kinds.includes(key['kty']) && (key['use'] ?? 'sig') === 'sig' && key['d'] === undefined,
  );
  return usable.length === 0 ? undefined : { keys: usable };
}

function unread(problem: string): EngineError {
  return new EngineError('STORE_UNAVAILABLE', `the keys of the issuer cannot be read: ${problem}`);
}
