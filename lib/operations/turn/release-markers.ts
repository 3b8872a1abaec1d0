import pLimit from 'p-limit';
import { isUnreadable } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { lazy } from '../../base/lazy.js';
import { cancelReserveMs, lostStartReserveMs, turnReserveMs, writesInParallel } from '../../base/limits.js';
import { needsStop } from '../../decide/stop.js';
import type { InboxRecord, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import type { Stopped } from '../remote-task/stop-remote.js';
import { putInInbox } from '../requests/inbox.js';
import type { TurnLimits } from '../turn-limits.js';

/** Few turns stop a remote task. */
export const loadStopRemote = lazy(() => import('../remote-task/stop-remote.js'));

/** Concurrent remote cancels of one turn. */
const cancelsInParallel = 8;

/** Removes the markers of requests that no longer need one. Returns false if there was not enough time for all. */
export async function releaseInbox(
  deps: Deps,
  runId: RunId,
  inbox: readonly InboxRecord[],
  limits: TurnLimits,
): Promise<boolean> {
  const marked = inbox.flatMap(({ inboxId, dueAtMs }) => (dueAtMs === undefined ? [] : [{ inboxId, dueAtMs }]));
  return whileThereIsTime(limits, marked, ({ inboxId, dueAtMs }) =>
    evenIfUnreadable(deps.store.inbox.clearMarker(runId, inboxId, dueAtMs)),
  );
}

/**
 * Removes the markers of tokens whose settlement has been taken in, or whose run has ended. If a wait ended before its
 * remote task or child did, that is stopped first. Returns false if some must be retried, and keep their markers, or if
 * others were set meanwhile, such as that of a handle that was left.
 */
export async function releaseTokens(deps: Deps, tokens: readonly TokenRecord[], limits: TurnLimits): Promise<boolean> {
  const limit = pLimit(cancelsInParallel);
  const released = await Promise.all(tokens.map((token) => limit(() => releaseToken(deps, token, limits))));
  return released.every(Boolean);
}

async function releaseToken(deps: Deps, token: TokenRecord, limits: TurnLimits): Promise<boolean> {
  if (needsStop(token)) {
    // If the process dies during the call we learn nothing; the marker brings the run back.
    const isToBeFound = token.server !== undefined && token.handle === undefined;
    if (limits.remainingMs() < (isToBeFound ? lostStartReserveMs : cancelReserveMs)) return false;
    if (token.child !== undefined && !(await stopChild(deps, token, token.child))) return false;
    const { stopRemote } = await loadStopRemote();
    const stopped = await stopRemote(deps, token, limits);
    if (stopped === 'later') return false;
    return clearMarker(deps, stopped.token ?? token, stopped);
  }
  return clearMarker(deps, token);
}

/** Clears a marker. Counts a token that cannot be read as done: nothing more of it can be looked at. */
async function clearMarker(deps: Deps, token: TokenRecord, stopped: Stopped = {}): Promise<boolean> {
  const { runId, waitId, dueAtMs, handle } = token;
  if (dueAtMs === undefined) return true;
  try {
    return await deps.store.tokens.clearMarker(runId, waitId, { dueAtMs, hasHandle: handle !== undefined }, stopped);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return true;
  }
}

/** Reason with which a child is stopped. */
export const parentGone = 'the parent no longer waits for it';

/** Stops a child. Returns false if it is about to continue as another run, which is to be stopped once it exists. */
async function stopChild(
  deps: Deps,
  { waitId }: TokenRecord,
  child: NonNullable<TokenRecord['child']>,
): Promise<boolean> {
  if (child.parentClose === 'abandon') return true;
  const atMs = deps.clock.nowMs();
  // A child whose head is still to come sees in its first turn that it is no longer waited for.
  const answer = await putInInbox(deps, {
    runId: child.runId,
    inboxId: `${child.parentClose}-parent-${waitId}`,
    kind: child.parentClose,
    reason: parentGone,
    atMs,
    dueAtMs: atMs,
  });
  return answer !== 'next_not_found';
}
/** Acts on all items, some at a time. Returns false if there was not enough time for all. */
export async function whileThereIsTime<One>(
  limits: TurnLimits,
  all: readonly One[],
  act: (one: One) => Promise<void>,
): Promise<boolean> {
  const limit = pLimit(writesInParallel);
  const done = await Promise.all(
    all.map((one) =>
      limit(async () => {
        if (limits.remainingMs() < turnReserveMs) return false;
        await act(one);
        return true;
      }),
    ),
  );
  return done.every(Boolean);
}

/** Awaits a write. If its answer has an item that this deployment cannot read, the write has still been made. */
export async function evenIfUnreadable(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
}
