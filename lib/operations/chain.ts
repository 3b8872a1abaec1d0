import { isRunId, type RunId } from '../base/ids.js';
import type { RunHead, RunRecords } from '../history/records.js';
import type { Deps } from './deps.js';

/** State of the last of a run and its successors (`continueAsNew`); of the run itself if it has none. */
export interface Chain {
  /** Head of the last existing run of the chain. */
  readonly head: RunHead;
  /** Whether the last run has not ended; also true while the head of the next one is still to come. */
  readonly isUnderWay: boolean;
}

/** Links after which a shortcut is stored, so that the next walk is as short as that. */
const linksPerShortCut = 16;

/** Returns the chain of a run; undefined if there is no such run. */
export async function chainOf(deps: Deps, runId: RunId): Promise<Chain | undefined> {
  const head = await deps.store.heads.read(runId);
  return head === undefined ? undefined : chainFrom(deps, head);
}

/** Follows the successors of `first` to the last one. */
export async function chainFrom(deps: Deps, first: RunHead): Promise<Chain> {
  let head = first;
  for (let links = 1; head.status === 'continued'; links++) {
    const nextRunId = head.laterRunId ?? head.nextRunId;
    const next = nextRunId === undefined ? undefined : await deps.store.heads.read(nextRunId);
    // Creating the next run is the last thing a run does.
    if (next === undefined) return { head, isUnderWay: true };
    head = next;
    if (links % linksPerShortCut === 0) await note(deps, first.runId, head.runId);
  }
  return { head, isUnderWay: isUnderWay(head) };
}

/** Reads everything of a run, or of its last successor. Returns undefined if there is no such run. */
export async function readLastRun(deps: Deps, runId: RunId): Promise<RunRecords | undefined> {
  const records = isRunId(runId) ? await deps.store.runs.read(runId) : undefined;
  if (records?.head.status !== 'continued') return records;
  const { head } = await chainFrom(deps, records.head);
  return head.runId === runId ? records : deps.store.runs.read(head.runId);
}

function isUnderWay({ status }: Pick<RunHead, 'status'>): boolean {
  return status === 'running' || status === 'ending';
}

/** Stores a shortcut. It only speeds up later walks, so a failure is logged and ignored. */
async function note(deps: Deps, runId: RunId, laterRunId: RunId): Promise<void> {
  try {
    await deps.store.heads.setLaterRun(runId, laterRunId);
  } catch (error) {
    deps.log.info('shortcut of a chain not stored', { runId, error });
  }
}
