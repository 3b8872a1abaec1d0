import type { SQSRecord } from 'aws-lambda';
import pLimit, { type LimitFunction } from 'p-limit';
import { pollReserveMs } from '../base/limits.js';
import type { Deps } from '../operations/deps.js';
import { handleWork } from '../operations/sweep/handle-work.js';
import type { PollMessage } from '../queue/queue.js';
import type { GetDeps } from './get-deps.js';
import { measured } from './measured.js';
import { parseWorkMessage } from './messages.js';
import { SlowServers } from './slow-servers.js';
import type { InvocationContext, QueueHandler } from './turn-handler.js';

const pollsPerServer = 8;

/** State of the handler in one process; kept between invocations, which can overlap. */
interface Kept {
  readonly limitOf: (server: string) => LimitFunction;
  readonly slow: SlowServers;
}

/**
 * Returns the handler of the work queue and the slow queue: it reads remote tasks, at most 8 at a time per server, and
 * passes wakes on, and sends pushes. What is for a server or receiver that has answered slowly is passed on to the slow
 * queue: it has invocations of its own, so slow answers do not occupy those that the others need. With too little time left
 * for a read or a push none is started; those messages are received again.
 */
export function pollHandler(getDeps: GetDeps): QueueHandler {
  const limits = new Map<string, LimitFunction>();
  const limitOf = (server: string): LimitFunction => {
    const limit = limits.get(server) ?? pLimit(pollsPerServer);
    limits.set(server, limit);
    return limit;
  };
  const kept: Kept = { limitOf, slow: new SlowServers() };
  return async (event, context) => {
    const deps = await getDeps();
    const work = () => Promise.all(event.Records.map((record) => doWork(deps, record, context, kept)));
    const done = await measured(deps, work);
    return {
      batchItemFailures: event.Records.filter((_, at) => done[at] !== true).map(({ messageId }) => ({
        itemIdentifier: messageId,
      })),
    };
  };
}

async function doWork(
  deps: Deps,
  record: SQSRecord,
  context: InvocationContext,
  { limitOf, slow }: Kept,
): Promise<boolean> {
  const message = parseWorkMessage(record.body);
  if (message === undefined) {
    deps.log.error('malformed work message', { messageId: record.messageId });
    deps.metrics?.put('HandlerFailures', 1);
    return false;
  }
  try {
    if (message.kind === 'wake') {
      await handleWork(deps, message);
      return true;
    }
    if (message.kind === 'push') {
      if (context.getRemainingTimeInMillis() < pollReserveMs) return false;
      await handleWork(deps, message, slow);
      return true;
    }
    // Shares one limit among messages of older versions, which name no server.
    return await limitOf(message.server ?? '')(async () => {
      if (context.getRemainingTimeInMillis() < pollReserveMs) return false;
      await readOrPassOn(deps, message, slow);
      return true;
    });
  } catch (error) {
    deps.log.error('work failed', { kind: message.kind, runId: message.runId, error });
    deps.metrics?.put('HandlerFailures', 1);
    return false;
  }
}

async function readOrPassOn(deps: Deps, message: PollMessage, slow: SlowServers): Promise<void> {
  const { server = '', isSlow } = message;
  const nowMs = deps.clock.nowMs();
  // Decided here, after the wait for a place, so that a batch stays no longer than its first slow reads.
  if (isSlow !== true && slow.isSlow(server, nowMs)) {
    await deps.queues.sendWork({ ...message, isSlow: true }, 0);
    return;
  }
  await handleWork(deps, message);
  slow.note(server, { tookMs: deps.clock.nowMs() - nowMs, nowMs: deps.clock.nowMs() });
}
