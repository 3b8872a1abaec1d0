import pLimit from 'p-limit';
import { isEngineError, storedError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { cancelReserveMs, cancelsInParallel, lostStartReserveMs } from '../base/limits.js';
import type { RunOutcome } from '../history/event.js';
import { foldHistory, type RunState } from '../history/run-state.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { RunHead, RunRecords, TokenRecord } from '../store/records.js';
import { workflowOf } from '../workflow/app.js';
import type { Deps } from './deps.js';
import type { TurnLimits } from './turn-limits.js';
import { Outbox, unpublishedOf } from './outbox.js';
import { putInInbox } from './send-to-inbox.js';
import { settleInTime } from './settle-in-time.js';
import { validInput } from './start-run.js';
import { stopRemote, type Stopped } from './stop-remote.js';
import { wakeRun, wakeRunFor } from './wake.js';

const closeAttempts = 8;

/**
 * `RunEnding` is in the log: closes every wait that the log asked for, item or not, writes the terminal commit, then
 * does the end effects. Whoever finds such a run calls it; each part may be repeated.
 */
export async function finishRun(deps: Deps, runId: RunId, limits: TurnLimits): Promise<void> {
  for (let attempt = 0; attempt < closeAttempts; attempt++) {
    const records = await deps.store.readRun(runId);
    if (records === undefined) return;
    const state = foldHistory(records.commits);
    if (state.ended || state.ending === undefined) break;
    await closeWaits(deps, runId, [...state.openTokens.keys()], records.tokens);
    if (await commitEnd(deps, records, state.ending, state.seq + 1)) break;
  }
  await afterEnd(deps, runId, limits);
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
    open.map((waitId) =>
      deps.store.close(runId, waitId, {
        writerId: deps.random.hex(16),
        atMs: deps.clock.nowMs(),
        outcome: 'run_ended',
      }),
    ),
  );
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
export async function afterEnd(deps: Deps, runId: RunId, limits: TurnLimits): Promise<void> {
  const records = await deps.store.readRun(runId);
  if (records === undefined) return;
  const state = foldHistory(records.commits);
  if (!state.ended || state.ending === undefined) return;
  if (state.ending.status === 'continued') await startNextRun(deps, records, state, state.ending);
  else if (records.head.parent !== undefined) await settleParent(deps, records.head, state.ending);

  const { head } = records;
  const unpublished = unpublishedOf(deps, records);
  const outbox = unpublished === undefined ? undefined : new Outbox(deps, unpublished, limits);
  const isPublished = (await outbox?.publish()) ?? true;
  // The markers that go now may be all that would bring the run back.
  const nowMs = deps.clock.nowMs();
  if (!isPublished && (head.dueAtMs ?? Infinity) > nowMs) await deps.store.markEndedHead(runId, nowMs);

  const marked = records.tokens.filter((token) => token.dueAtMs !== undefined);
  const areReleased = await releaseTokens(deps, marked, limits);
  await Promise.all(
    records.inbox.map(async ({ inboxId, dueAtMs }) =>
      dueAtMs === undefined ? undefined : deps.store.clearInboxMarker(runId, inboxId, dueAtMs),
    ),
  );
  if (head.dueAtMs !== undefined && areReleased && isPublished)
    await deps.store.clearHeadMarker(runId, head.dueAtMs, outbox?.publishedSeq);
  else if (outbox?.publishedSeq !== undefined) await deps.store.setPublished(runId, outbox.publishedSeq);
}

/** The run that this one goes on as: its unread signals first, then its head, each if absent. */
async function startNextRun(
  deps: Deps,
  { head, inbox }: RunRecords,
  state: RunState,
  { nextRunId, input }: Extract<RunOutcome, { status: 'continued' }>,
): Promise<void> {
  const unread = inbox.filter(({ inboxId }) => state.unreadSignals.has(inboxId));
  for (const signal of unread) await deps.store.seedInbox({ ...signal, runId: nextRunId });
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
    ...(head.deadlineAtMs === undefined ? {} : { deadlineAtMs: head.deadlineAtMs }),
    ...(head.parent === undefined ? {} : { parent: head.parent }),
    ...(head.tags === undefined ? {} : { tags: head.tags }),
    previousRunId: head.runId,
    inboxCount: unread.length,
    dueSeq: 0,
    blocks: 0,
    ...(deps.bus === undefined ? {} : { publishedSeq: 0 }),
    dueAtMs: nowMs,
  };
  const { created } = await deps.store.createRun(next, deps.random.hex(16));
  if (created) await wakeRun(deps, nextRunId);
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
  const settlement = {
    writerId: deps.random.hex(16),
    atMs: deps.clock.nowMs(),
    by: 'child',
    outcome: childOutcome(head, outcome),
  } as const;
  const { settled, timedOut } = await settleInTime(deps, runId, waitId, settlement);
  if (settled || timedOut) await wakeRunFor(deps, runId, { waitId });
}

function childOutcome(head: RunHead, outcome: RunOutcome): TokenOutcome {
  if (outcome.status === 'completed') return { kind: 'completed', result: outcome.result ?? null, isError: false };
  const why = outcome.status === 'failed' ? `: ${outcome.error.message}` : '';
  const details: Record<string, JsonValue> = { childRunId: head.runId, status: outcome.status };
  if (outcome.status === 'failed') details['error'] = outcome.error as unknown as JsonValue;
  return {
    kind: 'failed',
    error: storedError('CHILD_FAILED', `child "${head.workflow}" ${outcome.status}${why}`, details),
  };
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
    if (token.child !== undefined) await stopChild(deps, token, token.child);
    const stopped = await stopRemote(deps, token, () => limits.remainingMs() >= cancelReserveMs);
    if (stopped === 'later') return false;
    return clearMarker(deps, stopped.token ?? token, stopped);
  }
  return clearMarker(deps, token);
}

async function clearMarker(deps: Deps, token: TokenRecord, stopped: Stopped = {}): Promise<boolean> {
  const { runId, waitId, dueAtMs, handle } = token;
  if (dueAtMs === undefined) return true;
  return deps.store.clearTokenMarker(runId, waitId, { dueAtMs, hasHandle: handle !== undefined }, stopped);
}

/** Why a child was stopped. */
export const parentGone = 'the parent no longer waits for it';

/** The wait ended, and what it waited for may not have. */
export function needsStop({ settlement, child, server }: TokenRecord): boolean {
  const kind = settlement?.outcome.kind;
  const endedFirst = kind === 'run_ended' || kind === 'timed_out' || kind === 'abandoned';
  return endedFirst && (child !== undefined || server !== undefined);
}

async function stopChild(deps: Deps, { waitId }: TokenRecord, child: NonNullable<TokenRecord['child']>): Promise<void> {
  if (child.parentClose === 'abandon') return;
  const atMs = deps.clock.nowMs();
  // One whose head is still to come sees in its first turn that nobody waits for it.
  await putInInbox(deps, {
    runId: child.runId,
    inboxId: `${child.parentClose}-parent-${waitId}`,
    kind: child.parentClose,
    reason: parentGone,
    atMs,
    dueAtMs: atMs,
  });
}
