import { defined } from '../../base/defined.js';
import { toStoredError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import { asPolled, claimUntilMs, nextPollOfRestingMs } from '../../decide/poll.js';
import { isWithWorker, timedOut } from '../../decide/worker-start.js';
import type { StartedToken, TokenRecord } from '../../history/records.js';
import type { PollMessage } from '../../queue/queue.js';
import type { Held, PollReply, RemoteTaskTransport } from '../../remote/transport.js';
import { whenAdmitted, whenRead } from '../admission.js';
import { loadTellPeople } from '../people/load-tell-people.js';
import type { Deps } from '../deps.js';
import { skipUnreadable } from '../skip-unreadable.js';
import { pollAt, startNow, wakeRunFor } from '../wake.js';
import { type ClaimedRead, settlePolled, takePollReply } from './poll-reply.js';

/** Delay of a poke that is sent again. */
const pokeAgainMs = 1_000;

type Claim = Pick<ClaimedRead, 'claimedDueAtMs' | 'isInLine'>;

/**
 * `stale`: the message is for an earlier due instant of the token, or another worker has it. `held`: its server must
 * not be called now.
 */
export type PollResult = 'settled' | 'working' | 'failed' | 'stale' | 'held';

/**
 * Reads a remote task and settles its token if the task has ended or the deadline has passed. The claim before the read
 * is the only write of a good read; a worker that reads again within its claim writes nothing. For a question, sends the
 * notices that are due instead.
 */
export async function pollTask(deps: Deps, message: PollMessage): Promise<PollResult> {
  const { runId, waitId } = message;
  const token = await skipUnreadable(deps, 'wait', { runId, waitId }, () => deps.store.tokens.read(runId, waitId));
  if (token === undefined) return 'stale';
  if (token.settlement !== undefined) {
    // Consumed settlements have no marker. The wake for this one may have been lost.
    if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });
    return 'stale';
  }
  if (token.deadlineAtMs !== undefined && deps.clock.nowMs() >= token.deadlineAtMs)
    return settlePolled(deps, token, { by: 'timeout', outcome: timedOut(token) });
  if (token.notices !== undefined) {
    await (await loadTellPeople()).tellPeople(deps, message, token);
    return 'working';
  }
  if (isWithWorker(token, token.attempt)) return passOn(deps, message, token);
  if (!isStarted(token) || token.dueAtMs === undefined || !isFor(message, token.dueAtMs)) return 'stale';

  const { dueAtMs } = token;
  const polled = asPolled(token, message.saidEnded === true);
  const { hop } = message;
  // Within a claim the next read is due at its end anyway, which is soon unless the claim was made ahead.
  const isExtra = hop !== undefined && hop.isAhead !== true;
  const call = { server: token.handle.server, purpose: 'read', isExtra } as const;
  const tried = await whenAdmitted(deps, call, async () => {
    const claimed = hop ?? (await claim(deps, polled, dueAtMs));
    if (claimed === 'settled') return 'stale';
    if (claimed === 'moved') return pokeAgain(deps, message);
    const claimedRead: ClaimedRead = { deps, message, token: polled, ...claimed };
    const startMs = deps.clock.nowMs();
    const reply = await read(deps, token);
    recordPoll(claimedRead, reply, startMs);
    return takePollReply(claimedRead, reply);
  });
  if (tried.kind === 'done') return tried.result;
  if (!isExtra && !(await putOff(deps, message, { ...token, dueAtMs }, tried))) await pokeAgain(deps, message);
  return 'held';
}

/**
 * Sends a poke again whose claim was lost. What moved the due instant may have read the task before the poke's reason,
 * such as the record of a read; a scheduled read was superseded.
 */
async function pokeAgain(deps: Deps, message: PollMessage): Promise<'stale'> {
  if (message.dueAtMs === undefined) await pollAt(deps, message, deps.clock.nowMs() + pokeAgainMs);
  return 'stale';
}

/**
 * Passes on a message for a start with no task yet: to a worker that makes it, or to a turn if its result is recorded.
 */
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

/** Puts off the read without counting it as failed. Returns false if the due instant has moved meanwhile. */
async function putOff(
  deps: Deps,
  { saidEnded, traceparent, dueAtMs: wantedAtMs }: PollMessage,
  token: StartedToken & { readonly dueAtMs: EpochMs },
  { untilMs, isResting }: Held,
): Promise<boolean> {
  const { runId, waitId, handle, deadlineAtMs, dueAtMs: seenDueAtMs } = token;
  // What asked for a poke does not wait for an interval.
  const isPoke = wantedAtMs === undefined || saidEnded === true;
  const freeAtMs = isResting === true && !isPoke ? nextPollOfRestingMs(token, deps.clock.nowMs(), untilMs) : untilMs;
  const dueAtMs = Math.min(freeAtMs, deadlineAtMs);
  const { claimed } = await deps.store.polls.claim(runId, waitId, { seenDueAtMs, dueAtMs });
  const next: PollMessage = { kind: 'poll', runId, waitId, server: handle.server, dueAtMs };
  if (claimed) await pollAt(deps, { ...next, ...defined({ saidEnded, traceparent }) }, dueAtMs);
  return claimed;
}

async function read(deps: Deps, token: StartedToken): Promise<PollReply> {
  let transport: RemoteTaskTransport;
  try {
    transport = deps.transports.get(token.handle.server);
  } catch (error) {
    // The server is no longer configured. A deployment may bring it back; otherwise the deadline ends the wait.
    return { kind: 'unreadable', error: toStoredError(error, 'SERVER_NOT_FOUND') };
  }
  return transport.get(token.handle);
}

function recordPoll({ deps, message, token, claimedDueAtMs }: ClaimedRead, reply: PollReply, startMs: EpochMs): void {
  const { runId, traceparent, waitId, attempt, handle } = token;
  deps.spans?.record({
    kind: 'poll',
    run: { runId, traceparent },
    ...{ waitId, attempt, server: handle.server, result: reply.kind, claimedDueAtMs, startMs },
    hop: message.hop?.count ?? 0,
    traceparent: message.traceparent,
    endMs: deps.clock.nowMs(),
    error: 'error' in reply ? reply.error.code : undefined,
  });
}

function isStarted(token: TokenRecord): token is StartedToken {
  return token.handle !== undefined && token.deadlineAtMs !== undefined;
}

/** Returns true for a valid message: a poke always, a scheduled one for its instant, a hop while its claim stands. */
function isFor(message: PollMessage, dueAtMs: number): boolean {
  if (message.hop !== undefined) return message.hop.claimedDueAtMs === dueAtMs;
  return message.dueAtMs === undefined || message.dueAtMs === dueAtMs;
}

/** Claims a task for a read, until its next one: later than usual if many tasks of its server wait to be read. */
async function claim(deps: Deps, token: StartedToken, seenDueAtMs: number): Promise<Claim | 'settled' | 'moved'> {
  const { runId, waitId, handle, deadlineAtMs } = token;
  const usualAtMs = claimUntilMs(token, deps.clock.nowMs());
  const placeAtMs = await whenRead(deps, handle.server, usualAtMs);
  const claimedDueAtMs = Math.min(placeAtMs, deadlineAtMs);
  const result = await deps.store.polls.claim(runId, waitId, { seenDueAtMs, dueAtMs: claimedDueAtMs });
  if (result.claimed) return { claimedDueAtMs, isInLine: placeAtMs > usualAtMs };
  if (result.token?.settlement === undefined) return 'moved';
  await wakeRunFor(deps, runId, { waitId });
  return 'settled';
}
