import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import type { Deps } from '../deps.js';
import { type RunView, showRun } from './show-run.js';

/** Why a run is where it is: what it waits for, what holds it up, how it ended. */
export type RunExplanation = Pick<
  RunView,
  | 'runId'
  | 'status'
  | 'blocked'
  | 'nextLookAtMs'
  | 'pausedUntilMs'
  | 'concurrencyKey'
  | 'afterRunId'
  | 'startAtMs'
  | 'deadlineAtMs'
  | 'nextRunId'
  | 'outcome'
  | 'waits'
>;

/** @throws EngineError `RUN_NOT_FOUND` */
export async function explainRun(deps: Deps, runId: RunId): Promise<RunExplanation> {
  const run = await showRun(deps, runId);
  const {
    status,
    blocked,
    nextLookAtMs,
    pausedUntilMs,
    concurrencyKey,
    afterRunId,
    startAtMs,
    deadlineAtMs,
    nextRunId,
    outcome,
    waits,
  } = run;
  const isYetToStart = startAtMs !== undefined && startAtMs > deps.clock.nowMs();
  return {
    runId,
    status,
    ...defined({
      blocked,
      nextLookAtMs,
      pausedUntilMs,
      concurrencyKey,
      afterRunId,
      startAtMs: isYetToStart ? startAtMs : undefined,
      deadlineAtMs,
      nextRunId,
      outcome,
    }),
    waits,
  };
}
