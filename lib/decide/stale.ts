import type { EpochMs } from '../base/time.js';
import type { TokenRecord } from '../history/records.js';

type Seen = Pick<TokenRecord, 'trail' | 'startedAtMs' | 'createdAtMs'>;

/** Returns when a remote task last changed, as far as reads have shown. */
export function changedAtMs({ trail, startedAtMs, createdAtMs }: Seen): EpochMs {
  return trail?.changes.at(-1)?.atMs ?? startedAtMs ?? createdAtMs;
}

/**
 * Whether a running task has not changed for so long that it may never end. A task that is read seldom, because its
 * server asks for that, has at least two reads to show a change.
 */
export function isStale(
  token: Seen & Pick<TokenRecord, 'handle' | 'settlement' | 'pollHintMs'>,
  staleAfterMs: number,
  nowMs: EpochMs,
): boolean {
  if (token.handle === undefined || token.settlement !== undefined) return false;
  return nowMs - changedAtMs(token) >= Math.max(staleAfterMs, 2 * (token.pollHintMs ?? 0));
}
