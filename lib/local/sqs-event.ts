import { defined } from '../base/defined.js';
import { createHash } from 'node:crypto';
import type { SQSEvent } from 'aws-lambda';
import type { ReceivedMessage } from '../queue/memory-queue.js';

/** Returns the event that Lambda makes from a batch of messages. */
export function toSqsEvent(queueName: string, messages: readonly ReceivedMessage[]): SQSEvent {
  return {
    Records: messages.map((message) => ({
      messageId: message.messageId,
      receiptHandle: message.receiptHandle,
      body: message.body,
      attributes: {
        ApproximateReceiveCount: String(message.receiveCount),
        SentTimestamp: String(message.sentAtMs),
        SenderId: 'local',
        ApproximateFirstReceiveTimestamp: String(message.sentAtMs),
        ...defined({ MessageGroupId: message.groupId }),
      },
      messageAttributes: {},
      md5OfBody: createHash('md5').update(message.body).digest('hex'),
      eventSource: 'aws:sqs',
      eventSourceARN: `arn:aws:sqs:local:000000000000:${queueName}`,
      awsRegion: 'local',
    })),
  };
}
