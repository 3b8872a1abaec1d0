import type { RunId } from '../base/ids.js';
import type { Deps } from '../operations/deps.js';
import { replayRecords } from '../operations/replay-run.js';

/**
 * Replays an ended run and expects the same result. Unless `mayDrop`, also expects that the run waited for everything
 * that it requested just before its end.
 * @throws Error if it is not so
 */
export async function expectCleanReplay(deps: Deps, runId: RunId, mayDrop: boolean): Promise<void> {
  const records = await deps.store.runs.read(runId);
  if (records === undefined) return;
  const { status, dropped } = await replayRecords(deps, records);
  if (status.kind === 'blocked') throw new Error(`the history does not replay: ${status.error.message}`);
  if (mayDrop || dropped.length === 0) return;
  const what = dropped.map(({ kind, name }) => `${kind} "${name}"`).join(', ');
  throw new Error(
    `the run ended without waiting for work that it had just requested, which may never happen: ${what}. Await it, or close it with ctx.race; a child with parentClose 'abandon' and a call with onCancel 'leave' are started when the run ends, but not when their race or scope does. { allowDropped: true } skips this check.`,
  );
}
