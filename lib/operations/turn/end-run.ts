import { lazy } from '../../base/lazy.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import { childOutcome } from '../../decide/child-outcome.js';
import type { RunOutcome } from '../../history/event.js';
import type { RunHead, RunRecords, TokenRecord } from '../../history/records.js';
import type { TaskHint } from '../../history/task-content.js';
import { foldHistory } from '../../history/run-state.js';
import type { Deps } from '../deps.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import type { TurnLimits } from '../turn-limits.js';
import { wakeRun, wakeRunFor } from '../wake.js';
import { noteCommitted } from './note-committed.js';
import { oweCallback, owePushes } from './owe-pushes.js';
import { Outbox, unpublishedOf } from './outbox.js';
import { evenIfUnreadable, releaseInbox, releaseTokens } from './release-markers.js';
import { tellNextInLane } from './tell-next-in-lane.js';

/** Loads what a run that continues as a new one needs; few runs do. */
export const loadNextRun = lazy(() => import('./next-run.js'));

/** Loads what the heads of served tasks say of their status. */
export const loadTaskHint = lazy(() => import('../serve/task-hint.js'));

const closeAttempts = 8;

/**
 * Finishes a run whose log has `RunEnding`: closes every wait that the log requested, with or without an item, writes
 * the terminal commit, then performs the end effects. Any process that finds such a run calls it; all parts may repeat.
 */
export async function finishRun(
  deps: Deps,
  runId: RunId,
  limits: TurnLimits,
  read: ReadRun = () => deps.store.runs.read(runId),
): Promise<void> {
  for (let attempt = 0; attempt < closeAttempts; attempt++) {
    const records = await read();
    if (records === undefined) return;
    const state = foldHistory(records.commits);
    if (state.ended || state.ending === undefined) break;
    // Tokens in the table that the log does not have belong to a commit that cannot be read.
    const waitIds = new Set([...state.openTokens.keys(), ...records.tokens.map((token) => token.waitId)]);
    await closeWaits(deps, runId, [...waitIds], records.tokens);
    if (await commitEnd(deps, records, state.ending, state.seq + 1)) break;
  }
  await afterEnd(deps, runId, limits, read);
}

/** Reads the run; a run that is partly unreadable is read in another way. */
type ReadRun = () => Promise<RunRecords | undefined>;

async function closeWaits(
  deps: Deps,
  runId: RunId,
  waitIds: readonly string[],
  tokens: readonly TokenRecord[],
): Promise<void> {
  const settled = new Set(tokens.filter((token) => token.settlement !== undefined).map((token) => token.waitId));
  const open = waitIds.filter((waitId) => !settled.has(waitId));
  await Promise.all(
    open.map((waitId) =>
      evenIfUnreadable(
        deps.store.tokens.close(runId, waitId, {
          writerId: deps.random.hex(16),
          atMs: deps.clock.nowMs(),
          outcome: 'run_ended',
        }),
      ),
    ),
  );
}

/** Returns the status with which a run ends its task; undefined if it has none, or goes on with it. */
export async function taskEnd(head: RunHead, outcome: RunOutcome, atMs: EpochMs): Promise<TaskHint | undefined> {
  if (head.task === undefined || outcome.status === 'continued') return undefined;
  return (await loadTaskHint()).endOf(outcome, atMs);
}

async function commitEnd(deps: Deps, records: RunRecords, outcome: RunOutcome, seq: number): Promise<boolean> {
  const atMs = deps.clock.nowMs();
  const events = [{ type: 'RunEnded', atMs, status: outcome.status }] as const;
  const commit = { seq, writerId: deps.random.hex(16), events };
  const committed = await deps.store.log.commitEnd(
    records.head,
    commit,
    // The closed waits have markers of their own, but this turn has not read them back.
    {
      outcome,
      endedAtMs: atMs,
      seen: { status: 'ending' },
      markAtMs: atMs,
      taskHint: await taskEnd(records.head, outcome, atMs),
    },
  );
  if (committed) noteCommitted(deps, records.head, commit);
  return committed;
}

/**
 * Performs the end effects of an ended run, then clears its markers, the head's last. A marker on a token stands for a
 * remote task or a child that may still have to be stopped. As long as one is left, or a lifecycle event is not
 * published, the head's stays too and the sweep brings the run back.
 */
export async function afterEnd(
  deps: Deps,
  runId: RunId,
  limits: TurnLimits,
  read: ReadRun = () => deps.store.runs.read(runId),
): Promise<void> {
  const records = await read();
  if (records === undefined) return;
  const state = foldHistory(records.commits);
  if (!state.ended || state.ending === undefined) return;
  if (state.ending.status === 'continued') {
    const { startNextRun } = await loadNextRun();
    if (!(await startNextRun(deps, records, { state, ending: state.ending }, limits))) return wakeRun(deps, runId);
  } else if (records.head.parent !== undefined) await settleParent(deps, records.head, state.ending);

  const { head } = records;
  if (state.ending.status !== 'continued' && head.task?.firstRunId !== undefined && head.taskHint !== undefined)
    await (await loadTaskHint()).noteOnFirst(deps, head, head.taskHint);
  await owePushes(deps, head);
  await oweCallback(deps, head, state.ending);
  if (head.lane !== undefined) await tellNextInLane(deps, runId);
  const unpublished = unpublishedOf(deps, records);
  const outbox = unpublished === undefined ? undefined : new Outbox(deps, unpublished, limits);
  const isPublished = (await outbox?.publish()) ?? true;
  // The markers that are cleared now may be the only ones that would bring the run back.
  const nowMs = deps.clock.nowMs();
  if (!isPublished && (head.dueAtMs ?? Infinity) > nowMs) await deps.store.headMarkers.markEnded(runId, nowMs);

  const marked = records.tokens.filter((token) => token.dueAtMs !== undefined);
  const areReleased = await releaseTokens(deps, marked, limits);
  if (!(await releaseInbox(deps, runId, records.inbox, limits))) return wakeRun(deps, runId);
  if (head.dueAtMs !== undefined && areReleased && isPublished)
    await deps.store.headMarkers.clear(runId, head.dueAtMs, outbox?.publishedSeq);
  else if (outbox?.publishedSeq !== undefined) await deps.store.headMarkers.setPublished(runId, outbox.publishedSeq);
}

/** Returns true if a marker is left. Markers are cleared after the end effects: without one these are done. */
export function isMarked({ head, tokens, inbox }: RunRecords): boolean {
  return [head, ...tokens, ...inbox].some(({ dueAtMs }) => dueAtMs !== undefined);
}

/**
 * Settles the parent's wait for a child, like any other settler: the first one wins, and an ended parent takes none.
 */
async function settleParent(deps: Deps, head: RunHead, outcome: RunOutcome): Promise<void> {
  if (head.parent === undefined) return;
  const { runId, waitId } = head.parent;
  const settlement = newSettlement(deps, { by: 'child', outcome: childOutcome(head, outcome) });
  const { settled, timedOut } = await settleInTime(deps, head.parent, settlement);
  if (settled || timedOut) await wakeRunFor(deps, runId, { waitId });
}
