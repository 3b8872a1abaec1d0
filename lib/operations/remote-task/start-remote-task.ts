import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import { outcomeOf } from '../../decide/outcome.js';
import { boundedQuestions } from '../../decide/questions.js';
import { startRetryDelayMs } from '../../decide/retry.js';
import { startCallMs, startProbeDelaysMs, startResendMs, startRoundsMax } from '../../base/limits.js';
import type { RemoteTaskStartAsked, RemoteTaskStartFailed, RemoteTaskStartLost } from '../../history/event.js';
import { questionIdOf, type RemoteAnswer } from '../../history/remote-question.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { StartReply, StartRequest } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Settlement, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { callKeyOf, remoteTarget, type RemoteTarget } from './remote-target.js';
import type { Persist } from '../persist.js';
import { settleInTime } from '../settle-in-time.js';
import { takeHandle } from './take-handle.js';
import type { TurnLimits } from '../turn-limits.js';
import { startNow } from '../wake.js';
import { isWithWorker, startTimedOut } from '../../decide/worker-start.js';

/** What an attempt to start leaves behind. */
export interface StartResult {
  /** The token item as it is now. */
  readonly token: TokenRecord;
  /** What the attempt is known to have come to, where another follows: to be committed before it. */
  readonly attempted?: RemoteTaskStartFailed | RemoteTaskStartLost | RemoteTaskStartAsked;
  /** A worker makes the call, and says what came of it. */
  readonly isWithWorker?: true;
  /** The attempt is claimed, and there was too little time for its call: another turn makes it. */
  readonly isPutOff?: true;
}

export interface StartAttempt {
  readonly runId: RunId;
  readonly wait: OpenRemoteTask;
  readonly command: StartRemoteTask;
  /** This turn, so that its own put is recognised after a lost acknowledgement. */
  readonly turnId: string;
  /** Writer ids under which this turn has called the server already. */
  readonly called: Set<string>;
  readonly limits: TurnLimits;
  /** Deadline of the whole run. */
  readonly runEndsAtMs?: EpochMs | undefined;
  readonly persist: Persist;
  /** The attempt is for a worker to make: its answer may take longer than a turn. */
  readonly byWorker?: boolean;
  /** The answer may take until then. Default: as long as a turn can wait. */
  readonly callUntilMs?: EpochMs;
}

/**
 * One attempt to start the remote task of a wait that is in the log.
 *
 * The token item is put, or claimed for this attempt, before the call. If it is there already, the old item rules: a
 * settlement or a handle on it means that nothing is started. Towards a server that does not dedupe only the writer of
 * the attempt calls, and once. Whoever else finds the item with neither, and whoever called and got no answer, asks the
 * server for the task where the server can tell, after 2, 8 and 30 s, and else settles the wait as ambiguous, unless a
 * settlement or a handle came meanwhile. To take over a task is to read it, which may be repeated towards any server.
 */
export async function startRemoteTask(deps: Deps, start: StartAttempt): Promise<StartResult> {
  const { wait, command } = start;
  const attempt = wait.failedAttempts + 1;
  const writerId = `${start.turnId}/${wait.waitId}/${attempt}`;

  if (deps.clock.nowMs() >= wait.deadlineAtMs) return { token: await timeOut(deps, start, attempt) };
  // What a server says of itself is asked for first: a process that dies over it has started nothing.
  const found = await remoteTarget(deps, command);
  const claim = await claimAttempt(deps, start, attempt, writerId);
  const { token } = claim;
  if (token.settlement !== undefined || token.handle !== undefined) return { token };

  const asked = token.questions;
  // The process that was asked is gone, its questions are not.
  if (asked?.round !== undefined && asked.round > wait.rounds) return askedAgain(deps, start, attempt, token);

  if (found.kind === 'refused')
    return settled(await settle(deps, start, 'start', { kind: 'failed', error: found.error }), token);
  const { target } = found;
  // Whether this turn has handed it over, or another one.
  if (wait.look === undefined && isWithWorker(token, attempt))
    return withWorker(deps, start, token, claim.claimed || token.writerId === writerId);
  if (!target.mayRepeat) {
    if (wait.look !== undefined)
      return hasTimeForCall(deps, start)
        ? lookForTask(deps, start, attempt, target, token, wait.look)
        : { token, isPutOff: true };
    const isOwner = claim.claimed || (token.writerId === writerId && !start.called.has(writerId));
    if (!isOwner) return lost(deps, start, attempt, target, token, ownerGone(command));
  }

  // A slow store, or a slow answer of the server to what it says of itself.
  if (!hasTimeForCall(deps, start)) return putOff(deps, start, attempt, target, token);
  start.called.add(writerId);
  return takeReply(deps, start, attempt, target, token, await callServer(deps, start, target, token));
}

async function withWorker(
  deps: Deps,
  { runId, wait: { waitId } }: StartAttempt,
  token: TokenRecord,
  isMine: boolean,
): Promise<StartResult> {
  const { workerStart, dueAtMs } = token;
  if (workerStart?.came !== undefined) return { token, attempted: workerStart.came };
  // A start that another turn has handed over has a marker, which brings its message again.
  if (isMine && dueAtMs !== undefined) await startNow(deps, { kind: 'start', runId, waitId, dueAtMs });
  return { token, isWithWorker: true };
}

/** Nothing begins after a deadline, however long it took to get here. */
function hasTimeForCall(deps: Deps, { limits, wait, runEndsAtMs = Infinity }: StartAttempt): boolean {
  return limits.remainingMs() >= startCallMs && deps.clock.nowMs() < Math.min(wait.deadlineAtMs, runEndsAtMs);
}

/** Towards a server that must not be called twice, the log says that this attempt was not made: else it looks like a lost one. */
function putOff(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  { mayRepeat }: RemoteTarget,
  token: TokenRecord,
): StartResult {
  return mayRepeat ? { token, isPutOff: true } : notMade(deps, start, attempt, token);
}

/** The attempt is claimed, and nothing was sent. */
export function notMade(
  deps: Deps,
  { wait: { waitId }, command: { server } }: StartAttempt,
  attempt: number,
  token: TokenRecord,
): StartResult {
  const atMs = deps.clock.nowMs();
  const error = storedError('REMOTE_UNREACHABLE', 'the call was not made: too little time was left', { server });
  return { token, attempted: { type: 'RemoteTaskStartFailed', atMs, waitId, attempt, error, retryAtMs: atMs } };
}

/** No attempt is claimed: the item says that none was made. */
async function timeOut(deps: Deps, start: StartAttempt, attempt: number): Promise<TokenRecord> {
  const fresh = { ...freshToken(deps, start), attempt: attempt - 1 };
  const { token } = await start.persist(() => deps.store.putToken(fresh));
  return (await settle(deps, start, 'timeout', startTimedOut(start.wait, token))) ?? token;
}

export async function callServer(
  deps: Deps,
  start: StartAttempt,
  target: RemoteTarget,
  token: TokenRecord,
): Promise<StartReply> {
  const { runId, wait, command } = start;
  const { request } = command;
  const { transport } = target;
  if (request.kind !== 'attach')
    return transport.start({
      request,
      idempotencyKey: callKeyOf(deps, runId, command),
      answersQuestions: command.answersQuestions,
      ...continuationOf(wait, token),
      ...defined({ untilMs: start.callUntilMs }),
    });
  const reply = await transport.adopt?.({ ...request, answersQuestions: command.answersQuestions });
  return reply ?? { kind: 'refused', error: storedError('REMOTE_START_REFUSED', 'the server takes over no tasks') };
}

async function claimAttempt(
  deps: Deps,
  start: StartAttempt,
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
    const { put, token } = await persist(() => deps.store.putToken(fresh), startCallMs);
    return { claimed: put, token };
  }
  const claim = { attempt, writerId, ...defined({ workerDueAtMs }) };
  const claiming = () => deps.store.claimStartAttempt(runId, wait.waitId, claim);
  const { claimed, token } = await persist(claiming, startCallMs);
  return { claimed, token: token ?? fresh };
}

/** When somebody looks whether a worker has taken it. */
function handOverDueAtMs(deps: Deps, { deadlineAtMs }: OpenRemoteTask): EpochMs {
  return Math.min(deps.clock.nowMs() + startResendMs, deadlineAtMs);
}

/** Without a writer of its own until an attempt is claimed. */
function freshToken(deps: Deps, { runId, wait, command, turnId }: StartAttempt): TokenRecord {
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

export async function takeReply(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  target: RemoteTarget,
  token: TokenRecord,
  reply: StartReply,
): Promise<StartResult> {
  const { runId, wait, command, persist } = start;
  const { transport, isFoundAgain } = target;
  switch (reply.kind) {
    case 'started': {
      const byWorker = start.callUntilMs !== undefined;
      const task = { runId, wait, command, transport, isFoundAgain, token, persist, byWorker };
      return { token: await takeHandle(deps, task, reply) };
    }
    case 'asked': {
      const round = wait.rounds + 1;
      const why = !command.answersQuestions
        ? 'and the call answers none'
        : round > startRoundsMax
          ? `for more than ${startRoundsMax} times`
          : undefined;
      if (why !== undefined) {
        const message = `"${command.server}" wants input before it starts, ${why}`;
        const error = storedError('REMOTE_START_REFUSED', message, { server: command.server });
        return settled(await settle(deps, start, 'start', { kind: 'failed', error }), token);
      }
      const { state } = reply;
      const questions = { list: boundedQuestions(reply.questions), round, ...defined({ state }) };
      const record = () => deps.store.recordStartQuestions(runId, wait.waitId, { attempt, questions });
      const now = await persist(record);
      return askedAgain(deps, start, attempt, now ?? token);
    }
    case 'ended': {
      const outcome = outcomeOf(reply.end, command.server, 'start', reply.handle?.taskId);
      return settled(await settle(deps, start, 'start', outcome), token);
    }
    case 'refused':
      return settled(
        await settle(deps, start, 'start', { kind: 'failed', error: withServer(reply.error, command) }),
        token,
      );
    case 'unknown':
      if (!target.mayRepeat) return lost(deps, start, attempt, target, token, reply.error);
      return retryOrGiveUp(deps, start, attempt, token, { ...reply, wasSent: command.request.kind !== 'attach' });
    case 'retry':
      return retryOrGiveUp(deps, start, attempt, token, { ...reply, wasSent: false });
  }
}

/** The attempt ended with questions; whatever is on the item, another owner may have been asked too. */
export function askedAgain(deps: Deps, { wait }: StartAttempt, attempt: number, token: TokenRecord): StartResult {
  const round = token.questions?.round;
  if (round === undefined || token.settlement !== undefined || token.handle !== undefined) return { token };
  const atMs = deps.clock.nowMs();
  return { token, attempted: { type: 'RemoteTaskStartAsked', atMs, waitId: wait.waitId, attempt, round } };
}

/** The answers to what the server asked last, in its own keys. */
function continuationOf(wait: OpenRemoteTask, { questions }: TokenRecord): Pick<StartRequest, 'continuation'> {
  if (questions?.round === undefined || questions.round !== wait.rounds) return {};
  const { list, round, state } = questions;
  const answers: Record<string, RemoteAnswer> = {};
  for (const question of list) {
    const answer = wait.answers.get(questionIdOf({ question, round }));
    if (answer !== undefined) answers[question.key] = answer;
  }
  return { continuation: { answers, ...defined({ state }) } };
}

/** The fate of a start is unknown, and it must not be repeated. */
export async function lost(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  target: RemoteTarget,
  token: TokenRecord,
  why: StoredError,
): Promise<StartResult> {
  if (target.mayLook) return lookLater(deps, start, attempt, token, 1, why);
  return helpless(deps, start, target, token, why);
}

/** Neither a repeat nor a look tells what came of the start. */
async function helpless(
  deps: Deps,
  start: StartAttempt,
  { helps }: RemoteTarget,
  token: TokenRecord,
  why: StoredError,
): Promise<StartResult> {
  const help = helps === undefined ? '' : `. What helps: ${helps}`;
  const cause = `${why.message}). It was not started again, since the server is not known to recognise a repeat${help}`;
  return settled(await settleAmbiguous(deps, start, start.command.server, cause), token);
}

function lookLater(
  deps: Deps,
  { wait }: StartAttempt,
  attempt: number,
  token: TokenRecord,
  look: number,
  error: StoredError,
): StartResult {
  const atMs = deps.clock.nowMs();
  const lookAtMs = atMs + (startProbeDelaysMs[look - 1] ?? 0);
  return {
    token,
    attempted: { type: 'RemoteTaskStartLost', atMs, waitId: wait.waitId, attempt, error, look, lookAtMs },
  };
}

/** Asks the server for the task of a start of unknown fate. Nothing is ever started because it has none: it may yet. */
async function lookForTask(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  target: RemoteTarget,
  token: TokenRecord,
  look: number,
): Promise<StartResult> {
  const { runId, wait, command, persist } = start;
  const { transport } = target;
  const { request, server } = command;
  const reply =
    request.kind === 'attach'
      ? undefined
      : await transport.find?.({ request, idempotencyKey: callKeyOf(deps, runId, command) });
  deps.log.info('server asked for the task of a start of unknown fate', { runId, server, look, found: reply?.kind });
  if (reply?.kind === 'found')
    return {
      token: await takeHandle(deps, { runId, wait, command, transport, isFoundAgain: true, token, persist }, reply, {
        found: true,
      }),
    };
  if (reply?.kind === 'unsupported') return helpless(deps, start, target, token, reply.error);
  const why =
    reply?.kind === 'unknown'
      ? reply.error
      : storedError('REMOTE_START_AMBIGUOUS', reply?.note ?? 'the server says that it has no task of this start');
  if (look < startProbeDelaysMs.length) return lookLater(deps, start, attempt, token, look + 1, why);
  const cause = `${why.message}, asked ${look} times). It was not started again, since a start may still be on its way`;
  return settled(await settleAmbiguous(deps, start, server, cause), token);
}

interface FailedAttempt {
  readonly error: StoredError;
  readonly retryAfterMs?: number;
  /** It was sent: a task may be running. */
  readonly wasSent: boolean;
}

async function retryOrGiveUp(
  deps: Deps,
  start: StartAttempt,
  attempt: number,
  token: TokenRecord,
  { error, retryAfterMs, wasSent }: FailedAttempt,
): Promise<StartResult> {
  const { runId, wait, command } = start;
  const { server } = command;
  const { waitId } = wait;
  // A start that ended with questions was no failure.
  const delayMs = startRetryDelayMs(attempt - wait.rounds, retryAfterMs);
  const atMs = deps.clock.nowMs();
  if (delayMs !== undefined) {
    deps.log.info('remote start failed', { runId, server, attempt, retryInMs: delayMs, code: error.code });
    const sent = wasSent ? { sent: true as const } : {};
    const retryAtMs = atMs + delayMs;
    return { token, attempted: { type: 'RemoteTaskStartFailed', atMs, waitId, attempt, error, retryAtMs, ...sent } };
  }
  if (wasSent || wait.mayRun === true) {
    const cause = `${error.message}). It was started ${attempt} times under one key, and no usable answer came`;
    return settled(await settleAmbiguous(deps, start, server, cause), token);
  }
  const gaveUp = storedError(
    'REMOTE_START_FAILED',
    `the remote task on "${server}" could not be started in ${attempt} attempts: ${error.message}`,
    { server, attempts: attempt },
  );
  return settled(await settle(deps, start, 'start', { kind: 'failed', error: gaveUp }), token);
}

export function ownerGone({ server }: StartRemoteTask): StoredError {
  return storedError('REMOTE_START_AMBIGUOUS', 'the process that started it is gone', { server });
}

async function settleAmbiguous(
  deps: Deps,
  start: StartAttempt,
  server: string,
  cause: string,
): Promise<TokenRecord | undefined> {
  const message = `a task on "${server}" may have been started and its id is not known (${cause}.`;
  const error = storedError('REMOTE_START_AMBIGUOUS', message, { server });
  return settle(deps, start, 'start', { kind: 'failed', error }, { onlyWithoutHandle: true });
}

export async function settle(
  deps: Deps,
  { runId, wait, persist }: StartAttempt,
  by: Settlement['by'],
  outcome: TokenOutcome,
  options: { readonly onlyWithoutHandle?: boolean } = {},
): Promise<TokenRecord | undefined> {
  const settlement: Settlement = { writerId: deps.random.hex(16), atMs: deps.clock.nowMs(), by, outcome };
  // No wake: the turn that called takes it in with its next commit.
  const { waitId } = wait;
  const { token } = await persist(() =>
    by === 'timeout'
      ? deps.store.settle(runId, waitId, settlement, options)
      : settleInTime(deps, runId, waitId, settlement, options),
  );
  return token;
}

function settled(token: TokenRecord | undefined, before: TokenRecord): StartResult {
  return { token: token ?? before };
}

function withServer(error: StoredError, command: StartRemoteTask): StoredError {
  return { ...error, details: { server: command.server, ...error.details } };
}
