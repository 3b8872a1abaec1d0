import { defined } from '../base/defined.js';
import { randomUUID } from 'node:crypto';
import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { EngineError } from '../base/errors.js';
import { batchMax, type OutgoingMessage, SqsBatches } from './sqs-batches.js';

/** Wait of a receive. Without one, only some servers of SQS are asked, which may miss messages. */
const redriveWaitSeconds = 1;

export interface DeadLetters {
  readonly url: string;
  /** Approximate number of messages; SQS does not count exactly. */
  readonly count: number;
}

/** Finds the dead-letter queue of a queue. @throws EngineError `CONFIG_INVALID` if it has none, and what SQS throws */
export async function findDeadLetters(client: SQSClient, queueUrl: string): Promise<DeadLetters> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['RedrivePolicy'] }),
  );
  const name = deadLetterName(Attributes?.RedrivePolicy);
  if (name === undefined) throw new EngineError('CONFIG_INVALID', 'the queue has no dead-letter queue');
  const { QueueUrl: url = '' } = await client.send(new GetQueueUrlCommand({ QueueName: name }));
  const counted = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['ApproximateNumberOfMessages'] }),
  );
  return { url, count: Number(counted.Attributes?.ApproximateNumberOfMessages ?? 0) };
}

/** Returns the last part of the ARN in a redrive policy. */
function deadLetterName(policy: string | undefined): string | undefined {
  const { deadLetterTargetArn } = JSON.parse(policy ?? '{}') as { readonly deadLetterTargetArn?: string };
  return deadLetterTargetArn?.split(':').at(-1);
}

/**
 * Moves up to `limit` messages of a dead-letter queue back, and returns how many. Each is sent before it is deleted: if
 * an error or a crash leaves one in both queues, it is delivered twice, which has no effect.
 */
export async function redrive(
  client: SQSClient,
  { from, to, limit }: { readonly from: string; readonly to: string; readonly limit: number },
): Promise<number> {
  const batches = new SqsBatches(client, to);
  let moved = 0;
  while (moved < limit) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: from,
        MaxNumberOfMessages: Math.min(batchMax, limit - moved),
        WaitTimeSeconds: redriveWaitSeconds,
        MessageSystemAttributeNames: ['MessageGroupId'],
      }),
    );
    if (Messages.length === 0) break;
    await moveAll(client, Messages, from, batches);
    moved += Messages.length;
  }
  return moved;
}

async function moveAll(client: SQSClient, messages: readonly Message[], from: string, to: SqsBatches): Promise<void> {
  const isFifo = from.endsWith('.fifo');
  const sent = await Promise.allSettled(messages.map((message) => to.send(again(message, isFifo))));
  const taken = messages.filter((_, at) => sent[at]?.status === 'fulfilled');
  if (taken.length > 0) {
    const Entries = taken.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
    await client.send(new DeleteMessageBatchCommand({ QueueUrl: from, Entries }));
  }
  const refused = sent.find((one) => one.status === 'rejected');
  if (refused !== undefined) throw refused.reason;
}

function again({ Body, Attributes }: Message, isFifo: boolean): OutgoingMessage {
  return {
    MessageBody: Body,
    ...defined({
      MessageGroupId: Attributes?.MessageGroupId,
      // A fresh id: SQS would deduplicate the message with its first sending. A standard queue takes none.
      MessageDeduplicationId: isFifo ? randomUUID() : undefined,
    }),
  };
}
