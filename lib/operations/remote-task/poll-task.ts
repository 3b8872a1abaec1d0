import { defined } from '../../base/defined.js';
import { isUnreadable, toStoredError } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import { pollHopsMax, questionsMax } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { claimUntilMs, nextLookAtMs, nextPollAfterErrorMs, nextPollAtMs, pollHint } from '../../decide/poll.js';
import { outcomeOf } from '../../decide/outcome.js';
import { sightMissing, sightUnfit, type Sighted } from '../../decide/sighting.js';
import { changedQuestions, unseenQuestions } from '../../decide/questions.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { PollMessage } from '../../queue/queue.js';
import type { Held, PollReply, RemoteTaskTransport } from '../../remote/transport.js';
import type { Settlement, StartedToken, TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { isOverdue, settleInTime, timeOut } from '../settle-in-time.js';
import { pollAt, startNow, wakeRunFor } from '../wake.js';
import { whenFree } from '../when-free.js';
import { isWithWorker, timedOut } from '../../decide/worker-start.js';

/** `stale`: the message was for a due instant that is no longer the token's, or another worker has it. `held`: its server is left alone. */
export type PollResult = 'settled' | 'working' | 'failed' | 'stale' | 'held';

/**
 * Reads one remote task and settles its token when the task has ended or the deadline has passed. The claim before the
 * read is the only write of a good read; a worker that reads again within its claim writes nothing.
 */
export async function pollTask(deps: Deps, message: PollMessage): Promise<PollResult> {
  const { runId, waitId } = message;
  const token = await readToken(deps, runId, waitId);
  if (token === undefined) return 'stale';
  if (token.settlement !== undefined) {
    // Consumed settlements have no marker. This one may have lost its wake.
    if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });
    return 'stale';
  }
  if (token.deadlineAtMs !== undefined && deps.clock.nowMs() >= token.deadlineAtMs)
    return settle(deps, token, 'timeout', timedOut(token));
  if (isWithWorker(token, token.attempt)) return passOn(deps, message, token);
  if (!isStarted(token) || token.dueAtMs === undefined || !isFor(message, token.dueAtMs)) return 'stale';

  const { dueAtMs } = token;
  const tried = await whenFree(deps, token.handle.server, 'read', async () => {
    const claimedDueAtMs = message.hop === undefined ? await claim(deps, token, dueAtMs) : message.hop.claimedDueAtMs;
    if (claimedDueAtMs === undefined) return 'stale';
    return handleReply(deps, message, token, claimedDueAtMs, await read(deps, token));
  });
  return tried.kind === 'held' ? putOff(deps, message, token, dueAtMs, tried) : tried.result;
}

/** There is no task yet to be read: a worker is to make the start, or a turn to hear what came of it. */
async function passOn(
  deps: Deps,
  { dueAtMs }: PollMessage,
  { runId, waitId, workerStart, ...token }: TokenRecord,
): Promise<'stale'> {
  if (dueAtMs === undefined || dueAtMs !== token.dueAtMs) return 'stale';
  if (workerStart?.came !== undefined) await wakeRunFor(deps, runId, { waitId });
  else await startNow(deps, { kind: 'start', runId, waitId, dueAtMs });
  return 'stale';
}

/** The read is put off without counting as one that failed. Within a claim the next one is due at its end anyway. */
async function putOff(
  deps: Deps,
  message: PollMessage,
  token: StartedToken,
  seenDueAtMs: EpochMs,
  { untilMs }: Held,
): Promise<'held'> {
  if (message.hop !== undefined) return 'held';
  const { runId, waitId, handle, deadlineAtMs } = token;
  const dueAtMs = Math.min(untilMs, deadlineAtMs);
  const { claimed } = await deps.store.claimPoll(runId, waitId, { seenDueAtMs, dueAtMs });
  if (claimed) await pollAt(deps, { kind: 'poll', runId, waitId, server: handle.server, dueAtMs }, dueAtMs);
  return 'held';
}

/**
 * Undefined for one that is not there, and for one that this deployment cannot read: another delivery would not read it
 * either, its marker stands, and the sweep comes back to it.
 */
async function readToken(deps: Deps, runId: RunId, waitId: WaitId): Promise<TokenRecord | undefined> {
  try {
    return await deps.store.readToken(runId, waitId);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    deps.log.warn('wait skipped: it cannot be read', { runId, waitId, code: error.code, reason: error.message });
    return undefined;
  }
}

async function read(deps: Deps, token: StartedToken): Promise<PollReply> {
  let transport: RemoteTaskTransport;
  try {
    transport = deps.transports.get(token.handle.server);
  } catch (error) {
    // The server is gone from the configuration. A deploy may bring it back; the deadline ends the wait if none does.
    return { kind: 'unreadable', error: toStoredError(error, 'SERVER_NOT_FOUND') };
  }
  return transport.get(token.handle);
}

async function handleReply(
  deps: Deps,
  message: PollMessage,
  token: StartedToken,
  claimedDueAtMs: number,
  reply: PollReply,
): Promise<PollResult> {
  const { runId, waitId } = token;
  const { server } = token.handle;
  const nowMs = deps.clock.nowMs();
  switch (reply.kind) {
    case 'ended':
      return settle(deps, token, 'poll', outcomeOf(reply.end, server, 'run', token.handle.taskId));
    case 'working': {
      deps.log.debug('remote task goes on', { runId, waitId, server, state: reply.state });
      const nextAtMs = nextPollAtMs(token, nowMs, reply.pollAfterMs);
      const hintMs = pollHint(reply.pollAfterMs);
      const newTtlMs = changedTtlMs(token, reply.ttlMs, nowMs);
      if (token.answersQuestions === true && reply.questions !== undefined) {
        const questions = unseenQuestions(token.questions, reply.questions);
        const recorded = (token.questions?.recorded ?? 0) + 1;
        // Each time there was a new one, and a call takes no more than that.
        if (questions !== undefined && recorded <= questionsMax) {
          const asked = { claimedDueAtMs, dueAtMs: nextAtMs, questions: { list: questions }, recorded };
          if (await deps.store.recordQuestions(runId, waitId, asked)) {
            await wakeRunFor(deps, runId, { waitId });
            await pollAt(deps, { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs }, nextAtMs);
          }
          return 'working';
        }
        if (changedQuestions(token.questions, reply.questions).length > 0)
          deps.log.warn('remote question changed: the first form of it stands', { runId, waitId, server });
        // They are on the item, and no turn has seen them: its wake was lost.
        if ((token.questions?.recorded ?? 0) > (token.questions?.taken ?? 0)) await wakeRunFor(deps, runId, { waitId });
      }
      // The claim covers what the server asked for last time. If that has changed, or reads had failed, the item must say so.
      if (token.pollErrors > 0 || hintMs !== (token.pollHintMs ?? 0) || newTtlMs !== undefined) {
        const recorded = await deps.store.recordPoll(runId, waitId, {
          claimedDueAtMs,
          dueAtMs: nextAtMs,
          pollErrors: 0,
          pollHintMs: hintMs,
          ...defined({ ttlMs: newTtlMs }),
        });
        if (recorded) await pollAt(deps, { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs }, nextAtMs);
        return 'working';
      }
      const hop = (message.hop?.count ?? 0) + 1;
      // Only if the read at the end of the claim will not come sooner after this one than the server allows.
      if (nextAtMs + hintMs < claimedDueAtMs && hop <= pollHopsMax) {
        await pollAt(
          deps,
          { kind: 'poll', runId, waitId, server, dueAtMs: claimedDueAtMs, hop: { count: hop, claimedDueAtMs } },
          nextAtMs,
        );
      }
      return 'working';
    }
    case 'missing':
    case 'unreadable': {
      const sighted = sightedIn(token, reply, nowMs);
      if (sighted.kind === 'over') return settle(deps, token, 'poll', { kind: 'failed', error: sighted.error });
      const pollErrors = token.pollErrors + 1;
      const nextAtMs =
        reply.kind === 'missing'
          ? nextLookAtMs(token, nowMs, pollErrors)
          : nextPollAfterErrorMs(token, nowMs, pollErrors, reply.retryAfterMs);
      deps.log.warn('remote task not readable', {
        runId,
        waitId,
        server,
        attempt: pollErrors,
        code: reply.error.code,
        reason: reply.error.message,
      });
      const { sightings } = sighted;
      const recorded = await deps.store.recordPoll(runId, waitId, {
        claimedDueAtMs,
        dueAtMs: nextAtMs,
        pollErrors,
        ...defined({ sightings }),
      });
      if (recorded) await pollAt(deps, { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs }, nextAtMs);
      return 'failed';
    }
  }
}

/** What a reply without a state says of the task. A refused credential, a server in trouble, a foreign reply: nothing. */
function sightedIn(
  token: StartedToken,
  reply: Extract<PollReply, { kind: 'missing' | 'unreadable' }>,
  nowMs: EpochMs,
): Sighted {
  if (reply.kind === 'missing') return sightMissing(token, reply.error, nowMs);
  return reply.error.code === 'PAYLOAD_TOO_LARGE' ? sightUnfit(token, reply.error, nowMs) : { kind: 'open' };
}

/**
 * For how long the server now keeps the task; undefined where that is what the item says. A task that is found after its
 * time is kept for as long as it is: then the time that its server names means nothing.
 */
function changedTtlMs(token: StartedToken, saidMs: number | null | undefined, nowMs: EpochMs): number | undefined {
  const forEverMs = Number.MAX_SAFE_INTEGER;
  const knownMs = token.ttlMs ?? token.handle.ttlMs ?? forEverMs;
  const promisedMs = saidMs === undefined ? knownMs : (saidMs ?? forEverMs);
  const isOutlived = nowMs - (token.startedAtMs ?? token.createdAtMs) >= promisedMs;
  const ttlMs = isOutlived ? forEverMs : promisedMs;
  return ttlMs === knownMs ? undefined : ttlMs;
}

function isStarted(token: TokenRecord): token is StartedToken {
  return token.handle !== undefined && token.deadlineAtMs !== undefined;
}

/** A poke is for now. A message of the schedule is for the instant it was sent for; a hop goes on while its claim stands. */
function isFor(message: PollMessage, dueAtMs: number): boolean {
  if (message.hop !== undefined) return message.hop.claimedDueAtMs === dueAtMs;
  return message.dueAtMs === undefined || message.dueAtMs === dueAtMs;
}

async function claim(deps: Deps, token: StartedToken, seenDueAtMs: number): Promise<number | undefined> {
  const { runId, waitId } = token;
  const dueAtMs = claimUntilMs(token, deps.clock.nowMs());
  const result = await deps.store.claimPoll(runId, waitId, { seenDueAtMs, dueAtMs });
  if (result.claimed) return dueAtMs;
  if (result.token?.settlement !== undefined) await wakeRunFor(deps, runId, { waitId });
  return undefined;
}

async function settle(
  deps: Deps,
  token: TokenRecord,
  by: Settlement['by'],
  outcome: TokenOutcome,
): Promise<PollResult> {
  const { runId, waitId } = token;
  const settlement: Settlement = { writerId: deps.random.hex(16), atMs: deps.clock.nowMs(), by, outcome };
  // A heartbeat may have moved the deadline since the token was read.
  const { settled, timedOut } =
    by === 'timeout' && isOverdue(token, settlement.atMs)
      ? { settled: false, ...(await timeOut(deps, token, settlement.atMs)) }
      : await settleInTime(deps, runId, waitId, settlement);
  if (!settled && !timedOut) return 'stale';
  await wakeRunFor(deps, runId, { waitId });
  return 'settled';
}
