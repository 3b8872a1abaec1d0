import { toStoredError } from '../base/errors.js';
import { pollHopsMax } from '../base/limits.js';
import { claimUntilMs, nextPollAfterErrorMs, nextPollAtMs, pollHint } from '../decide/poll.js';
import { outcomeOf } from '../decide/outcome.js';
import type { TokenOutcome } from '../history/settlement.js';
import type { PollMessage } from '../queue/queue.js';
import type { PollReply, RemoteTaskTransport } from '../remote/transport.js';
import type { Settlement, StartedToken, TokenRecord } from '../store/records.js';
import type { Deps } from './deps.js';
import { pollAt, wakeRun } from './wake.js';

/** `stale`: the message was for a due instant that is no longer the token's, or another worker has it. */
export type PollResult = 'settled' | 'working' | 'failed' | 'stale';

/**
 * Reads one remote task and settles its token when the task has ended or the deadline has passed. The claim before the
 * read is the only write of a good read; a worker that reads again within its claim writes nothing.
 */
export async function pollTask(deps: Deps, message: PollMessage): Promise<PollResult> {
  const { runId, waitId } = message;
  const token = await deps.store.readToken(runId, waitId);
  if (token === undefined) return 'stale';
  if (token.settlement !== undefined) {
    // Consumed settlements have no marker. This one may have lost its wake.
    if (token.dueAtMs !== undefined) await wakeRun(deps, runId);
    return 'stale';
  }
  if (token.deadlineAtMs !== undefined && deps.clock.nowMs() >= token.deadlineAtMs)
    return settle(deps, token, 'timeout', { kind: 'timed_out' });
  if (!isStarted(token) || token.dueAtMs === undefined || !isFor(message, token.dueAtMs)) return 'stale';

  const claimedDueAtMs =
    message.hop === undefined ? await claim(deps, token, token.dueAtMs) : message.hop.claimedDueAtMs;
  if (claimedDueAtMs === undefined) return 'stale';

  return handleReply(deps, message, token, claimedDueAtMs, await read(deps, token));
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
      return settle(deps, token, 'poll', outcomeOf(reply.end, server));
    case 'working': {
      deps.log.debug('remote task goes on', { runId, waitId, server, state: reply.state });
      const nextAtMs = nextPollAtMs(token, nowMs, reply.pollAfterMs);
      const hintMs = pollHint(reply.pollAfterMs);
      // The claim covers what the server asked for last time. If that has changed, or reads had failed, the item must say so.
      if (token.pollErrors > 0 || hintMs !== (token.pollHintMs ?? 0)) {
        const recorded = await deps.store.recordPoll(runId, waitId, {
          claimedDueAtMs,
          dueAtMs: nextAtMs,
          pollErrors: 0,
          pollHintMs: hintMs,
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
      const pollErrors = token.pollErrors + 1;
      const nextAtMs = nextPollAfterErrorMs(
        token,
        nowMs,
        pollErrors,
        reply.kind === 'missing' ? undefined : reply.retryAfterMs,
      );
      deps.log.warn('remote task not readable', {
        runId,
        waitId,
        server,
        attempt: pollErrors,
        code: reply.error.code,
        reason: reply.error.message,
      });
      const recorded = await deps.store.recordPoll(runId, waitId, { claimedDueAtMs, dueAtMs: nextAtMs, pollErrors });
      if (recorded) await pollAt(deps, { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs }, nextAtMs);
      return 'failed';
    }
  }
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
  if (result.token?.settlement !== undefined) await wakeRun(deps, runId);
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
  const { deadlineAtMs } = token;
  const options = by === 'timeout' && deadlineAtMs !== undefined ? { onlyIfDeadlineIs: deadlineAtMs } : {};
  const result = await deps.store.settle(runId, waitId, settlement, options);
  if (!result.settled) return 'stale';
  await wakeRun(deps, runId);
  return 'settled';
}
