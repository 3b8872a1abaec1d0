import type { Deps } from './deps.js';

/** Returns what `work` gives, or what `late` returns or throws if that takes longer than `limitMs`. */
export async function inTime<Value>(
  { delay }: Pick<Deps, 'delay'>,
  limitMs: number,
  work: PromiseLike<Value>,
  late: () => Value,
): Promise<Value> {
  const done = new AbortController();
  try {
    return await Promise.race([work, delay(limitMs, done.signal).then(late)]);
  } finally {
    // An explicit reason: without one an error with a stack is built, which is never used.
    done.abort('done');
  }
}
