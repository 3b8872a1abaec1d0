import type { StoredError } from '../base/errors.js';
import { blockedRetryAtMs } from '../decide/deadline.js';
import type { RunHead } from '../store/records.js';
import type { Deps } from './deps.js';

/**
 * Says on the head, as known from commit `seq`, why the run cannot go on, and sets its marker to a later look, ever more
 * seldom. False: a newer commit's marker stands.
 */
export async function blockRun(deps: Deps, head: RunHead, seq: number, error: StoredError): Promise<boolean> {
  const { runId, workflow, blocked } = head;
  const nowMs = deps.clock.nowMs();
  const since = blocked?.details?.['sinceMs'];
  const sinceMs = typeof since === 'number' ? since : nowMs;
  deps.log.error('run blocked', { runId, workflow, code: error.code, reason: error.message });
  deps.metrics?.put('BlockedRuns', 1);
  const stored = { ...error, details: { ...error.details, sinceMs } };
  return deps.store.setBlocked(runId, seq, stored, blockedRetryAtMs(sinceMs, nowMs));
}
