import type { WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';
import type { RunRecords } from '../history/records.js';
import { foldHistory, type OpenWait } from '../history/run-state.js';
import { newRequests, pausedUntilMs } from './new-events.js';

/**
 * Returns the wait that a worker acts for, as the log has it. `ends`: a turn is about to end the run and closes the
 * token. Returns undefined if the log has no such wait, or `isAsked` does not accept it.
 */
export function askedOfWorker<Asked extends OpenWait>(
  { head, commits, inbox }: RunRecords,
  waitId: WaitId,
  isAsked: (wait: OpenWait) => wait is Asked,
  nowMs: EpochMs,
): Asked | 'ends' | 'paused' | undefined {
  const state = foldHistory(commits);
  const wait = state.open.get(waitId);
  if (wait === undefined || !isAsked(wait) || state.ending !== undefined) return undefined;
  const requests = newRequests(new Map(inbox.map((item) => [item.inboxId, item])), state);
  if (isPast(head.deadlineAtMs, nowMs) || requests.some(({ kind }) => kind === 'terminate')) return 'ends';
  return pausedUntilMs({ state, requests }, nowMs) === undefined ? wait : 'paused';
}

/** Returns true if the deadline has passed. */
export function isPast(deadlineAtMs: EpochMs | undefined, nowMs: EpochMs): boolean {
  return deadlineAtMs !== undefined && deadlineAtMs <= nowMs;
}
