import { hasCode, isUnreadable } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import { runTimedOut } from '../../decide/outcome.js';
import type { HistoryEvent, RunOutcome } from '../../history/event.js';
import { foldHistory } from '../../history/run-state.js';
import type { InboxRecord, RunGlance } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { finishRun } from './end-run.js';
import type { TurnLimits } from '../turn-limits.js';

/** Consecutive lost races after which it is left to the next turn. */
const tries = 8;

/**
 * Ends a run whose turn has failed, if it is to stop: a terminate was requested, or its deadline has passed. Needs
 * nothing that could be damaged: not the workflow, no payload, and of the commits only their number. Reads the head,
 * the kinds of the requests and the ids of the tokens, and uses whatever else can be read. Returns false if the run is
 * not to stop.
 */
export async function endStopped(deps: Deps, runId: RunId, limits: TurnLimits): Promise<boolean> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const head = await deps.store.heads.glance(runId);
    if (head === undefined) return false;
    const read = () => deps.store.runs.readWhatCanBe(runId);
    if (head.status === 'ending') {
      // Ended by an earlier turn that did not get to the end of this.
      const records = await read();
      if (records === undefined || !isStop(foldHistory(records.commits).ending)) return false;
      await finishRun(deps, runId, limits, read);
      return true;
    }
    if (head.status !== 'running') return false;
    // Read after the head, so it shows all that the head counts.
    const inbox = await deps.store.inbox.readKinds(runId);
    const stop = terminateIn(inbox, deps.clock.nowMs()) ?? timeoutOf(head, deps.clock.nowMs());
    if (stop === undefined) return false;
    const { outcome, events } = stop;
    const seq = (await deps.store.log.readLastSeq(runId)) + 1;
    const ending = { type: 'RunEnding', atMs: deps.clock.nowMs(), outcome } as const;
    const commit = { seq, writerId: deps.random.hex(16), events: [...events, ending] };
    if (!(await isCommitted(() => deps.store.log.commitEnding(runId, commit, head.inboxCount, outcome)))) continue;
    deps.log.warn('run stopped: its turn could not go on', { runId, status: outcome.status });
    await finishRun(deps, runId, limits, read);
    return true;
  }
  return false;
}

/** Why a run is ended without its code, and the events to be logged before that. */
interface Stop {
  readonly outcome: RunOutcome;
  readonly events: readonly HistoryEvent[];
}

function terminateIn(inbox: readonly InboxRecord[], nowMs: EpochMs): Stop | undefined {
  const terminate = inbox.find(({ kind }) => kind === 'terminate');
  if (terminate?.kind !== 'terminate') return undefined;
  const { inboxId, reason } = terminate;
  const why = reason === undefined ? {} : { reason };
  return {
    outcome: { status: 'terminated', ...why },
    events: [{ type: 'TerminateRequested', atMs: Math.min(terminate.atMs, nowMs), inboxId, ...why }],
  };
}

function timeoutOf({ workflow, deadlineAtMs = Infinity }: RunGlance, nowMs: EpochMs): Stop | undefined {
  return deadlineAtMs <= nowMs ? { outcome: runTimedOut(workflow), events: [] } : undefined;
}

function isStop(outcome: RunOutcome | undefined): boolean {
  return outcome?.status === 'terminated' || (outcome?.status === 'failed' && outcome.error.code === 'RUN_TIMED_OUT');
}

async function isCommitted(write: () => Promise<boolean>): Promise<boolean> {
  try {
    return await write();
  } catch (error) {
    // Refused because of something that cannot be read, or unknown. The next read decides.
    if (!isUnreadable(error) && !hasCode(error, 'STORE_RESULT_UNKNOWN')) throw error;
    return false;
  }
}
