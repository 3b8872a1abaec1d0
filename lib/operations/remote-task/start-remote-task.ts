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

/** A message to the queue of starts that nobody has acted upon for this long is sent again. */
const startResendMs = 60_000;

/**
 * Makes one attempt to start the remote task of a wait that is in the log.
 *
 * The token item is put, or claimed for this attempt, before the call. If it is there already, the old item rules: a
 * settlement or a handle on it means that nothing is started. Towards a server that does not dedupe only the writer of
 * the attempt calls, and once. Whoever else finds the item with neither, and whoever called and got no answer, asks the
 * server for the task where the server can tell, after 2, 8 and 30 s, and else settles the wait as ambiguous, unless a
 * settlement or a handle came meanwhile. To take over a task is to read it, which may be repeated towards any server.
 */
export async function startRemoteTask(deps: Deps, start: RemoteStart): Promise<StartResult> {
  const { wait, command } = start;
  const number = wait.failedAttempts + 1;
  const writerId = `${start.turnId}/${wait.waitId}/${number}`;

  if (deps.clock.nowMs() >= wait.deadlineAtMs) return timeOut(deps, start, number);
  // What a server says of itself is asked for first: a process that dies over it has started nothing.
  const found = await remoteTarget(deps, command);
  const claim = await claimAttempt(deps, start, number, writerId);
  const { token } = claim;
  if (token.settlement !== undefined || token.handle !== undefined) return { token };

  const asked = token.questions;
  // The process that was asked is gone, its questions are not.
  if (asked?.round !== undefined && asked.round > wait.rounds) return askedAgain({ deps, start, number, token });

  if (found.kind === 'refused') return failStart({ deps, start, token }, found.error);
  const attempt: StartAttempt = { deps, start, number, token, target: found.target };
  // Whether this turn has handed it over, or another one.
  if (wait.look === undefined && isWithWorker(token, number))
    return withWorker(attempt, claim.claimed || token.writerId === writerId);
  if (!found.target.mayRepeat) {
    if (wait.look !== undefined)
      return hasTimeForCall(deps, start) ? lookForTask(attempt, wait.look) : { token, isPutOff: true };
    const isOwner = claim.claimed || (token.writerId === writerId && !start.called.has(writerId));
    if (!isOwner) return lostStart(attempt, ownerGone(command));
  }

  // A slow store, or a slow answer of the server to what it says of itself.
  if (!hasTimeForCall(deps, start)) return putOff(attempt);
  start.called.add(writerId);
  return takeReply(attempt, await callServer(attempt));
}

async function withWorker({ deps, start, token }: StartAttempt, isMine: boolean): Promise<StartResult> {
  const { workerStart, dueAtMs } = token;
  const { runId, wait } = start;
  if (workerStart?.came !== undefined) return { token, attempted: workerStart.came };
  // A start that another turn has handed over has a marker, which brings its message again.
  if (isMine && dueAtMs !== undefined) await startNow(deps, { kind: 'start', runId, waitId: wait.waitId, dueAtMs });
  return { token, isWithWorker: true };
}

/** Nothing begins after a deadline, however long it took to get here. */
function hasTimeForCall(deps: Deps, { limits, wait, runEndsAtMs = Infinity }: RemoteStart): boolean {
  return limits.remainingMs() >= startCallMs && deps.clock.nowMs() < Math.min(wait.deadlineAtMs, runEndsAtMs);
}

/** Towards a server that must not be called twice, the log says that this attempt was not made: else it looks like a lost one. */
function putOff(attempt: StartAttempt): StartResult {
  return attempt.target.mayRepeat ? { token: attempt.token, isPutOff: true } : notMade(attempt);
}

/** No attempt is claimed: the item says that none was made. */
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

/** When somebody looks whether a worker has taken it. */
function handOverDueAtMs(deps: Deps, { deadlineAtMs }: OpenRemoteTask): EpochMs {
  return Math.min(deps.clock.nowMs() + startResendMs, deadlineAtMs);
}

/** Without a writer of its own until an attempt is claimed. */
function freshToken(deps: Deps, { runId, wait, command, turnId }: RemoteStart): TokenRecord {
  return {
    runId,
    waitId: wait.waitId,
    server: command.server,
    attempt: 0,
    writerId: turnId,
    createdAtMs: deps.clock.nowMs(),
    deadlineAtMs: wait.deadlineAtMs,
    ...defined({
      onCancel: command.onCancel === 'leave' ? command.onCancel : undefined,
      onTimeout: command.onTimeout === 'leave' ? command.onTimeout : undefined,
      answersQuestions: command.answersQuestions ? true : undefined,
    }),
    pollErrors: 0,
  };
}
