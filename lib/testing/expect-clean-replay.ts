import type { StoredError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { Deps } from '../operations/deps.js';
import { replayRecords } from '../operations/replay-run.js';
import { verdictOf } from '../operations/replay-verdict.js';

/**
 * Replays an ended run and expects the same result. Unless `mayDrop`, also expects that the run waited for everything
 * that it requested just before its end.
 * @throws Error if it is not so
 */
export async function expectCleanReplay(deps: Deps, runId: RunId, mayDrop: boolean): Promise<void> {
  const records = await deps.store.runs.read(runId);
  if (records === undefined) return;
  const execution = await replayRecords(deps, records);
  const verdict = verdictOf(execution, {
    events: records.commits.flatMap(({ events }) => events),
    task: records.head.task,
    isFiltered: deps.app.serve?.text?.outgoing !== undefined,
  });
  if (verdict.kind === 'differs') throw new Error(`the history does not replay: ${bothSides(verdict.error)}`);
  const { dropped } = execution;
  if (mayDrop || dropped.length === 0) return;
  const what = dropped.map(({ kind, name }) => `${kind} "${name}"`).join(', ');
  throw new Error(
    `the run ended without waiting for work that it had just requested, which may never happen: ${what}. Await it, or close it with ctx.race; a child with parentClose 'abandon' and a call with onCancel 'leave' are started when the run ends, but not when their race or scope does. { allowDropped: true } skips this check.`,
  );
}

function bothSides({ message, details = {} }: StoredError): string {
  const { recorded, now } = details;
  if (typeof recorded !== 'string' || typeof now !== 'string') return message;
  return `${message}\n  recorded: ${recorded}\n  now:      ${now}`;
}
