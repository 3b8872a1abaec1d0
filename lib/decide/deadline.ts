import type { EpochMs } from '../base/time.js';
import type { OpenWait } from '../history/run-state.js';

/**
 * When a run must next be looked at for the sake of this wait; undefined when something else will: a step in flight, a
 * remote task that is known and has a marker of its own, somebody outside.
 */
export function waitDueAtMs(wait: OpenWait): EpochMs | undefined {
  switch (wait.kind) {
    case 'timer':
      return wait.firesAtMs;
    case 'step':
    case 'remoteAnswer':
      return wait.retryAtMs;
    case 'remoteTask':
      // One that waits for answers before it starts ends at its deadline like any other.
      if (wait.rounds > 0 && wait.retryAtMs === undefined) return wait.deadlineAtMs;
      return wait.retryAtMs === undefined ? undefined : Math.min(wait.retryAtMs, wait.deadlineAtMs);
    case 'signal':
    case 'longStep':
    case 'external':
    case 'child':
      return wait.deadlineAtMs;
  }
}

/**
 * A run that cannot go on is looked at again after as long as it has been stuck, at least 1 min, at most 1 h; and at its
 * deadline, which ends it all the same.
 */
export function blockedRetryAtMs(
  blockedSinceMs: EpochMs,
  nowMs: EpochMs,
  { deadlineAtMs = Infinity }: { readonly deadlineAtMs?: EpochMs } = {},
): EpochMs {
  const retryAtMs = nowMs + Math.min(Math.max(nowMs - blockedSinceMs, 60_000), 3_600_000);
  return deadlineAtMs > nowMs ? Math.min(retryAtMs, deadlineAtMs) : retryAtMs;
}
