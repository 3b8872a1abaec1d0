import { defined } from '../../base/defined.js';
import pLimit from 'p-limit';
import { isEngineError, isUnreadable, storedError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import {
  cancelReserveMs,
  cancelsInParallel,
  lostStartReserveMs,
  turnReserveMs,
  writesInParallel,
} from '../../base/limits.js';
import type { RunOutcome } from '../../history/event.js';
import { childOutcome } from '../../decide/child-outcome.js';
import { needsStop } from '../../decide/stop.js';
import { foldHistory, type RunState } from '../../history/run-state.js';
import type { InboxRecord, RunHead, RunRecords, TokenRecord } from '../../history/records.js';
import { workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import type { TurnLimits } from '../turn-limits.js';
import { Outbox, unpublishedOf } from './outbox.js';
import { putInInbox } from '../requests/inbox.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import { validInput } from '../requests/start-run.js';
import { stopRemote, type Stopped } from '../remote-task/stop-remote.js';
import { wakeRun, wakeRunFor } from '../wake.js';

const closeAttempts = 8;

/**
 * `RunEnding` is in the log: closes every wait that the log asked for, item or not, writes the terminal commit, then
 * does the end effects. Whoever finds such a run calls it; each part may be repeated.
 */
export async function finishRun(
  deps: Deps,
  runId: RunId,
  limits: TurnLimits,
  read: ReadRun = () => deps.store.readRun(runId),
): Promise<void> {
  for (let attempt = 0; attempt < closeAttempts; attempt++) {
    const records = await read();
    if (records === undefined) return;
    const state = foldHistory(records.commits);
    if (state.ended || state.ending === undefined) break;
    // Tokens in the table that the log does not have are of a commit that cannot be read.
    const waitIds = new Set([...state.openTokens.keys(), ...records.tokens.map((token) => token.waitId)]);
    await closeWaits(deps, runId, [...waitIds], records.tokens);
    if (await commitEnd(deps, records, state.ending, state.seq + 1)) break;
  }
  await afterEnd(deps, runId, limits, read);
}

/** Reads the run; a run of which some cannot be read is read otherwise. */
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
        deps.store.close(runId, waitId, {
          writerId: deps.random.hex(16),
          atMs: deps.clock.nowMs(),
          outcome: 'run_ended',
        }),
      ),
    ),
  );
}

/** A write whose answer shows an item that this deployment cannot read has been made. */
async function evenIfUnreadable(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
}

async function commitEnd(deps: Deps, records: RunRecords, outcome: RunOutcome, seq: number): Promise<boolean> {
  const atMs = deps.clock.nowMs();
  return deps.store.commitEnd(
    records.head,
    { seq, writerId: deps.random.hex(16), events: [{ type: 'RunEnded', atMs, status: outcome.status }] },
    // The closed waits have markers of their own, but this turn has not read them back.
    { outcome, endedAtMs: atMs, seen: { status: 'ending' }, markAtMs: atMs },
  );
}

/**
 * End effects of an ended run, then its markers, the head's last. A marker on a token stands for a remote task or a child
 * that may still have to be stopped; as long as one is left, or a lifecycle event is not published, the head's stays too
 * and the sweep brings the run back.
 */
export async function afterEnd(
  deps: Deps,
  runId: RunId,
  limits: TurnLimits,
  read: ReadRun = () => deps.store.readRun(runId),
): Promise<void> {
  const records = await read();
  if (records === undefined) return;
  const state = foldHistory(records.commits);
  if (!state.ended || state.ending === undefined) return;
  if (state.ending.status === 'continued') {
    if (!(await startNextRun(deps, records, { state, ending: state.ending }, limits))) return wakeRun(deps, runId);
  } else if (records.head.parent !== undefined) await settleParent(deps, records.head, state.ending);

  const { head } = records;
  const unpublished = unpublishedOf(deps, records);
  const outbox = unpublished === undefined ? undefined : new Outbox(deps, unpublished, limits);
  const isPublished = (await outbox?.publish()) ?? true;
  // The markers that go now may be all that would bring the run back.
  const nowMs = deps.clock.nowMs();
  if (!isPublished && (head.dueAtMs ?? Infinity) > nowMs) await deps.store.markEndedHead(runId, nowMs);

  const marked = records.tokens.filter((token) => token.dueAtMs !== undefined);
  const areReleased = await releaseTokens(deps, marked, limits);
  if (!(await releaseInbox(deps, runId, records.inbox, limits))) return wakeRun(deps, runId);
  if (head.dueAtMs !== undefined && areReleased && isPublished)
    await deps.store.clearHeadMarker(runId, head.dueAtMs, outbox?.publishedSeq);
  else if (outbox?.publishedSeq !== undefined) await deps.store.setPublished(runId, outbox.publishedSeq);
}

/** Something of the run is still to be looked at. End effects come before their markers go, so without one they are done. */
export function isMarked({ head, tokens, inbox }: RunRecords): boolean {
  return [head, ...tokens, ...inbox].some(({ dueAtMs }) => dueAtMs !== undefined);
}

/**
 * The run that this one goes on as: first what was accepted and reached nobody, unread signals and unheard cancels, in the
 * order of the log; then its head. Each is put if absent. False: there are more than there was time for.
 */
async function startNextRun(
  deps: Deps,
  { head, inbox }: RunRecords,
  { state, ending }: { readonly state: RunState; readonly ending: Extract<RunOutcome, { status: 'continued' }> },
  limits: TurnLimits,
): Promise<boolean> {
  const { nextRunId, input } = ending;
  const byId = new Map(inbox.map((item) => [item.inboxId, item]));
  const unheard = new Set(state.unheard);
  const handedOn = [...state.takenInbox]
    .filter((inboxId) => state.unreadSignals.has(inboxId) || unheard.has(inboxId))
    .map((inboxId) => byId.get(inboxId))
    .filter((item) => item !== undefined);
  if (!(await seedInbox(deps, nextRunId, handedOn, limits))) return false;
  const version = deps.app.workflows.get(head.workflow)?.version ?? head.version;
  const nextInput = await inputOfNext(deps, { workflow: head.workflow, version }, input);
  const nowMs = deps.clock.nowMs();
  const next: RunHead = {
    runId: nextRunId,
    workflow: head.workflow,
    version,
    status: 'running',
    ...nextInput,
    // Of the last one, so that a repeat of this effect makes the same head.
    seed: deps.digest(`seed after ${head.seed}`).slice(0, 32),
    createdAtMs: nowMs,
    ...defined({ deadlineAtMs: head.deadlineAtMs, parent: head.parent, tags: head.tags }),
    previousRunId: head.runId,
    inboxCount: handedOn.length,
    dueSeq: 0,
    blocks: 0,
    ...defined({ publishedSeq: deps.bus === undefined ? undefined : 0 }),
    dueAtMs: nowMs,
  };
  const { created } = await deps.store.createRun(next, deps.random.hex(16));
  if (created) await wakeRun(deps, nextRunId);
  return true;
}

async function seedInbox(
  deps: Deps,
  runId: RunId,
  items: readonly InboxRecord[],
  limits: TurnLimits,
): Promise<boolean> {
  // A turn before this one may have put some; as few as these are put again sooner than looked for.
  const there =
    items.length <= writesInParallel
      ? new Set<string>()
      : new Set((await deps.store.readInboxKinds(runId)).map(({ inboxId }) => inboxId));
  const left = [...items.entries()].filter(([, { inboxId }]) => !there.has(inboxId));
  return whileThereIsTime(limits, left, async ([position, item]) => {
    await deps.store.seedInbox({ ...item, runId, position });
  });
}

/** Does it for all of them, some at a time. False: there was not enough time for that. */
async function whileThereIsTime<One>(
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

/** Removes the markers of requests that need none any more. False: there was not enough time for all. */
export async function releaseInbox(
  deps: Deps,
  runId: RunId,
  inbox: readonly InboxRecord[],
  limits: TurnLimits,
): Promise<boolean> {
  const marked = inbox.flatMap(({ inboxId, dueAtMs }) => (dueAtMs === undefined ? [] : [{ inboxId, dueAtMs }]));
  return whileThereIsTime(limits, marked, ({ inboxId, dueAtMs }) =>
    evenIfUnreadable(deps.store.clearInboxMarker(runId, inboxId, dueAtMs)),
  );
}

/**
 * What the schema makes of the input, as at any start. An input that does not fit is the end of the next run, which fails
 * with it: this one has ended well, and nobody is there to be told.
 */
async function inputOfNext(
  deps: Deps,
  next: Pick<RunHead, 'workflow' | 'version'>,
  given: JsonValue | undefined,
): Promise<Pick<RunHead, 'input' | 'inputError'>> {
  const workflow = workflowOf(deps.app, next);
  try {
    // The code of a workflow that is not there now says what fits when it is back.
    const input = workflow === undefined ? given : await validInput(deps, workflow, given);
    return input === undefined ? {} : { input };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const inputError = storedError(error.code, error.message, error.details);
    return given === undefined ? { inputError } : { input: given, inputError };
  }
}

/** A child's end settles the wait of its parent, like any other settler: the first one wins, and an ended parent takes none. */
async function settleParent(deps: Deps, head: RunHead, outcome: RunOutcome): Promise<void> {
  if (head.parent === undefined) return;
  const { runId, waitId } = head.parent;
  const settlement = newSettlement(deps, { by: 'child', outcome: childOutcome(head, outcome) });
  const { settled, timedOut } = await settleInTime(deps, head.parent, settlement);
  if (settled || timedOut) await wakeRunFor(deps, runId, { waitId });
}

/**
 * Removes the markers of tokens whose settlement has been taken in, or whose run has ended. Where a wait ended before its
 * remote task or child did, that is stopped first. False: some must be tried again, and their markers stay; or others
 * stand there by now, such as that of a handle which was left meanwhile.
 */
export async function releaseTokens(deps: Deps, tokens: readonly TokenRecord[], limits: TurnLimits): Promise<boolean> {
  const limit = pLimit(cancelsInParallel);
  const released = await Promise.all(tokens.map((token) => limit(() => releaseToken(deps, token, limits))));
  return released.every(Boolean);
}

async function releaseToken(deps: Deps, token: TokenRecord, limits: TurnLimits): Promise<boolean> {
  if (needsStop(token)) {
    // A call that the end of the process cuts off teaches nothing; the marker brings the run back.
    const isToBeFound = token.server !== undefined && token.handle === undefined;
    if (limits.remainingMs() < (isToBeFound ? lostStartReserveMs : cancelReserveMs)) return false;
    if (token.child !== undefined && !(await stopChild(deps, token, token.child))) return false;
    const stopped = await stopRemote(deps, token, limits);
    if (stopped === 'later') return false;
    return clearMarker(deps, stopped.token ?? token, stopped);
  }
  return clearMarker(deps, token);
}

/** Counts a token that cannot be read as done: nothing more of it can be looked at. */
async function clearMarker(deps: Deps, token: TokenRecord, stopped: Stopped = {}): Promise<boolean> {
  const { runId, waitId, dueAtMs, handle } = token;
  if (dueAtMs === undefined) return true;
  try {
    return await deps.store.clearTokenMarker(runId, waitId, { dueAtMs, hasHandle: handle !== undefined }, stopped);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return true;
  }
}

/** Why a child was stopped. */
export const parentGone = 'the parent no longer waits for it';

/** False: the child is about to go on as another run, which is to be stopped when it is there. */
async function stopChild(
  deps: Deps,
  { waitId }: TokenRecord,
  child: NonNullable<TokenRecord['child']>,
): Promise<boolean> {
  if (child.parentClose === 'abandon') return true;
  const atMs = deps.clock.nowMs();
  // One whose head is still to come sees in its first turn that nobody waits for it.
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
