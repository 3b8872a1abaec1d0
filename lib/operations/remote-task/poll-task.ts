import { toStoredError } from '../../base/errors.js';
import type { EpochMs } from '../../base/time.js';
import { claimUntilMs } from '../../decide/poll.js';
import { isWithWorker, timedOut } from '../../decide/worker-start.js';
import type { StartedToken, TokenRecord } from '../../history/records.js';
import type { PollMessage } from '../../queue/queue.js';
import type { Held, PollReply, RemoteTaskTransport } from '../../remote/transport.js';
import { whenAdmitted } from '../admission.js';
import type { Deps } from '../deps.js';
import { skipUnreadable } from '../skip-unreadable.js';
import { pollAt, startNow, wakeRunFor } from '../wake.js';
import { settlePolled, takePollReply } from './poll-reply.js';

/** `stale`: the message was for a due instant that is no longer the token's, or another worker has it. `held`: its server is left alone. */
export type PollResult = 'settled' | 'working' | 'failed' | 'stale' | 'held';

/**
 * Reads one remote task and settles its token when the task has ended or the deadline has passed. The claim before the
 * read is the only write of a good read; a worker that reads again within its claim writes nothing.
 */
export async function pollTask(deps: Deps, message: PollMessage): Promise<PollResult> {
  const { runId, waitId } = message;
  const token = await skipUnreadable(deps, 'wait', { runId, waitId }, () => deps.store.tokens.read(runId, waitId));
  if (token === undefined) return 'stale';
  if (token.settlement !== undefined) {
    // Consumed settlements have no marker. This one may have lost its wake.
    if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });
    return 'stale';
  }
  if (token.deadlineAtMs !== undefined && deps.clock.nowMs() >= token.deadlineAtMs)
    return settlePolled(deps, token, { by: 'timeout', outcome: timedOut(token) });
  if (isWithWorker(token, token.attempt)) return passOn(deps, message, token);
  if (!isStarted(token) || token.dueAtMs === undefined || !isFor(message, token.dueAtMs)) return 'stale';

  const { dueAtMs } = token;
  const tried = await whenAdmitted(deps, { server: token.handle.server, purpose: 'read' }, async () => {
    const claimedDueAtMs = message.hop === undefined ? await claim(deps, token, dueAtMs) : message.hop.claimedDueAtMs;
    if (claimedDueAtMs === undefined) return 'stale';
    return takePollReply({ deps, message, token, claimedDueAtMs }, await read(deps, token));
  });
  if (tried.kind === 'done') return tried.result;
  // Within a claim the next read is due at its end anyway.
  if (message.hop === undefined) await putOff(deps, token, dueAtMs, tried);
  return 'held';
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

/** The read is put off without counting as one that failed. */
async function putOff(deps: Deps, token: StartedToken, seenDueAtMs: EpochMs, { untilMs }: Held): Promise<void> {
  const { runId, waitId, handle, deadlineAtMs } = token;
  const dueAtMs = Math.min(untilMs, deadlineAtMs);
  const { claimed } = await deps.store.polls.claim(runId, waitId, { seenDueAtMs, dueAtMs });
  if (claimed) await pollAt(deps, { kind: 'poll', runId, waitId, server: handle.server, dueAtMs }, dueAtMs);
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
  const result = await deps.store.polls.claim(runId, waitId, { seenDueAtMs, dueAtMs });
  if (result.claimed) return dueAtMs;
  if (result.token?.settlement !== undefined) await wakeRunFor(deps, runId, { waitId });
  return undefined;
}
