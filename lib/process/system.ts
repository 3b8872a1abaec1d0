import { createHash, randomBytes } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { Random } from '../base/ids.js';
import type { Clock } from '../base/time.js';
import type { Deps } from '../operations/deps.js';
import { drainMicrotasks } from './drain.js';

/** Warm runs are kept only while less than this of the heap is in use: what their code holds may be large. */
const spareHeapShare = 0.5;

export const systemClock: Clock = { nowMs: () => Date.now() };

/** Random bytes are fetched this many at a time: a call for 16 costs nearly as much as one for all of these. */
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
  // 53 bits, as many as a double holds between 0 and 1.
  fraction: () => Number(randomBytes(8).readBigUInt64BE() >> 11n) / 2 ** 53,
};

/** Whether at most half of the heap that the process may have is in use, garbage included. */
export function hasHeapToSpare(): boolean {
  const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
  return usedBytes < limitBytes * spareHeapShare;
}

/** What of the operations' world is the process itself. */
export const system: Pick<Deps, 'clock' | 'random' | 'digest' | 'drain' | 'delay'> = {
  clock: systemClock,
  random: systemRandom,
  digest: (text) => createHash('sha256').update(text).digest('hex'),
  drain: drainMicrotasks,
  // A plain timer: one that rejects when it is cut short builds an error with a stack, for every step.
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
