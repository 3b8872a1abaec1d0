import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { Deps } from '../operations/deps.js';
import { runTurn } from '../operations/turn/run-turn.js';
import { oneTurnFor } from '../queue/one-turn.js';
import type { GetDeps } from './get-deps.js';
import { measured } from './measured.js';
import { parseTurnMessage } from './messages.js';

export type InvocationContext = Pick<Context, 'getRemainingTimeInMillis'>;
export type QueueHandler = (event: SQSEvent, context: InvocationContext) => Promise<SQSBatchResponse>;

/**
 * Returns the handler of the FIFO queue: it runs the turns that a batch asks for. Messages of one group ask for turns
 * of one run, and all were sent before this turn begins, so one turn serves all of them.
 */
export function turnHandler(getDeps: GetDeps): QueueHandler {
  return async (event, context) => {
    const deps = await getDeps();
    const groups = [...groupRecords(event.Records).values()];
    const failed = await measured(deps, () => Promise.all(groups.map((records) => turnFor(deps, records, context))));
    return { batchItemFailures: failed.flat().map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

function groupRecords(records: readonly SQSRecord[]): Map<string, SQSRecord[]> {
  const groups = new Map<string, SQSRecord[]>();
  for (const record of records) {
    const group = record.attributes.MessageGroupId ?? record.messageId;
    groups.set(group, [...(groups.get(group) ?? []), record]);
  }
  return groups;
}

/** Returns the records that must be received again. */
async function turnFor(
  deps: Deps,
  records: readonly SQSRecord[],
  context: InvocationContext,
): Promise<readonly SQSRecord[]> {
  const messages = records.map((record) => parseTurnMessage(record.body));
  const malformed = records.filter((_, at) => messages[at] === undefined);
  for (const { messageId } of malformed) {
    deps.log.error('malformed turn message', { messageId });
    deps.metrics?.put('HandlerFailures', 1);
  }
  // Fails the whole group: a FIFO queue must not complete a later message before an earlier one that failed.
  if (malformed.length > 0) return records;
  const message = oneTurnFor(messages.filter((one) => one !== undefined));
  if (message === undefined) return [];
  try {
    await runTurn(deps, message, {
      remainingMs: () => context.getRemainingTimeInMillis(),
      deliveryCount: deliveryCountOf(records),
    });
    return [];
  } catch (error) {
    deps.log.error('turn failed', { runId: message.runId, error });
    deps.metrics?.put('HandlerFailures', 1);
    return records;
  }
}

/** Returns the highest delivery count: the message delivered most often has seen the most turns die. */
function deliveryCountOf(records: readonly SQSRecord[]): number {
  return Math.max(...records.map(({ attributes }) => Number(attributes.ApproximateReceiveCount) || 1));
}
