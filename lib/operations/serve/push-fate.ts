import type { PushAnswer } from '../../remote/push-sender.js';

/** What follows from an answer. `closed`: this receiver wants no more. `given_up`: it does not want this push. */
export type PushFate =
  | { readonly kind: 'taken' | 'given_up' | 'closed' }
  /** `isRefusal`: for want of a right, which may come back. */
  | { readonly kind: 'again'; readonly isRefusal: boolean; readonly afterMs: number };

const firstPauseMs = 1_000;
/** Longest pause between two tries. */
export const pushPauseMaxMs = 15 * 60_000;
/** Refusals for want of a right after which a config is closed. */
const refusalsMax = 3;

/** Returns what follows from the answer to a push; `failures` and `refusals` count those in a row before it. */
export function fateOf(
  answer: PushAnswer,
  { failures, refusals }: { readonly failures: number; readonly refusals: number },
): PushFate {
  const again = (isRefusal: boolean, atLeastMs = 0): PushFate => ({
    kind: 'again',
    isRefusal,
    afterMs: Math.min(Math.max(firstPauseMs * 2 ** Math.min(failures, 20), atLeastMs), pushPauseMaxMs),
  });
  if (answer.kind === 'failed') return again(false);
  const { status, retryAfterMs } = answer;
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status === 404 || status === 410) return { kind: 'closed' };
  if (status === 401 || status === 403) return refusals + 1 >= refusalsMax ? { kind: 'closed' } : again(true);
  // These ask for another try.
  if (status === 408 || status === 429) return again(false, retryAfterMs);
  if (status >= 400 && status < 500) return { kind: 'given_up' };
  return again(false, retryAfterMs);
}
