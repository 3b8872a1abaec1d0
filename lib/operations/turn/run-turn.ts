import { EngineError, hasCode } from '../../base/errors.js';
import { turnReserveMs } from '../../base/limits.js';
import type { RunId } from '../../base/ids.js';
import type { News, TurnMessage } from '../../queue/queue.js';
import type { RunRecords } from '../../history/records.js';
import { workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import { GaveUp } from './commit.js';
import { Effects } from './effects.js';
import { afterEnd, finishRun, isMarked } from './end-run.js';
import { foldHistory, type OpenTokenWait, type RunState } from '../../history/run-state.js';
import type { TurnLimits } from '../turn-limits.js';
import { loadRareParts } from './load-rare-parts.js';
import { unpublishedOf } from './outbox.js';
import { Pass } from './pass.js';
import { PassContext, type TurnOptions } from './pass-context.js';
import { RunInHand } from './run-in-hand.js';
import { isStoreFailure, persistWithin, type Persist } from '../persist.js';
import { isDone, resumeRun } from './resume-run.js';
import { TurnTrace } from './turn-trace.js';
import { handOver } from '../wake.js';

/**
 * Lost races in a row after which a turn returns its message, how many it retries at once, and the longest pause after.
 */
export const turnPassesMax = 60;
export const quickPasses = 4;
export const passBackoffMaxMs = 1_000;

/**
 * Runs one turn of a run: read, replay, take in what is new, commit, carry out, until the run is quiet; then its
 * markers. Returning normally is the acknowledgement; throwing gives the message back to the queue. A turn that loses a
 * commit drops all it knows and reads again; only turns write commits. If the store does not take the work that a turn
 * has in hand, the turn hands the run over to another one: its process is alive, so its message must not look like that
 * of a process that died.
 */
export async function runTurn(deps: Deps, message: TurnMessage, limits: TurnLimits): Promise<void> {
  const effects = new Effects();
  const trace = deps.spans === undefined ? undefined : new TurnTrace(deps);
  try {
    await runPasses(deps, message, { limits, effects, trace });
    trace?.ended();
  } catch (error) {
    trace?.ended(error);
    throw error;
  } finally {
    effects.abandonSteps();
  }
}

async function runPasses(
  deps: Deps,
  { runId, news, unharmed }: TurnMessage,
  turn: Pick<TurnOptions, 'limits' | 'effects' | 'trace'>,
): Promise<void> {
  const { limits, effects } = turn;
  const turnId = deps.random.hex(16);
  const called = new Set<string>();
  for (let pass = 0; pass < turnPassesMax; pass++) {
    if (pass >= quickPasses) {
      // Many requests are arriving at once, and each takes the head from this turn.
      if (limits.remainingMs() < turnReserveMs + passBackoffMaxMs) break;
      await deps.delay(deps.random.fraction() * passBackoffMaxMs);
    }
    try {
      if (pass === 0 && (await isOver(deps, runId, news))) return;
      if (await runPass(deps, runId, { ...turn, turnId, called, news, unharmed })) return;
    } catch (error) {
      const isInHand = error instanceof GaveUp || (isStoreFailure(error) && !effects.isEmpty);
      if (isInHand) return giveUp(deps, runId, effects, error);
      if (hasCode(error, 'STORE_UNAVAILABLE')) throw error;
      if (!hasCode(error, 'STORE_RESULT_UNKNOWN')) return failed(deps, runId, error, limits);
      // The write may or may not be in the log: the next read decides.
      deps.log.warn('store result unknown, reading again', { runId });
    }
  }
  const lost = new EngineError('STORE_UNAVAILABLE', `run ${runId}: no commit succeeded, others always came first`);
  if (effects.isEmpty) throw lost;
  await giveUp(deps, runId, effects, lost);
}

async function failed(deps: Deps, runId: RunId, error: unknown, limits: TurnLimits): Promise<void> {
  const { failedTurn } = await loadRareParts();
  return failedTurn(deps, runId, error, limits);
}

/** Hands the run over. What is under way ends first, so that it is not done a second time meanwhile. */
async function giveUp(deps: Deps, runId: RunId, effects: Effects, error: Error): Promise<void> {
  deps.log.warn('turn gives up: the store did not take its work', { runId, error });
  await effects.allEnd();
  await handOver(deps, runId, effects.unharmed());
}

/**
 * Returns true for news to a run that this process knows to have ended, and whose end effects are done or left to the
 * sweep: one read instead of the whole run.
 */
async function isOver(deps: Deps, runId: RunId, news: readonly News[] | undefined): Promise<boolean> {
  // Limited to such runs: for others this would be an additional read in each turn.
  if (news === undefined || deps.warmRuns?.hasEnded(runId) !== true) return false;
  const head = await deps.store.heads.glance(runId);
  return head !== undefined && isDone(head);
}

interface PassOptions extends TurnOptions {
  readonly news?: readonly News[] | undefined;
}

/** Runs one pass. Returns false if another owner or an unknown result interfered: the run must be read again. */
async function runPass(deps: Deps, runId: RunId, options: PassOptions): Promise<boolean> {
  // The first read fails with the message; later ones have work in hand that would be lost.
  const read: Persist = options.effects.isEmpty ? (request) => request() : persistWithin(deps, options.limits);
  const warm = await read(() => resumeRun(deps, runId, options.news));
  if (warm === 'done') return true;
  if (warm !== undefined) return goOn(deps, warm, options);
  const records = await read(() => deps.store.runs.read(runId));
  if (records === undefined) {
    deps.log.warn('turn for an unknown run', { runId });
    return true;
  }
  const state = foldHistory(records.commits);
  checkWhole(records, state);
  if (state.ended) {
    deps.warmRuns?.noteEnded(runId);
    if (isMarked(records)) await afterEnd(deps, runId, options.limits, async () => records);
    return true;
  }
  if (state.ending !== undefined) {
    await finishRun(deps, runId, options.limits);
    return true;
  }
  return goOn(deps, RunInHand.ofRecords(records, state, unpublishedOf(deps, records)), options);
}

async function goOn(deps: Deps, run: RunInHand, options: TurnOptions): Promise<boolean> {
  options.trace?.began(run.head, run.state.seq);
  return new Pass(new PassContext(deps, run, options)).run(workflowOf(deps.app, run.head));
}

/**
 * Checks that everything the log and the head refer to was read: otherwise work would be repeated, or waited for
 * although it was never started.
 * @throws EngineError `HISTORY_FORMAT_UNKNOWN`
 */
function checkWhole({ head, tokens }: RunRecords, state: RunState): void {
  if (head.dueSeq > state.seq)
    throw new EngineError('HISTORY_FORMAT_UNKNOWN', `commit ${state.seq + 1} of the history is missing`);
  if (state.ending !== undefined) return;
  const known = new Set(tokens.map(({ waitId }) => waitId));
  for (const wait of state.openTokens.values())
    if (hadToken(wait) && !known.has(wait.waitId))
      throw new EngineError(
        'HISTORY_FORMAT_UNKNOWN',
        `wait ${wait.waitId}: the history refers to a token that is not there`,
      );
}

/** Returns true if the log says that the wait's item was put. */
function hadToken(wait: OpenTokenWait): boolean {
  switch (wait.kind) {
    case 'remoteTask':
      return wait.handle !== undefined;
    case 'external':
      return wait.issued;
    case 'child':
      return wait.started;
    case 'longStep':
      return false;
  }
}
