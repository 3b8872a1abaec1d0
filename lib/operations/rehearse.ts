import type { StoredError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { HistoryEvent, RunOutcome } from '../history/event.js';
import { workflowOf } from '../workflow/app.js';
import type { Deps } from './deps.js';
import { openRecords } from './open-execution.js';
import { verdictOf } from './replay-verdict.js';

/** What a turn is about to record: the last events of the run, and how it ends. */
export interface LastCommit {
  readonly events: readonly HistoryEvent[];
  readonly outcome: RunOutcome;
}

/**
 * Replays a run as another process would that knows only its log, and returns what is then different. A run that stays in
 * one process is otherwise never replayed, and its code would fail only when it is deployed.
 */
export async function rehearse(deps: Deps, runId: RunId, last?: LastCommit): Promise<StoredError | undefined> {
  const records = await deps.store.runs.read(runId);
  const workflow = records === undefined ? undefined : workflowOf(deps.app, records.head);
  if (records === undefined || workflow === undefined) return undefined;
  const { head, commits } = records;
  const recorded = commits.flatMap(({ events }) => events);
  const events = [...recorded, ...(last?.events ?? [])];
  const execution = openRecords(deps, workflow, { ...records, commits: [{ seq: 1, events }] });
  for (const event of events) await execution.apply(event);
  const end = last === undefined ? [] : [{ type: 'RunEnding', atMs: 0, outcome: last.outcome } as const];
  const verdict = verdictOf(execution, { events: [...events, ...end], task: head.task, isFiltered: false });
  return verdict.kind === 'differs' ? verdict.error : undefined;
}
