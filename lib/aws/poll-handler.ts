import type { SQSRecord } from 'aws-lambda';
import pLimit, { type LimitFunction } from 'p-limit';
import { pollReserveMs } from '../base/limits.js';
import type { Deps } from '../operations/deps.js';
import { handleWork } from '../operations/sweep/handle-work.js';
import type { GetDeps } from './get-deps.js';
import { measured } from './measured.js';
import { parseWorkMessage } from './messages.js';
import type { InvocationContext, QueueHandler } from './turn-handler.js';

const pollsPerServer = 8;

/**
 * Returns the handler of the work queue: it reads remote tasks, at most 8 at a time per server, and passes wakes on. A
 * server that does not answer delays only its own tasks. With too little time left for a read none is started; those
 * messages are received again.
 */
export function pollHandler(getDeps: GetDeps): QueueHandler {
  // Kept between invocations, which can overlap in one process.
  const limits = new Map<string, LimitFunction>();
  const limitOf = (server: string): LimitFunction => {
    const limit = limits.get(server) ?? pLimit(pollsPerServer);
    limits.set(server, limit);
    return limit;
  };
  return async (event, context) => {
    const deps = await getDeps();
    const work = () => Promise.all(event.Records.map((record) => doWork(deps, record, context, limitOf)));
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
  limitOf: (server: string) => LimitFunction,
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
    // Shares one limit among messages of older versions, which name no server.
    return await limitOf(message.server ?? '')(async () => {
      if (context.getRemainingTimeInMillis() < pollReserveMs) return false;
      await handleWork(deps, message);
      return true;
    });
  } catch (error) {
    deps.log.error('work failed', { kind: message.kind, runId: message.runId, error });
    deps.metrics?.put('HandlerFailures', 1);
    return false;
  }
}
