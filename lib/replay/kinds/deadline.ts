import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';

/** The deadline of a wait that is asked for at `atMs`, where it has one. */
export function deadline(timeoutMs: number | undefined, atMs: EpochMs): { readonly deadlineAtMs?: EpochMs } {
  return defined({ deadlineAtMs: timeoutMs === undefined ? undefined : atMs + timeoutMs });
}
