import type { RunId } from '../../base/ids.js';
import type { News } from '../../queue/queue.js';
import type { RunHead, RunRecords } from '../../history/records.js';
import { workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import { RunInHand } from './run-in-hand.js';
import { newRequests } from '../../decide/new-events.js';
import type { WarmRun } from '../warm-runs.js';

/**
 * Takes the run out of memory and reads only what is newer: the head, commits after the last known one, and of tokens
 * and inbox what `news` names, or all of them. Returns undefined, and forgets the run, if it must be read whole: it is
 * not remembered, its code has changed, another process has written to its log, or anything else has changed. Returns
 * `done` if it has ended, and the news no longer concerns it.
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
  // The head counts what was accepted, so requests that came without their news are noticed.
  if (newer.head.inboxCount > state.takenInbox.size + newRequests(inbox, state).length) {
    for (const item of await deps.store.inbox.readAll(runId)) inbox.set(item.inboxId, item);
  }
  const { publishedSeq = 0 } = newer.head;
  // Another process may have published them.
  const unpublished = warm.unpublished?.filter(({ seq }) => seq > publishedSeq);
  return new RunInHand({ head: newer.head, state, tokens, inbox, warm: execution, commits: [], unpublished });
}

/**
 * Returns true if the run has ended and its head has no marker: news comes too late. End effects that another marker
 * stands for are left to the sweep, whose message names no news.
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
    // Code that waits for something outside the engine may have continued meanwhile.
    execution.status.kind === 'waiting'
  );
}
