import { EngineError } from '../base/errors.js';
import { isRunId, type RunId } from '../base/ids.js';
import { followIntervalMs, followMaxMs } from '../base/limits.js';
import type { RunOutcome } from '../history/event.js';
import type { Deps } from './deps.js';
import { showRun } from './read-runs.js';

/**
 * How a run ended; waits for it up to `waitMs`, at most 20 s. Undefined: it has not ended yet.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`
 */
export async function awaitOutcome(deps: Deps, runId: RunId, waitMs: number): Promise<RunOutcome | undefined> {
  if (!(waitMs >= 0 && waitMs <= followMaxMs))
    throw new EngineError('INPUT_INVALID', `a run is waited for at most ${followMaxMs / 1000} s at a time`);
  if (!isRunId(runId)) throw notFound();
  const untilMs = deps.clock.nowMs() + waitMs;
  for (;;) {
    const head = await deps.store.readHead(runId);
    if (head === undefined) throw notFound();
    if (head.endedAtMs !== undefined) return (await showRun(deps, runId)).outcome;
    const leftMs = untilMs - deps.clock.nowMs();
    if (leftMs <= 0) return undefined;
    await deps.delay(Math.min(followIntervalMs, leftMs));
  }
}

function notFound(): EngineError {
  return new EngineError('RUN_NOT_FOUND', 'no run has this id');
}
