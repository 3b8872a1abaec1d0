import { EngineError } from '../../base/errors.js';
import { isRunId, type RunId } from '../../base/ids.js';
import { followIntervalMs, followMaxMs } from '../../base/limits.js';
import type { RunOutcome } from '../../history/event.js';
import { chainOf } from '../chain.js';
import type { Deps } from '../deps.js';
import { runNotFound } from '../load-run.js';
import { showRun } from './show-run.js';

/** How a run, or its last successor, ended; `runId` is that of the latter. */
export interface FinalOutcome {
  readonly runId: RunId;
  readonly outcome: RunOutcome;
}

/**
 * Returns how a run ended; waits up to `waitMs`, at most 20 s. A run with a successor has not ended before that one
 * has. Returns undefined if it has not ended yet.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`
 */
export async function awaitOutcome(deps: Deps, runId: RunId, waitMs: number): Promise<FinalOutcome | undefined> {
  if (!(waitMs >= 0 && waitMs <= followMaxMs))
    throw new EngineError('INPUT_INVALID', `a run can be waited for at most ${followMaxMs / 1000} s at a time`);
  if (!isRunId(runId)) throw runNotFound();
  const untilMs = deps.clock.nowMs() + waitMs;
  for (let lastRunId = runId; ;) {
    const chain = await chainOf(deps, lastRunId);
    if (chain === undefined) throw runNotFound();
    lastRunId = chain.head.runId;
    if (!chain.isUnderWay) {
      const { outcome } = await showRun(deps, lastRunId);
      if (outcome !== undefined) return { runId: lastRunId, outcome };
    }
    const leftMs = untilMs - deps.clock.nowMs();
    if (leftMs <= 0) return undefined;
    await deps.delay(Math.min(followIntervalMs, leftMs));
  }
}
