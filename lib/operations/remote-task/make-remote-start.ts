import { isUnreadable } from '../../base/errors.js';
import { startPatienceMs, startTakeMs, sweepIntervalMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { blockedRetryAtMs } from '../../decide/deadline.js';
import type { OpenRemoteTask, OpenWait } from '../../history/run-state.js';
import type { StartMessage } from '../../queue/queue.js';
import type { StartReply } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { RunRecords, TokenRecord, WorkerStart } from '../../history/records.js';
import { askedOfWorker, replayForWorker } from '../asked-of-worker.js';
import type { Deps } from '../deps.js';
import { persistWithin } from '../persist.js';
import { remoteTarget, type RemoteTarget } from './remote-target.js';
import {
  askedAgain,
  callServer,
  lost,
  notMade,
  ownerGone,
  settle,
  takeReply,
  type StartAttempt,
  type StartResult,
} from './start-remote-task.js';
import { stopLostStart } from './stop-lost-start.js';
import type { TurnLimits } from '../turn-limits.js';
import { wakeRunFor } from '../wake.js';
import { whenFree } from '../when-free.js';
import { isWithWorker, startTimedOut } from '../../decide/worker-start.js';

export type MadeStart =
  /** Its task is known, or its wait ended; or a closed wait turned out to have none. */
  | 'done'
  /** What it came to is on the item, for a turn. */
  | 'told'
  /** Not called for now: its server is left alone, or the run is paused, blocked or about to end. The sweep comes back to it. */
  | 'put off'
  /** The message was for a due instant that is no longer the item's, or nobody waits for the start any more. */
  | 'stale';

/** A token of a start that a worker is to make, and that is due. */
type DueStart = TokenRecord & {
  readonly workerStart: WorkerStart;
  readonly dueAtMs: EpochMs;
  readonly deadlineAtMs: EpochMs;
};

/**
 * Makes a start of a remote task that a turn has handed over, and waits for its answer as long as the call allows.
 *
 * P1  The call is made under a claim: one conditional write on the due instant that was read. No turn calls meanwhile.
 * P2  A claim that another worker left behind is a start of unknown fate. Towards a server that dedupes the call is made
 *     again; towards others none is, and the wait ends as ambiguous or is looked for: that of the claim may be on its way.
 * P3  The worker does with the answer what a turn would do, but for what only a commit may say. That is left on the item,
 *     due at once, and the first word stands.
 * P4  The token is all that is written. Whoever ends the wait need not know of the worker, which finds the settlement and
 *     deals with the task that it has started.
 */
export async function makeRemoteStart(deps: Deps, message: StartMessage, limits: TurnLimits): Promise<MadeStart> {
  const { runId, waitId } = message;
  try {
    if (message.forCancel === true) return await stopLostStart(deps, message, limits);
    const token = await readDue(deps, message);
    return token === undefined ? 'stale' : await attend(deps, token, limits);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    // Another delivery would not read it either; its marker stands.
    deps.log.warn('start skipped: it cannot be read', { runId, waitId, code: error.code, reason: error.message });
    return 'stale';
  }
}

async function readDue(deps: Deps, { runId, waitId, dueAtMs }: StartMessage): Promise<DueStart | undefined> {
  const token = await deps.store.readToken(runId, waitId);
  if (token?.dueAtMs === undefined || token.deadlineAtMs === undefined || token.handle !== undefined) return undefined;
  // Consumed settlements have no marker. This one may have lost its wake, or what came of the start has.
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
  const records = await deps.store.readRun(runId);
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
  // A scope that was cancelled, a lost race: the turn closes the token.
  if (command?.kind !== 'startRemoteTask') return 'stale';
  return attempt(deps, token, asked, command, records, limits);
}

async function attempt(
  deps: Deps,
  token: DueStart,
  wait: OpenRemoteTask,
  command: StartRemoteTask,
  { head }: RunRecords,
  limits: TurnLimits,
): Promise<MadeStart> {
  const { runId, waitId, attempt: number, workerStart, deadlineAtMs } = token;
  const writerId = deps.random.hex(16);
  const endsAtMs = Math.min(deadlineAtMs, head.deadlineAtMs ?? Infinity);
  const nowMs = deps.clock.nowMs();
  const callUntilMs = Math.min(endsAtMs, nowMs + startPatienceMs, nowMs + limits.remainingMs() - startTakeMs);
  const start: StartAttempt = {
    ...{ runId, wait, command, limits, callUntilMs, turnId: writerId, called: new Set() },
    runEndsAtMs: head.deadlineAtMs,
    persist: persistWithin(deps, limits),
  };
  const take = (result: StartResult, claim: string): Promise<MadeStart> => leave(deps, start, result, claim, head);

  if (nowMs >= deadlineAtMs) {
    const late = await timedOut(deps, start, token);
    return take({ token: late ?? token }, writerId);
  }
  if (callUntilMs <= nowMs) return 'put off';
  const found = await remoteTarget(deps, command);
  if (found.kind === 'refused') {
    const outcome = { kind: 'failed', error: found.error } as const;
    return take({ token: (await settle(deps, start, 'start', outcome)) ?? token }, writerId);
  }
  const { target } = found;
  const { claim } = workerStart;
  if (claim !== undefined) {
    // The process that was asked is gone, its questions are not.
    if ((token.questions?.round ?? 0) > wait.rounds) return take(askedAgain(deps, start, number, token), claim);
    if (!target.mayRepeat) return take(await lost(deps, start, number, target, token, ownerGone(command)), claim);
  }

  const tried = await whenFree(
    deps,
    command.server,
    'longStart',
    async () => {
      const untilMs = callUntilMs + startTakeMs;
      const claiming = { attempt: number, seenDueAtMs: token.dueAtMs, writerId, untilMs };
      const mine = await start.persist(() =>
        deps.store.claimStart(runId, waitId, { ...claiming, dueAtMs: Math.min(untilMs, deadlineAtMs) }),
      );
      if (!mine.claimed || mine.token === undefined) return 'stale';
      // The store may have taken its time. Without a word of it the claim would look like that of a worker that died.
      if (deps.clock.nowMs() >= callUntilMs) return take(notMade(deps, start, number, mine.token), writerId);
      const reply = await callServer(deps, start, target, mine.token);
      return take(await takeLongReply(deps, start, number, target, mine.token, reply), writerId);
    },
    callUntilMs,
  );
  if (tried.kind === 'done') return tried.result;
  const dueAtMs = Math.min(tried.untilMs, deadlineAtMs);
  await deps.store.moveStart(runId, waitId, { seenDueAtMs: token.dueAtMs, dueAtMs, held: tried.error });
  return 'put off';
}

/** Takes a reply as a turn would, unless the wait has ended meanwhile. */
async function takeLongReply(
  deps: Deps,
  start: StartAttempt,
  number: number,
  target: RemoteTarget,
  token: TokenRecord,
  reply: StartReply,
): Promise<StartResult> {
  const isOver = deps.clock.nowMs() >= start.wait.deadlineAtMs;
  const isOpen = reply.kind === 'unknown' || reply.kind === 'retry';
  if (isOver && isOpen) {
    const wait = { ...start.wait, lastError: reply.error };
    // What was surely not processed leaves nothing behind.
    const made = reply.kind === 'retry' ? { ...token, workerStart: { attempt: number } } : token;
    return { token: (await timedOut(deps, { ...start, wait }, made)) ?? token };
  }
  return takeReply(deps, start, number, target, token, reply);
}

async function timedOut(deps: Deps, start: StartAttempt, token: TokenRecord): Promise<TokenRecord | undefined> {
  return settle(deps, start, 'timeout', startTimedOut(start.wait, token));
}

/** Leaves the rest to a turn: what only it may commit, and the end of a wait. */
async function leave(
  deps: Deps,
  { runId, wait: { waitId }, persist, command }: StartAttempt,
  { token, attempted }: StartResult,
  claim: string,
  head: RunRecords['head'],
): Promise<MadeStart> {
  if (attempted !== undefined) {
    const left = { claim, came: attempted, dueAtMs: deps.clock.nowMs() };
    await persist(() => deps.store.recordStart(runId, waitId, left));
    await wakeRunFor(deps, runId, { waitId });
    return 'told';
  }
  // A task that is known is read from here on, and the log may hear of it when there is something else to tell it.
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
  await deps.store.moveStart(runId, waitId, { seenDueAtMs: dueAtMs, dueAtMs: Math.min(untilMs, deadlineAtMs) });
  return 'put off';
}
