import { defined } from '../../base/defined.js';
import { startCallMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { isWithWorker, startTimedOut } from '../../decide/worker-start.js';
import type { TokenRecord } from '../../history/records.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { Deps } from '../deps.js';
import { startNow } from '../wake.js';
import { callServer, takeReply } from './call-server.js';
import { lookForTask, lostStart, ownerGone } from './look-for-task.js';
import { remoteTarget } from './remote-target.js';
import {
  askedAgain,
  failStart,
  notMade,
  settleStart,
  type RemoteStart,
  type StartAttempt,
  type StartResult,
} from './start-attempt.js';

/** A message to the start queue is sent again if no worker has acted on it for this long. */
const startResendMs = 60_000;

/**
 * Makes one attempt to start the remote task of a wait that is in the log.
 *
 * The token item is put, or claimed for this attempt, before the call. An existing item decides: if it has a settlement
 * or a handle, nothing is started. If the server does not dedupe, only the writer of the attempt calls, and only once.
 * A process that finds the item with neither, or that called and got no answer, asks the server for the task if the
 * server can tell, after 2, 8 and 30 s. Otherwise it settles the wait as ambiguous, unless a settlement or a handle was
 * stored meanwhile. Attaching to a task is only a read, which may be repeated on any server.
 */
export async function startRemoteTask(deps: Deps, start: RemoteStart): Promise<StartResult> {
  const { wait, command } = start;
  const number = wait.failedAttempts + 1;
  const writerId = `${start.turnId}/${wait.waitId}/${number}`;

  if (deps.clock.nowMs() >= wait.deadlineAtMs) return timeOut(deps, start, number);
  // The server is asked for its traits first: a process that dies during that has started nothing.
  const found = await remoteTarget(deps, command);
  const claim = await claimAttempt(deps, start, number, writerId);
  const { token } = claim;
  if (token.settlement !== undefined || token.handle !== undefined) return { token };

  const asked = token.questions;
  // The process that was asked is gone, but its questions are stored.
  if (asked?.round !== undefined && asked.round > wait.rounds) return askedAgain({ deps, start, number, token });

  if (found.kind === 'refused') return failStart({ deps, start, token }, found.error);
  const attempt: StartAttempt = { deps, start, number, token, target: found.target };
  // Handed over by this turn or by another one.
  if (wait.look === undefined && isWithWorker(token, number))
    return withWorker(attempt, claim.claimed || token.writerId === writerId);
  if (!found.target.mayRepeat) {
    if (wait.look !== undefined)
      return hasTimeForCall(deps, start) ? lookForTask(attempt, wait.look) : { token, isPutOff: true };
    const isOwner = claim.claimed || (token.writerId === writerId && !start.called.has(writerId));
    if (!isOwner) return lostStart(attempt, ownerGone(command));
  }

  // The store, or the server's answer about its traits, may have been slow.
  if (!hasTimeForCall(deps, start)) return putOff(attempt);
  start.called.add(writerId);
  return takeReply(attempt, await callServer(attempt));
}

async function withWorker({ deps, start, token }: StartAttempt, isMine: boolean): Promise<StartResult> {
  const { workerStart, dueAtMs } = token;
  const { runId, wait } = start;
  if (workerStart?.came !== undefined) return { token, attempted: workerStart.came };
  // A start that another turn handed over has a marker, which sends its message again.
  if (isMine && dueAtMs !== undefined) await startNow(deps, { kind: 'start', runId, waitId: wait.waitId, dueAtMs });
  return { token, isWithWorker: true };
}

/** Returns true if a call may begin: never after a deadline, however long it took to get here. */
function hasTimeForCall(deps: Deps, { limits, wait, runEndsAtMs = Infinity }: RemoteStart): boolean {
  return limits.remainingMs() >= startCallMs && deps.clock.nowMs() < Math.min(wait.deadlineAtMs, runEndsAtMs);
}

/** Puts off the call. If it must not be made twice, the log says that it was not made: it would look lost. */
function putOff(attempt: StartAttempt): StartResult {
  return attempt.target.mayRepeat ? { token: attempt.token, isPutOff: true } : notMade(attempt);
}

/** Settles the wait without claiming an attempt, so that the item shows that none was made. */
async function timeOut(deps: Deps, start: RemoteStart, number: number): Promise<StartResult> {
  const fresh = { ...freshToken(deps, start), attempt: number - 1 };
  const { token } = await start.persist(() => deps.store.tokens.put(fresh));
  return settleStart({ deps, start, token }, { by: 'timeout', outcome: startTimedOut(start.wait, token) });
}

async function claimAttempt(
  deps: Deps,
  start: RemoteStart,
  attempt: number,
  writerId: string,
): Promise<{ readonly claimed: boolean; readonly token: TokenRecord }> {
  const { runId, wait, persist } = start;
  const workerDueAtMs = start.byWorker === true ? handOverDueAtMs(deps, wait) : undefined;
  const fresh: TokenRecord = {
    ...freshToken(deps, start),
    attempt,
    writerId,
    ...defined({ workerStart: workerDueAtMs === undefined ? undefined : { attempt }, dueAtMs: workerDueAtMs }),
  };
  if (attempt === 1) {
    const { put, token } = await persist(() => deps.store.tokens.put(fresh), startCallMs);
    return { claimed: put, token };
  }
  const claim = { attempt, writerId, ...defined({ workerDueAtMs }) };
  const claiming = () => deps.store.starts.claim(runId, wait.waitId, claim);
  const { claimed, token } = await persist(claiming, startCallMs);
  return { claimed, token: token ?? fresh };
}

/** Returns when the sweep checks whether a worker has taken the start. */
function handOverDueAtMs(deps: Deps, { deadlineAtMs }: OpenRemoteTask): EpochMs {
  return Math.min(deps.clock.nowMs() + startResendMs, deadlineAtMs);
}

/** Creates the token, with the turn as its writer until an attempt is claimed. */
function freshToken(deps: Deps, { runId, traceparent, wait, command, turnId }: RemoteStart): TokenRecord {
  return {
    runId,
    waitId: wait.waitId,
    server: command.server,
    attempt: 0,
    writerId: turnId,
    createdAtMs: deps.clock.nowMs(),
    deadlineAtMs: wait.deadlineAtMs,
    ...defined({
      traceparent,
      onCancel: command.onCancel === 'leave' ? command.onCancel : undefined,
      onTimeout: command.onTimeout === 'leave' ? command.onTimeout : undefined,
      answersQuestions: command.answersQuestions ? true : undefined,
      followsProgress: command.followsProgress,
    }),
    pollErrors: 0,
  };
}
