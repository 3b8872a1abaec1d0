import type { RunId } from '../../base/ids.js';
import type { News } from '../../queue/queue.js';
import type { RunHead, RunRecords } from '../../history/records.js';
import { workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import { RunInHand } from './run-in-hand.js';
import { newRequests } from '../../decide/new-events.js';
import type { WarmRun } from '../warm-runs.js';

/**
 * Takes the run out of memory and reads only what is newer: the head, commits after the last one known, and of tokens and
 * inbox what `news` names, or all of them. Undefined when the run must be read whole: it is not remembered, its code is
 * another, somebody else has written to its log, or anything else is not as it was left. It is forgotten then. `done`: it
 * has ended, and what brought the message is no business of it any more.
 * @throws EngineError of the store; the run is forgotten then too
 */
export async function resumeRun(
  deps: Deps,
  runId: RunId,
  news: readonly News[] | undefined,
): Promise<RunInHand | 'done' | undefined> {
  const warm = deps.warmRuns?.take(runId);
  if (warm === undefined) return undefined;
  const { state, tokens, inbox, execution } = warm;
  const newer = await deps.store.runs.readAfter(runId, state.seq, news);
  if (newer !== undefined && news !== undefined && isDone(newer.head)) return 'done';
  if (newer === undefined || !isAsLeft(deps, warm, newer)) return undefined;
  for (const token of newer.tokens) tokens.set(token.waitId, token);
  for (const item of newer.inbox) inbox.set(item.inboxId, item);
  // The head counts what was accepted, so nothing that came without its news is overlooked.
  if (newer.head.inboxCount > state.takenInbox.size + newRequests(inbox, state).length) {
    for (const item of await deps.store.inbox.readAll(runId)) inbox.set(item.inboxId, item);
  }
  const { publishedSeq = 0 } = newer.head;
  // Somebody else may have published them.
  const unpublished = warm.unpublished?.filter(({ seq }) => seq > publishedSeq);
  return new RunInHand({ head: newer.head, state, tokens, inbox, warm: execution, commits: [], unpublished });
}

/**
 * The run has ended and its head has no marker: whoever comes with news comes too late. End effects that another marker
 * stands for are the sweep's, whose message names no news.
 */
export function isDone({ status, dueAtMs }: Pick<RunHead, 'status' | 'dueAtMs'>): boolean {
  return status !== 'running' && status !== 'ending' && dueAtMs === undefined;
}

function isAsLeft(deps: Deps, { workflow, execution, state, blocks }: WarmRun, { head, commits }: RunRecords): boolean {
  return (
    commits.length === 0 &&
    head.status === 'running' &&
    head.dueSeq <= state.seq &&
    head.blocks === blocks &&
    workflowOf(deps.app, head) === workflow &&
    // Code that waits for something of its own may have gone on meanwhile.
    execution.status.kind === 'waiting'
  );
}
