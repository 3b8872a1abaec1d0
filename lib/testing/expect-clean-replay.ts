import type { RunId } from '../base/ids.js';
import type { Deps } from '../operations/deps.js';
import { replayRecords } from '../operations/replay-run.js';

/**
 * Replays a run that has ended and expects no difference; unless `mayDrop`, also that nothing was asked for on its last way
 * without waiting for it.
 * @throws Error
 */
export async function expectCleanReplay(deps: Deps, runId: RunId, mayDrop: boolean): Promise<void> {
  const records = await deps.store.runs.read(runId);
  if (records === undefined) return;
  const { status, dropped } = await replayRecords(deps, records);
  if (status.kind === 'blocked') throw new Error(`the history does not replay: ${status.error.message}`);
  if (mayDrop || dropped.length === 0) return;
  const what = dropped.map(({ kind, name }) => `${kind} "${name}"`).join(', ');
  throw new Error(
    `the run ended without waiting for what it had just asked for, so it may never happen: ${what}. Await it, or close it with ctx.race; a child with parentClose 'abandon' and a call with onCancel 'leave' are started when the run ends, but not when their race or scope does. { allowDropped: true } leaves this check out.`,
  );
}
