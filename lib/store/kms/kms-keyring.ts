import pLimit from 'p-limit';
import type { Clock, EpochMs } from '../../base/time.js';
import type { DataKey, PayloadKeyring } from '../payload-keyring.js';
import type { KeyService } from './key-service.js';

/** How long a data key is used and an unwrapped one cached: a revoked permission takes effect within this time. */
const payloadKeyAgeMaxMs = 15 * 60_000;
/** Most payloads sealed under one data key: far fewer than random nonces allow, and still few requests to KMS. */
const payloadKeyUsesMax = 10_000;
/** Most unwrapped data keys in the cache. A run of weeks has one from each process that wrote it. */
const unwrappedKeysMax = 1_000;
/** Concurrent unwraps: a long history must not use up the quota of KMS. */
const keyRequestsInParallel = 16;

interface Sealing {
  readonly key: Promise<DataKey>;
  readonly sinceMs: EpochMs;
  uses: number;
}

interface Unwrapped {
  readonly secret: Promise<Uint8Array>;
  readonly sinceMs: EpochMs;
}

/**
 * Creates a keyring of a key service's data keys. A data key seals for at most 15 minutes and 10,000 payloads, and is
 * stored, wrapped, with each of them, so that any replica with the right to unwrap it can read. Unwrapped keys are kept
 * as long, at most 1,000, evicted least recently used: a withdrawn right has no effect here after that.
 */
export function wrappingKeyring(service: KeyService, clock: Clock): PayloadKeyring {
  const unwrapped = new Map<string, Unwrapped>();
  const limit = pLimit(keyRequestsInParallel);
  let sealing: Sealing | undefined;

  const isFresh = (sinceMs: EpochMs): boolean => clock.nowMs() - sinceMs < payloadKeyAgeMaxMs;

  async function generate(): Promise<DataKey> {
    const { secret, wrapped } = await service.generate();
    const text = Buffer.from(wrapped).toString('base64');
    keep(text, Promise.resolve(secret));
    return { reference: { kind: 'wrapped', wrapped: text }, secret };
  }

  function keep(wrapped: string, secret: Promise<Uint8Array>): void {
    unwrapped.set(wrapped, { secret, sinceMs: clock.nowMs() });
    const [oldest] = unwrapped.keys();
    if (unwrapped.size > unwrappedKeysMax && oldest !== undefined) unwrapped.delete(oldest);
  }

  async function unwrap(wrapped: string): Promise<Uint8Array> {
    const known = unwrapped.get(wrapped);
    // Inserted again either way: a map keeps insertion order, so its first entry is the least recently used.
    unwrapped.delete(wrapped);
    if (known !== undefined && isFresh(known.sinceMs)) {
      unwrapped.set(wrapped, known);
      return known.secret;
    }
    const secret = limit(() => service.unwrap(Buffer.from(wrapped, 'base64')));
    keep(wrapped, secret);
    try {
      return await secret;
    } catch (error) {
      // The next reader asks again.
      if (unwrapped.get(wrapped)?.secret === secret) unwrapped.delete(wrapped);
      throw error;
    }
  }

  return {
    async current() {
      if (sealing === undefined || !isFresh(sealing.sinceMs) || sealing.uses >= payloadKeyUsesMax) {
        sealing = { key: generate(), sinceMs: clock.nowMs(), uses: 0 };
      }
      const mine = sealing;
      mine.uses += 1;
      try {
        return await mine.key;
      } catch (error) {
        if (sealing === mine) sealing = undefined;
        throw error;
      }
    },
    find: async (reference) => (reference.kind === 'wrapped' ? unwrap(reference.wrapped) : undefined),
  };
}
