import type { RunId } from '../../base/ids.js';
import { newEvents } from '../../decide/new-events.js';
import { runTimedOut } from '../../decide/outcome.js';
import type { RunOutcome } from '../../history/event.js';
import type { LanePlace } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { underWayBefore } from '../lane.js';
import { askToStop } from '../requests/stop-run.js';
import { wakeRun, wakeRunAt } from '../wake.js';
import { commitEnd } from './commit.js';
import { cancelled, isCancel, isTerminate, terminated } from './outcomes.js';
import type { PassContext } from './pass-context.js';
import { clearAllMarkers, restUntil } from './rest.js';

/** The end of the run before wakes the next one; this look is made in case that message and its marker are lost. */
const lookMs = 10 * 60_000;
/** Interval at which a run that replaces another one asks again. */
const askMs = 60_000;
/** The other run continues as a new one, which is not there yet. */
const continuesMs = 1_000;
/** Runs before that end while this one is about to wait for them; after that many, it looks again in a new turn. */
const tries = 4;

/**
 * Lets a run wait until those before it in its lane have ended. Returns undefined once they have, and the run begins.
 * Until then it takes in only what ends it: a cancel, a terminate and its deadline. Its log then has no `RunStarted`, by
 * which those behind it know that it was not its turn. Keeps L2 and L3 (lane.ts).
 */
export async function waitInLane(pass: PassContext, lane: LanePlace): Promise<boolean | undefined> {
  const { deps, run } = pass;
  for (let attempt = 0; attempt < tries; attempt++) {
    const before = await underWayBefore(deps, lane);
    if (before === undefined) return undefined;
    const nowMs = pass.nowMs();
    const end = endOf(pass);
    if (end !== undefined) return commitEnd(pass, newEvents(run, [], nowMs).events, end);
    if (lane.replaces === true) await cancelReplaced(deps, before.runId);
    if (before.status === 'continued') {
      await restUntil(pass, nowMs + continuesMs);
      await wakeRunAt(deps, run.head.runId, nowMs + continuesMs);
      return true;
    }
    const dueAtMs = Math.min(nowMs + (lane.replaces === true ? askMs : lookMs), run.head.deadlineAtMs ?? Infinity);
    const waiting = await deps.store.lanes.waitBehind(run.head, lane, before, dueAtMs);
    if (waiting === 'ended') continue;
    if (waiting === 'blocked') await wakeRun(deps, run.head.runId);
    else await wakeRunAt(deps, run.head.runId, dueAtMs);
    await clearAllMarkers(pass);
    return true;
  }
  await wakeRun(deps, run.head.runId);
  return true;
}

/** Returns how a run that waits is to end now, if it is. */
function endOf(pass: PassContext): RunOutcome | undefined {
  const { run } = pass;
  const terminate = run.requests.find(isTerminate);
  if (terminate !== undefined) return terminated(terminate);
  if (run.isOverdue(pass.nowMs())) return runTimedOut(run.head.workflow);
  const cancel = run.requests.find(isCancel);
  return cancel === undefined ? undefined : cancelled(cancel);
}

/** Never throws: the run that waits asks again. */
async function cancelReplaced(deps: Deps, runId: RunId): Promise<void> {
  const reason = 'a newer run with its concurrency key was started';
  try {
    await askToStop(deps, { runId, kind: 'cancel', requestId: 'replaced', reason });
  } catch (error) {
    deps.log.warn('cancel of a replaced run not sent', { runId, error });
  }
}
