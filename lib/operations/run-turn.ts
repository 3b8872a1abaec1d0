import { EngineError, hasCode } from '../base/errors.js';
import { passBackoffMaxMs, quickPasses, turnPassesMax, turnReserveMs } from '../base/limits.js';
import type { RunId } from '../base/ids.js';
import type { News, TurnMessage } from '../queue/queue.js';
import { workflowOf } from '../workflow/app.js';
import type { Deps } from './deps.js';
import { afterEnd, finishRun, isMarked } from './end-run.js';
import { failedTurn } from './failed-turn.js';
import { foldHistory } from '../history/run-state.js';
import type { TurnLimits } from './turn-limits.js';
import { knownRun } from './known-run.js';
import { unpublishedOf } from './outbox.js';
import { isDone, resumeRun } from './resume-run.js';
import { Turn } from './turn.js';

/**
 * One turn of a run: read, replay, take in what is new, commit, carry out, until the run is quiet; then its markers.
 * Returning normally is the acknowledgement; throwing gives the message back to the queue. A turn that loses a commit
 * drops all it knows and reads again; nobody but a turn writes commits.
 */
export async function runTurn(deps: Deps, { runId, news }: TurnMessage, limits: TurnLimits): Promise<void> {
  const turnId = deps.random.hex(16);
  const called = new Set<string>();
  for (let pass = 0; pass < turnPassesMax; pass++) {
    if (pass >= quickPasses) {
      // Many requests come at once, and each takes the head from this turn.
      if (limits.remainingMs() < turnReserveMs + passBackoffMaxMs) break;
      await deps.delay(deps.random.fraction() * passBackoffMaxMs);
    }
    try {
      if (pass === 0 && (await isOver(deps, runId, news))) return;
      if (await runPass(deps, runId, { turnId, called, limits, news })) return;
    } catch (error) {
      if (hasCode(error, 'STORE_UNAVAILABLE')) throw error;
      if (!hasCode(error, 'STORE_RESULT_UNKNOWN')) return failedTurn(deps, runId, error, limits);
      // The write may or may not be in the log: what is there decides.
      deps.log.warn('store result unknown, reading again', { runId });
    }
  }
  throw new EngineError('STORE_UNAVAILABLE', `run ${runId}: no commit came through, others were always first`);
}

/**
 * The news are for a run that this process knows to have ended, and whose end effects are done or the sweep's: one read
 * instead of the whole run.
 */
async function isOver(deps: Deps, runId: RunId, news: readonly News[] | undefined): Promise<boolean> {
  // Of others that would be one read more for each turn.
  if (news === undefined || deps.warmRuns?.hasEnded(runId) !== true) return false;
  const head = await deps.store.glanceAtRun(runId);
  return head !== undefined && isDone(head);
}

interface PassOptions {
  readonly turnId: string;
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  readonly news?: readonly News[] | undefined;
}

/** False: another owner or an unknown result came in between, read again. */
async function runPass(deps: Deps, runId: RunId, options: PassOptions): Promise<boolean> {
  const warm = await resumeRun(deps, runId, options.news);
  if (warm === 'done') return true;
  if (warm !== undefined) return new Turn(deps, warm, options).run(workflowOf(deps.app, warm.head));
  const records = await deps.store.readRun(runId);
  if (records === undefined) {
    deps.log.warn('turn for an unknown run', { runId });
    return true;
  }
  const state = foldHistory(records.commits);
  if (state.ended) {
    deps.warmRuns?.noteEnded(runId);
    if (isMarked(records)) await afterEnd(deps, runId, options.limits, async () => records);
    return true;
  }
  if (state.ending !== undefined) {
    await finishRun(deps, runId, options.limits);
    return true;
  }
  return new Turn(deps, knownRun(records, state, unpublishedOf(deps, records)), options).run(
    workflowOf(deps.app, records.head),
  );
}
