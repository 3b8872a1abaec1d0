import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';

/** Returns the deadline of a wait that is requested at `atMs`, if it has one. */
export function deadline(timeoutMs: number | undefined, atMs: EpochMs): { readonly deadlineAtMs?: EpochMs } {
  return defined({ deadlineAtMs: timeoutMs === undefined ? undefined : atMs + timeoutMs });
}
