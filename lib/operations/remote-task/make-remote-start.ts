import { startTakeMs, sweepIntervalMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { carriedBy } from '../../base/trace-context.js';
import { blockedRetryAtMs } from '../../decide/deadline.js';
import { isWithWorker, longestCallUntilMs, startTimedOut } from '../../decide/worker-start.js';
import type { RunHead, TokenRecord, WorkerStart } from '../../history/records.js';
import type { OpenRemoteTask, OpenWait } from '../../history/run-state.js';
import type { StartMessage } from '../../queue/queue.js';
import type { StartReply } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import { whenAdmitted } from '../admission.js';
import { askedOfWorker } from '../../decide/worker-wait.js';
import { replayForWorker } from '../replay-run.js';
import type { Deps } from '../deps.js';
import { persistWithin } from '../persist.js';
import { skipUnreadable } from '../skip-unreadable.js';
import type { TurnLimits } from '../turn-limits.js';
import { wakeRunFor } from '../wake.js';
import { callServer, takeReply } from './call-server.js';
import { lostStart, ownerGone } from './look-for-task.js';
import { remoteTarget } from './remote-target.js';
import {
  askedAgain,
  failStart,
  notMade,
  settleStart,
  type MadeStart,
  type RemoteStart,
  type StartAttempt,
  type StartResult,
} from './start-attempt.js';
import { stopLostStart } from './stop-lost-start.js';

/** Token of a start that is handed over to a worker, and due. */
type DueStart = TokenRecord & {
  readonly workerStart: WorkerStart;
  readonly dueAtMs: EpochMs;
  readonly deadlineAtMs: EpochMs;
};

/**
 * Makes a start of a remote task that a turn has handed over, and waits for the answer as long as the call allows.
 *
 * P1  The call is made under a claim: one conditional write on the due instant that was read. Meanwhile no turn calls.
 * P2  A claim that another worker left behind is a start of unknown fate. If the server dedupes, the call is repeated.
 *     Otherwise it is not, since the first may be on its way: the task is looked for, or the wait ends as ambiguous.
 * P3  The worker handles the answer as a turn would, except for what only a commit may record. That is left on the
 *     item, due at once, and the first record stands.
 * P4  Only the token is written. A process that ends the wait need not know of the worker, which finds the settlement
 *     and then deals with the task that it has started.
 */
export async function makeRemoteStart(deps: Deps, message: StartMessage, limits: TurnLimits): Promise<MadeStart> {
  const { runId, waitId } = message;
  const made = await skipUnreadable(deps, 'start', { runId, waitId }, async () => {
    if (message.forCancel === true) return stopLostStart(deps, message, limits);
    const token = await readDue(deps, message);
    return token === undefined ? undefined : attend(deps, token, limits);
  });
  return made ?? 'stale';
}

async function readDue(deps: Deps, { runId, waitId, dueAtMs }: StartMessage): Promise<DueStart | undefined> {
  const token = await deps.store.tokens.read(runId, waitId);
  if (token?.dueAtMs === undefined || token.deadlineAtMs === undefined || token.handle !== undefined) return undefined;
  // Consumed settlements have no marker. The wake for this settlement, or for the worker's result, may have been lost.
  const isNews = token.settlement !== undefined || (isDue(token) && token.workerStart?.came !== undefined);
  if (isNews) await wakeRunFor(deps, runId, { waitId });
  return !isNews && isDue(token) ? (token as DueStart) : undefined;

  function isDue(one: TokenRecord): boolean {
    return one.dueAtMs === dueAtMs && isWithWorker(one, one.attempt);
  }
}

async function attend(deps: Deps, token: DueStart, limits: TurnLimits): Promise<MadeStart> {
  const { runId, waitId } = token;
  const nowMs = deps.clock.nowMs();
  const records = await deps.store.runs.read(runId);
  const isAsked = (wait: OpenWait): wait is OpenRemoteTask =>
    wait.kind === 'remoteTask' && wait.look === undefined && wait.failedAttempts + 1 === token.attempt;
  const asked = records === undefined ? undefined : askedOfWorker(records, waitId, isAsked, nowMs);
  if (records === undefined || asked === undefined) return 'stale';
  if (asked === 'ends') return 'put off';
  if (asked === 'paused') return putOff(deps, token, nowMs + sweepIntervalMs);

  const execution = await replayForWorker(deps, records);
  if (execution === undefined || execution.status.kind === 'blocked') {
    deps.log.warn('start put off: its run cannot be replayed', { runId, waitId });
    return putOff(deps, token, blockedRetryAtMs(token.createdAtMs, nowMs));
  }
  const command = execution.command(waitId);
  // The scope was cancelled or a race lost: the turn closes the token.
  if (command?.kind !== 'startRemoteTask') return 'stale';
  return makeAttempt(deps, token, { wait: asked, command, head: records.head }, limits);
}

/** The start as the run has it. */
interface AskedStart {
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  readonly head: RunHead;
}

async function makeAttempt(
  deps: Deps,
  token: DueStart,
  { wait, command, head }: AskedStart,
  limits: TurnLimits,
): Promise<MadeStart> {
  const { runId, attempt: number, workerStart, deadlineAtMs } = token;
  const writerId = deps.random.hex(16);
  const endsAtMs = Math.min(deadlineAtMs, head.deadlineAtMs ?? Infinity);
  const nowMs = deps.clock.nowMs();
  const callUntilMs = Math.min(endsAtMs, longestCallUntilMs(nowMs, limits.remainingMs()));
  const start: RemoteStart = {
    ...{ runId, wait, command, limits, callUntilMs, turnId: writerId, called: new Set() },
    runEndsAtMs: head.deadlineAtMs,
    traceparent: carriedBy(deps.digest, head),
    calls: head.calls,
    persist: persistWithin(deps, limits),
  };
  const leave: Leave = (result, by) => leaveToTurn({ deps, start, head }, result, by);

  if (nowMs >= deadlineAtMs) return leave(await timeOutStart({ deps, start, token }), writerId);
  if (callUntilMs <= nowMs) return 'put off';
  const found = await remoteTarget(deps, command);
  if (found.kind === 'refused') return leave(await failStart({ deps, start, token }, found.error), writerId);
  const attempt: StartAttempt = { deps, start, number, token, target: found.target };
  const { claim } = workerStart;
  if (claim !== undefined) {
    // The process that was asked is gone, but its questions are stored.
    if ((token.questions?.round ?? 0) > wait.rounds) return leave(askedAgain(attempt), claim);
    if (!found.target.mayRepeat) return leave(await lostStart(attempt, ownerGone(command)), claim);
  }

  const untilMs = callUntilMs + startTakeMs;
  const dueAtMs = Math.min(untilMs, deadlineAtMs);
  const ours = { attempt: number, seenDueAtMs: token.dueAtMs, writerId, untilMs, dueAtMs };
  const hasWaited = workerStart.held !== undefined;
  const call = { server: command.server, purpose: 'longStart', untilMs: callUntilMs, hasWaited } as const;
  const tried = await whenAdmitted(deps, call, () => callUnderClaim(attempt, ours, leave));
  if (tried.kind === 'done') return tried.result;
  const move = { seenDueAtMs: token.dueAtMs, dueAtMs: Math.min(tried.untilMs, deadlineAtMs), held: tried.error };
  await deps.store.workerStarts.move(runId, wait.waitId, move);
  return 'put off';
}

type Leave = (result: StartResult, claim: string) => Promise<MadeStart>;

async function callUnderClaim(
  { deps, start, number, target }: StartAttempt,
  claim: Parameters<Deps['store']['workerStarts']['claim']>[2],
  leave: Leave,
): Promise<MadeStart> {
  const { runId, wait, persist } = start;
  const mine = await persist(() => deps.store.workerStarts.claim(runId, wait.waitId, claim));
  if (!mine.claimed || mine.token === undefined) return 'stale';
  const attempt = { deps, start, number, target, token: mine.token };
  // The store may have been slow. If nothing is recorded, the claim looks like that of a worker that died.
  if (deps.clock.nowMs() + startTakeMs >= claim.untilMs) return leave(notMade(attempt), claim.writerId);
  return leave(await takeLongReply(attempt, await callServer(attempt)), claim.writerId);
}

/** Handles a reply as a turn would, unless the wait has ended meanwhile. */
async function takeLongReply(attempt: StartAttempt, reply: StartReply): Promise<StartResult> {
  const { deps, start, number, token } = attempt;
  const isOver = deps.clock.nowMs() >= start.wait.deadlineAtMs;
  const isOpen = reply.kind === 'unknown' || reply.kind === 'retry';
  if (isOver && isOpen) {
    const wait = { ...start.wait, lastError: reply.error };
    // A start that was surely not processed leaves no task behind.
    const made = reply.kind === 'retry' ? { ...token, workerStart: { attempt: number } } : token;
    return timeOutStart({ deps, start: { ...start, wait }, token: made });
  }
  return takeReply(attempt, reply);
}

async function timeOutStart(attempt: Pick<StartAttempt, 'deps' | 'start' | 'token'>): Promise<StartResult> {
  const outcome = startTimedOut(attempt.start.wait, attempt.token);
  return settleStart(attempt, { by: 'timeout', outcome });
}

/** Leaves the rest to a turn: what only a turn may commit, and the end of a wait. */
async function leaveToTurn(
  { deps, start, head }: { readonly deps: Deps; readonly start: RemoteStart; readonly head: RunHead },
  { token, attempted }: StartResult,
  claim: string,
): Promise<MadeStart> {
  const { runId, wait, persist, command } = start;
  const { waitId } = wait;
  if (attempted !== undefined) {
    const left = { claim, came: attempted, dueAtMs: deps.clock.nowMs() };
    await persist(() => deps.store.workerStarts.record(runId, waitId, left));
    await wakeRunFor(deps, runId, { waitId });
    return 'told';
  }
  // A known task is read from now on; the log can record it together with the next news.
  const isNews = token.handle === undefined || token.questions !== undefined || head.publishedSeq !== undefined;
  if (isNews) await wakeRunFor(deps, runId, { waitId });
  deps.log.debug('start made by a worker', { runId, waitId, server: command.server });
  return 'done';
}

async function putOff(
  deps: Deps,
  { runId, waitId, dueAtMs, deadlineAtMs }: DueStart,
  untilMs: EpochMs,
): Promise<MadeStart> {
  await deps.store.workerStarts.move(runId, waitId, { seenDueAtMs: dueAtMs, dueAtMs: Math.min(untilMs, deadlineAtMs) });
  return 'put off';
}
