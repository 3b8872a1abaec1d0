import { createHash, randomBytes } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { Random } from '../base/ids.js';
import type { Clock } from '../base/time.js';
import type { Deps } from '../operations/deps.js';
import { drainMicrotasks } from './drain.js';
import { placeOf } from './source-maps.js';

/** Share of the heap below which warm runs are kept: what their code holds may be large. */
const spareHeapShare = 0.5;

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Random bytes fetched at a time: a call for 16 costs nearly as much as one for all of these. */
const poolBytes = 4_096;

function pooledHex(): Random['hex'] {
  let pool = randomBytes(poolBytes);
  let used = 0;
  return (count) => {
    if (count > poolBytes) return randomBytes(count).toString('hex');
    if (used + count > poolBytes) {
      pool = randomBytes(poolBytes);
      used = 0;
    }
    used += count;
    return pool.toString('hex', used - count, used);
  };
}

export const systemRandom: Random = {
  hex: pooledHex(),
  // Takes 53 bits, as many as a double holds between 0 and 1.
  fraction: () => Number(randomBytes(8).readBigUInt64BE() >> 11n) / 2 ** 53,
};

/** Whether at most half of the heap available to the process is in use, garbage included. */
export function hasHeapToSpare(): boolean {
  const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
  return usedBytes < limitBytes * spareHeapShare;
}

/** Dependencies of the operations that the process itself provides. */
export const system: Pick<Deps, 'clock' | 'random' | 'digest' | 'drain' | 'delay' | 'placeOf'> = {
  clock: systemClock,
  random: systemRandom,
  digest: (text) => createHash('sha256').update(text).digest('hex'),
  drain: drainMicrotasks,
  placeOf,
  // Uses a plain timer: one that rejects when aborted builds an error with a stack, for every step.
  delay: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, delayMs);
      signal?.addEventListener('abort', end, { once: true });
    }),
};
