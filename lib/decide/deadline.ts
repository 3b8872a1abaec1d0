import type { EpochMs } from '../base/time.js';
import type { OpenWait } from '../history/run-state.js';

/**
 * Returns when this wait next needs a turn of its run; undefined if something else triggers it: a step in flight, a
 * started remote task, whose token has its own marker, or an event from outside.
 */
export function waitDueAtMs(wait: OpenWait): EpochMs | undefined {
  switch (wait.kind) {
    case 'timer':
      return wait.firesAtMs;
    case 'step':
    case 'remoteAnswer':
      return wait.retryAtMs;
    case 'remoteTask':
      // A call that waits for answers before it starts has no retry, but still its deadline.
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
 * Returns when to retry a blocked run: after as long as it has been blocked, at least 1 min, at most 1 h; and no later
 * than its deadline, which ends it anyway.
 */
export function blockedRetryAtMs(
  blockedSinceMs: EpochMs,
  nowMs: EpochMs,
  { deadlineAtMs = Infinity }: { readonly deadlineAtMs?: EpochMs } = {},
): EpochMs {
  const retryAtMs = nowMs + Math.min(Math.max(nowMs - blockedSinceMs, 60_000), 3_600_000);
  return deadlineAtMs > nowMs ? Math.min(retryAtMs, deadlineAtMs) : retryAtMs;
}
