import type { Random } from '../../base/ids.js';

/**
 * How long a write that conflicts with other transactions is retried: an API call must end within 30 s. With the
 * longest pause, a thousand senders leave the table room to proceed one by one.
 */
export const storeConflictPatienceMs = 20_000;
const storeConflictBackoffBaseMs = 20;
const storeConflictBackoffMaxMs = 4_000;

export interface Patience {
  readonly random: Random;
  /** Resolves after `delayMs`. */
  readonly delay: (delayMs: number) => Promise<void>;
}

/**
 * Retries a write that conflicts with another transaction, with full jitter, until the total delay would exceed the
 * time of a request. The first pauses are short, so that a turn that meets one signal succeeds at once. Later ones
 * grow, so that many senders do not block each other, and the turn of the run, from the item.
 */
export async function whileInConflict<Result>(
  send: () => Promise<Result | 'conflict'>,
  { random, delay }: Patience,
): Promise<Result | 'conflict'> {
  let pausedMs = 0;
  for (let attempt = 1; ; attempt++) {
    const result = await send();
    if (result !== 'conflict') return result;
    const ceilingMs = Math.min(storeConflictBackoffMaxMs, storeConflictBackoffBaseMs * 2 ** attempt);
    const delayMs = random.fraction() * ceilingMs;
    pausedMs += delayMs;
    if (pausedMs > storeConflictPatienceMs) return 'conflict';
    await delay(delayMs);
  }
}
