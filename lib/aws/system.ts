import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../base/ids.js';
import type { Clock } from '../base/time.js';
import type { Deps } from '../operations/deps.js';
import { drainMicrotasks } from '../operations/drain.js';

export const systemClock: Clock = { nowMs: () => Date.now() };

export const systemRandom: Random = {
  hex: (count) => randomBytes(count).toString('hex'),
  // 53 bits, as many as a double holds between 0 and 1.
  fraction: () => Number(randomBytes(8).readBigUInt64BE() >> 11n) / 2 ** 53,
};

/** What of the operations' world is the process itself. */
export const system: Pick<Deps, 'clock' | 'random' | 'digest' | 'drain' | 'delay'> = {
  clock: systemClock,
  random: systemRandom,
  digest: (text) => createHash('sha256').update(text).digest('hex'),
  drain: drainMicrotasks,
  delay: async (delayMs, signal) => {
    try {
      await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
};
