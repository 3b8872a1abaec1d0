import { withoutTaskId } from '../../base/log.js';
import { defined } from '../../base/defined.js';
import { queueDelayMaxMs, questionsMax } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { outcomeOf } from '../../decide/outcome.js';
import {
  changedTtlMs,
  claimUntilMs,
  lookAgainAtMs,
  nextLookAtMs,
  nextPollAfterErrorMs,
  nextPollAtMs,
  pollHint,
} from '../../decide/poll.js';
import { changedQuestions, unseenQuestions } from '../../decide/questions.js';
import { changedTrail, isFollowed, isWorthWriting, stateOfEnd } from '../../decide/task-trail.js';
import { afterMissing, afterUnfit, type AfterBadRead } from '../../decide/bad-read.js';
import type { Settlement, StartedToken, TokenRecord } from '../../history/records.js';
import type { TaskTrail } from '../../history/task-trail.js';
import type { PollMessage } from '../../queue/queue.js';
import type { PollReply } from '../../remote/transport.js';
import type { Deps } from '../deps.js';
import { isTaskStale } from '../stale-task.js';
import { isOverdue, newSettlement, settleInTime, timeOut } from '../settle-in-time.js';
import { pollAhead, pollAt, wakeRunFor } from '../wake.js';

/** Most polls in one chain of messages: Lambda stops a loop through SQS after about 16 invocations. */
export const pollHopsMax = 10;

/** A read of a remote task under a claim. */
export interface ClaimedRead {
  readonly deps: Deps;
  readonly message: PollMessage;
  readonly token: StartedToken;
  readonly claimedDueAtMs: EpochMs;
  /** Whether the claim ends when the rate of the server allows the next read: none comes before. */
  readonly isInLine?: boolean;
}

/** Reply of a running task; with a `trail` if it shows a change. */
type Working = Extract<PollReply, { readonly kind: 'working' }> & Pick<TokenRecord, 'trail'>;
type FailedRead = Extract<PollReply, { readonly kind: 'missing' | 'unreadable' }>;

/** Settles the wait if the task has ended; otherwise records what the read has taught and schedules the next. */
export async function takePollReply(
  read: ClaimedRead,
  reply: PollReply,
): Promise<'settled' | 'working' | 'failed' | 'stale'> {
  const { deps, token } = read;
  switch (reply.kind) {
    case 'ended': {
      const outcome = outcomeOf(reply.end, token.handle.server, 'run', token.handle.taskId);
      const trail = changedTrail(token.trail, { state: stateOfEnd(reply.end) }, deps.clock.nowMs());
      const caller = read.message.by;
      const settled = await settlePolled(deps, token, { by: 'poll', outcome, ...defined({ trail, caller }) });
      if (settled === 'settled') await forgetPush(deps, token);
      return settled;
    }
    case 'working': {
      const nowMs = deps.clock.nowMs();
      const { runId, waitId, handle } = token;
      deps.log.debug('remote task goes on', { runId, waitId, server: handle.server, state: reply.state });
      const trail = changedTrail(token.trail, reply, nowMs);
      if (trail === undefined && isTaskStale(deps, token)) deps.metrics?.put('StaleTasks', 1);
      const isRecorded = await takeQuestions(read, { ...reply, ...defined({ trail }) }, nowMs);
      if (!isRecorded) await readOn(read, { ...reply, ...defined({ trail }) }, nowMs);
      return 'working';
    }
    case 'missing':
    case 'unreadable':
      return recordFailedRead(read, reply, deps.clock.nowMs());
  }
}

/** Has the push registration of an ended task deleted, if there is one: one request, whose failure does no harm. */
async function forgetPush(deps: Deps, { runId, handle }: StartedToken): Promise<void> {
  if (handle.pushConfigId === undefined) return;
  try {
    await deps.transports.get(handle.server).forgetPush?.(handle);
  } catch (error) {
    deps.log.warn('push registration not deleted', { runId, server: handle.server, error });
  }
}

/** Settles the wait of a remote task and wakes its run. `stale`: it was settled before. */
export async function settlePolled(
  deps: Deps,
  token: TokenRecord,
  { trail, ...end }: Pick<Settlement, 'by' | 'outcome' | 'caller'> & Pick<TokenRecord, 'trail'>,
): Promise<'settled' | 'stale'> {
  const { runId, waitId } = token;
  const settlement = newSettlement(deps, end);
  // A heartbeat may have moved the deadline since the token was read.
  const { settled, timedOut } =
    end.by === 'timeout' && isOverdue(token, settlement.atMs)
      ? { settled: false, ...(await timeOut(deps, token, settlement.atMs)) }
      : await settleInTime(deps, token, { ...settlement, ...defined({ trail }) });
  if (!settled && !timedOut) return 'stale';
  await wakeRunFor(deps, runId, { waitId });
  return 'settled';
}

/** Records new questions of the server. Returns false if there is nothing to record. */
async function takeQuestions(
  { deps, token, claimedDueAtMs }: ClaimedRead,
  reply: Working,
  nowMs: EpochMs,
): Promise<boolean> {
  if (token.answersQuestions !== true || reply.questions === undefined) return false;
  const { runId, waitId } = token;
  const { server } = token.handle;
  const questions = unseenQuestions(token.questions, reply.questions);
  const recorded = (token.questions?.recorded ?? 0) + 1;
  // Each record holds a new question, and a call takes no more than `questionsMax`.
  if (questions !== undefined && recorded <= questionsMax) {
    const nextAtMs = nextPollAtMs(token, nowMs, reply.pollAfterMs);
    const asked = {
      ...{ claimedDueAtMs, dueAtMs: nextAtMs, questions: { list: questions }, recorded },
      ...defined({ trail: reply.trail }),
    };
    if (await deps.store.questions.record(runId, waitId, asked)) {
      await wakeRunFor(deps, runId, { waitId });
      await pollAt(deps, { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs }, nextAtMs);
    }
    return true;
  }
  if (changedQuestions(token.questions, reply.questions).length > 0)
    deps.log.warn('a remote question changed; its first form stays', { runId, waitId, server });
  // The questions are on the item, but no turn has seen them: the wake was lost.
  if ((token.questions?.recorded ?? 0) > (token.questions?.taken ?? 0)) await wakeRunFor(deps, runId, { waitId });
  return false;
}

/** Schedules the next read of a running task, and records what this one has taught. */
async function readOn(read: ClaimedRead, reply: Working, nowMs: EpochMs): Promise<void> {
  const { deps, message, token, claimedDueAtMs, isInLine } = read;
  const { runId, waitId } = token;
  const { server } = token.handle;
  const hops = message.hop?.count ?? 0;
  const wantedAtMs = nextPollAtMs(token, nowMs, reply.pollAfterMs);
  const usualAtMs = isInLine === true ? Math.max(wantedAtMs, claimedDueAtMs) : wantedAtMs;
  const nextAtMs = message.saidEnded === true ? Math.min(usualAtMs, lookAgainAtMs(nowMs, hops)) : usualAtMs;
  const soon = { kind: 'poll', runId, waitId, server, ...defined({ saidEnded: message.saidEnded }) } as const;
  const hintMs = pollHint(reply.pollAfterMs);
  const newTtlMs = changedTtlMs(token, reply.ttlMs, nowMs);
  // The claim used the last known poll hint. If that has changed, or reads had failed, the item must record it.
  if (token.pollErrors > 0 || hintMs !== (token.pollHintMs ?? 0) || newTtlMs !== undefined) {
    const recorded = await deps.store.polls.record(runId, waitId, {
      claimedDueAtMs,
      dueAtMs: nextAtMs,
      pollErrors: 0,
      pollHintMs: hintMs,
      ...defined({ ttlMs: newTtlMs, trail: reply.trail }),
    });
    if (!recorded) return;
    await pollAt(deps, { ...soon, dueAtMs: nextAtMs }, nextAtMs);
    await tellOfChange(read, reply.trail);
    return;
  }
  if (reply.trail !== undefined && isWorthWriting(token.trail, reply.trail, isFollowed(token))) {
    if (await recordChange(read, reply.trail, nextAtMs)) await tellOfChange(read, reply.trail);
    return;
  }
  await tellOfChange(read, token.trail);
  // Only if the read at the end of the claim will not follow this one sooner than the server allows.
  if (nextAtMs + hintMs < claimedDueAtMs && hops < pollHopsMax) {
    const hop = { count: hops + 1, claimedDueAtMs };
    await pollAt(deps, { ...soon, dueAtMs: claimedDueAtMs, hop }, nextAtMs);
  }
}

/**
 * Records a change that was seen, in the write that claims the next read: it takes the place of the claim that this
 * read would otherwise have made. Returns false if another worker has the task by now, or its wait has ended.
 */
async function recordChange(
  { deps, message, token, claimedDueAtMs }: ClaimedRead,
  trail: TaskTrail,
  nextAtMs: EpochMs,
): Promise<boolean> {
  const { runId, waitId } = token;
  const { server } = token.handle;
  const count = (message.hop?.count ?? 0) + 1;
  const isAhead = count <= pollHopsMax && nextAtMs - deps.clock.nowMs() <= queueDelayMaxMs;
  const dueAtMs = isAhead ? claimUntilMs(token, nextAtMs) : nextAtMs;
  const recorded = await deps.store.polls.record(runId, waitId, { claimedDueAtMs, dueAtMs, pollErrors: 0, trail });
  if (!recorded) return false;
  const { saidEnded } = message;
  const next = { kind: 'poll', runId, waitId, server, dueAtMs, ...defined({ saidEnded }) } as const;
  if (isAhead) await pollAhead(deps, { ...next, hop: { count, claimedDueAtMs: dueAtMs, isAhead } }, nextAtMs);
  else await pollAt(deps, next, nextAtMs);
  return true;
}

/** Wakes the run for changes that the handler of the call is to hear of: new ones, or those whose wake was lost. */
async function tellOfChange({ deps, token }: ClaimedRead, trail: TaskTrail | undefined): Promise<void> {
  if (trail === undefined || !isFollowed(token) || trail.count <= (token.progressTaken ?? 0)) return;
  const { runId, waitId } = token;
  await wakeRunFor(deps, runId, { waitId });
}

/** Counts a read that did not return the task's state, and settles the wait after too many. */
async function recordFailedRead(
  { deps, message: { saidEnded }, token, claimedDueAtMs }: ClaimedRead,
  reply: FailedRead,
  nowMs: EpochMs,
): Promise<'settled' | 'failed' | 'stale'> {
  const { runId, waitId } = token;
  const { server } = token.handle;
  const sighted = afterBadRead(token, reply, nowMs);
  if (sighted.kind === 'over')
    return settlePolled(deps, token, { by: 'poll', outcome: { kind: 'failed', error: sighted.error } });
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
    reason: withoutTaskId(reply.error.message, token.handle.taskId),
  });
  const { sightings } = sighted;
  const recorded = await deps.store.polls.record(runId, waitId, {
    claimedDueAtMs,
    dueAtMs: nextAtMs,
    pollErrors,
    ...defined({ sightings }),
  });
  const next: PollMessage = { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs, ...defined({ saidEnded }) };
  if (recorded) await pollAt(deps, next, nextAtMs);
  return 'failed';
}

/** Decides what a reply without a state means. A refused credential, a failing server, a foreign reply: nothing. */
function afterBadRead(token: StartedToken, reply: FailedRead, nowMs: EpochMs): AfterBadRead {
  if (reply.kind === 'missing') return afterMissing(token, reply.error, nowMs);
  return reply.error.code === 'PAYLOAD_TOO_LARGE' ? afterUnfit(token, reply.error, nowMs) : { kind: 'open' };
}
