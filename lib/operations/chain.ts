import { isRunId, type RunId } from '../base/ids.js';
import type { RunHead, RunRecords } from '../history/records.js';
import type { Deps } from './deps.js';

/** Where a run has come to that goes on as others: itself, where it does not. */
export interface Chain {
  /** Head of the last run of the chain that is there. */
  readonly head: RunHead;
  /** The last run has not ended. So it counts, too, while the head of the next one is still to come. */
  readonly isUnderWay: boolean;
}

/** Links after which a short cut is noted: the next walk from there is as short as that. */
const linksPerShortCut = 16;

/** The chain of a run. Undefined when there is no such run. */
export async function chainOf(deps: Deps, runId: RunId): Promise<Chain | undefined> {
  const head = await deps.store.heads.read(runId);
  return head === undefined ? undefined : chainFrom(deps, head);
}

/** Follows the runs that `first` goes on as, to the last one. */
export async function chainFrom(deps: Deps, first: RunHead): Promise<Chain> {
  let head = first;
  for (let links = 1; head.status === 'continued'; links++) {
    const nextRunId = head.laterRunId ?? head.nextRunId;
    const next = nextRunId === undefined ? undefined : await deps.store.heads.read(nextRunId);
    // The run before it makes it as the last thing that it does.
    if (next === undefined) return { head, isUnderWay: true };
    head = next;
    if (links % linksPerShortCut === 0) await note(deps, first.runId, head.runId);
  }
  return { head, isUnderWay: isUnderWay(head) };
}

/** Everything of a run; of one that has gone on as others, of the last of them. Undefined when there is no such run. */
export async function readLastRun(deps: Deps, runId: RunId): Promise<RunRecords | undefined> {
  const records = isRunId(runId) ? await deps.store.runs.read(runId) : undefined;
  if (records?.head.status !== 'continued') return records;
  const { head } = await chainFrom(deps, records.head);
  return head.runId === runId ? records : deps.store.runs.read(head.runId);
}

function isUnderWay({ status }: Pick<RunHead, 'status'>): boolean {
  return status === 'running' || status === 'ending';
}

/** A help for the next one who comes here, and nothing else. */
async function note(deps: Deps, runId: RunId, laterRunId: RunId): Promise<void> {
  try {
    await deps.store.heads.setLaterRun(runId, laterRunId);
  } catch (error) {
    deps.log.info('short cut of a chain not noted', { runId, error });
  }
}
