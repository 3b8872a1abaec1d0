import type { RunId } from '../../base/ids.js';
import type { Deps } from '../deps.js';
import { wakeRun } from '../wake.js';

/**
 * Marks the run that waits for this one as due, and wakes it. The head is read again: what a turn has read of it may be
 * older than the end of the run. Keeps L4 (lane.ts).
 */
export async function tellNextInLane(deps: Deps, runId: RunId): Promise<void> {
  const head = await deps.store.heads.read(runId);
  const next = head?.lane?.nextRunId;
  if (next === undefined) return;
  await deps.store.lanes.markDue(next, deps.clock.nowMs());
  await wakeRun(deps, next);
}
