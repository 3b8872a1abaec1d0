import type { RunId } from '../base/ids.js';
import type { RunOutcome } from '../history/event.js';
import { foldHistory } from '../history/run-state.js';
import type { RunRecords, TokenRecord } from '../store/records.js';
import type { Deps } from './deps.js';

const closeAttempts = 8;
/** A remote task that will not be cancelled is left alone after this long. */
const cancelGiveUpMs = 24 * 3_600_000;

/**
 * `RunEnding` is in the log: closes every wait that the log asked for, item or not, writes the terminal commit, then
 * does the end effects. Whoever finds such a run calls it; each part may be repeated.
 */
export async function finishRun(deps: Deps, runId: RunId): Promise<void> {
  for (let attempt = 0; attempt < closeAttempts; attempt++) {
    const records = await deps.store.readRun(runId);
    if (records === undefined) return;
    const state = foldHistory(records.commits);
    if (state.ended || state.ending === undefined) break;
    await closeWaits(deps, runId, [...state.openRemoteTasks.keys()], records.tokens);
    if (await commitEnd(deps, records, state.ending, state.seq + 1)) break;
  }
  await afterEnd(deps, runId);
}

async function closeWaits(
  deps: Deps,
  runId: RunId,
  waitIds: readonly string[],
  tokens: readonly TokenRecord[],
): Promise<void> {
  const settled = new Set(tokens.filter((token) => token.settlement !== undefined).map((token) => token.waitId));
  const open = waitIds.filter((waitId) => !settled.has(waitId));
  await Promise.all(
    open.map((waitId) => deps.store.close(runId, waitId, { writerId: deps.random.hex(16), atMs: deps.clock.nowMs() })),
  );
}

async function commitEnd(deps: Deps, records: RunRecords, outcome: RunOutcome, seq: number): Promise<boolean> {
  const atMs = deps.clock.nowMs();
  return deps.store.commitEnd(
    records.head,
    { seq, writerId: deps.random.hex(16), events: [{ type: 'RunEnded', atMs, status: outcome.status }] },
    // The closed waits have markers of their own, but this turn has not read them back.
    { status: outcome.status, endedAtMs: atMs, seen: { status: 'ending' }, markAtMs: atMs },
  );
}

/**
 * End effects of an ended run, then its markers, the head's last. A marker on a token stands for a remote task that may
 * still have to be cancelled; as long as one is left, the head's stays too and the sweep brings the run back.
 */
export async function afterEnd(deps: Deps, runId: RunId): Promise<void> {
  const records = await deps.store.readRun(runId);
  if (records === undefined || !foldHistory(records.commits).ended) return;
  const marked = records.tokens.filter((token) => token.dueAtMs !== undefined);
  const released = await Promise.all(marked.map((token) => releaseToken(deps, token)));
  await Promise.all(
    records.inbox
      .filter((item) => item.dueAtMs !== undefined)
      .map((item) => deps.store.clearInboxMarker(runId, item.inboxId)),
  );
  if (records.head.dueAtMs !== undefined && released.every(Boolean)) await deps.store.clearHeadMarker(runId);
}

/**
 * Removes the marker of a token whose settlement has been taken in, or whose run has ended. Where the wait ended before
 * its remote task did, the task is cancelled first. False: the cancel must be tried again, and the marker stays.
 */
export async function releaseToken(deps: Deps, token: TokenRecord): Promise<boolean> {
  if (!(await cancelIfLeft(deps, token))) return false;
  await deps.store.clearTokenMarker(token.runId, token.waitId);
  return true;
}

async function cancelIfLeft(deps: Deps, { runId, handle, settlement }: TokenRecord): Promise<boolean> {
  const endedFirst =
    settlement !== undefined && (settlement.outcome.kind === 'run_ended' || settlement.outcome.kind === 'timed_out');
  if (handle === undefined || !endedFirst || deps.app.servers[handle.server] === undefined) return true;
  const reply = await deps.transports.get(handle.server).cancel(handle);
  if (reply.kind === 'done') return true;
  const givesUp = deps.clock.nowMs() - settlement.atMs > cancelGiveUpMs;
  deps.log.warn(givesUp ? 'remote task left running: it could not be cancelled' : 'remote cancel failed', {
    runId,
    server: handle.server,
    code: reply.error.code,
  });
  return givesUp;
}
