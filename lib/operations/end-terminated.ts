import { hasCode, isUnreadable } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { HistoryEvent, RunOutcome } from '../history/event.js';
import { foldHistory } from '../history/run-state.js';
import type { Deps } from './deps.js';
import { finishRun } from './end-run.js';
import type { TurnLimits } from './turn-limits.js';

/** Lost races in a row after which the next turn tries again. */
const tries = 8;

/**
 * Ends a run whose turn has failed, if somebody has asked to terminate it. For that nothing that could be in the way is
 * needed: not the workflow, no payload, no commit but for their number. What is read is the head, the kinds of the
 * requests, the ids of the tokens; whatever else can be read is made use of. False: nobody has asked.
 */
export async function endTerminated(deps: Deps, runId: RunId, limits: TurnLimits): Promise<boolean> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const head = await deps.store.glanceAtRun(runId);
    if (head === undefined) return false;
    const read = () => deps.store.readWhatCanBe(runId);
    if (head.status === 'ending') {
      // By a turn of before that did not come to the end of this.
      const records = await read();
      if (records === undefined || foldHistory(records.commits).ending?.status !== 'terminated') return false;
      await finishRun(deps, runId, limits, read);
      return true;
    }
    if (head.status !== 'running') return false;
    // After the head, so it shows all that the head counts.
    const terminate = (await deps.store.readInboxKinds(runId)).find(({ kind }) => kind === 'terminate');
    if (terminate?.kind !== 'terminate') return false;
    const { inboxId, reason } = terminate;
    const why = reason === undefined ? {} : { reason };
    const atMs = deps.clock.nowMs();
    const outcome: RunOutcome = { status: 'terminated', ...why };
    const events: readonly HistoryEvent[] = [
      { type: 'TerminateRequested', atMs: Math.min(terminate.atMs, atMs), inboxId, ...why },
      { type: 'RunEnding', atMs, outcome },
    ];
    const seq = (await deps.store.readLastSeq(runId)) + 1;
    const commit = { seq, writerId: deps.random.hex(16), events };
    if (!(await committed(deps, runId, commit, head.inboxCount, outcome))) continue;
    deps.log.warn('run ended by a terminate: its turn could not go on', { runId });
    await finishRun(deps, runId, limits, read);
    return true;
  }
  return false;
}

async function committed(
  deps: Deps,
  runId: RunId,
  commit: Parameters<Deps['store']['commitEnding']>[1],
  inboxCount: number,
  outcome: RunOutcome,
): Promise<boolean> {
  try {
    return await deps.store.commitEnding(runId, commit, inboxCount, outcome);
  } catch (error) {
    // Refused, and what it was refused because of cannot be read; or nobody knows. What is there decides.
    if (!isUnreadable(error) && !hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
    return false;
  }
}
