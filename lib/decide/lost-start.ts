import type { Commit } from '../history/event.js';
import type { TokenRecord } from '../history/records.js';

/** Returns true if an attempt to start was sent without an answer, or has no end in the log. */
export function mayHaveStarted(commits: readonly Commit[], token: TokenRecord): boolean {
  const { waitId, attempt } = token;
  let known = knownByWorker(token);
  let wasSent = false;
  for (const event of commits.flatMap(({ events }) => events)) {
    if (event.type !== 'RemoteTaskStartFailed' && event.type !== 'RemoteTaskStartAsked') continue;
    if (event.waitId !== waitId) continue;
    known = Math.max(known, event.attempt);
    wasSent ||= event.type === 'RemoteTaskStartFailed' && event.sent === true;
  }
  return wasSent || attempt > known;
}

/** Returns the last attempt that a worker certainly did not make, or that started nothing; 0 if there is none. */
function knownByWorker({ workerStart, attempt }: TokenRecord): number {
  if (workerStart?.attempt !== attempt) return 0;
  const { claim, came } = workerStart;
  // The attempt has not begun, and no longer can.
  if (claim === undefined) return attempt;
  const hasRunNothing =
    came?.type === 'RemoteTaskStartAsked' || (came?.type === 'RemoteTaskStartFailed' && came.sent !== true);
  return hasRunNothing ? attempt : 0;
}
