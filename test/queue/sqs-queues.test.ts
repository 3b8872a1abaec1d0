import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { afterAll, describe, expect, it } from 'vitest';
import { SqsQueues } from '../../lib/queue/sqs-queues.js';
import { describeQueues, type QueuesUnderTest, type Received } from '../contract/queues.suite.js';

const server = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
const client = new SQSClient({
  endpoint: `http://127.0.0.1:${server.port}`,
  region: 'us-east-1',
  credentials: { accessKeyId: 'x', secretAccessKey: 'x' },
  maxAttempts: 1,
});
let created = 0;

async function createQueue(name: string, attributes: Record<string, string>): Promise<{ url: string; arn: string }> {
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }));
  return { url: QueueUrl!, arn: Attributes!['QueueArn']! };
}

async function setup(): Promise<QueuesUnderTest> {
  const prefix = `test-${++created}`;
  const redrive = (arn: string) => ({
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 2 }),
    VisibilityTimeout: '90',
  });
  const turnDead = await createQueue(`${prefix}-turn-dead.fifo`, { FifoQueue: 'true' });
  const workDead = await createQueue(`${prefix}-work-dead`, {});
  const turn = await createQueue(`${prefix}-turn.fifo`, { FifoQueue: 'true', ...redrive(turnDead.arn) });
  const work = await createQueue(`${prefix}-work`, redrive(workDead.arn));
  const urls = { turn: turn.url, work: work.url };

  const receive = async (url: string, waitSeconds: number): Promise<Received[]> => {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ['All'],
      }),
    );
    return Messages.map(({ Body, ReceiptHandle, Attributes }) => ({
      body: Body!,
      receiptHandle: ReceiptHandle!,
      ...(Attributes?.MessageGroupId === undefined ? {} : { groupId: Attributes.MessageGroupId }),
    }));
  };
  return {
    queues: new SqsQueues(client, urls),
    receive: (queue) => receive(urls[queue], 0),
    receiveLater: (queue) => receive(urls[queue], 3),
    remove: async (queue, receiptHandle) => {
      await client.send(new DeleteMessageCommand({ QueueUrl: urls[queue], ReceiptHandle: receiptHandle }));
    },
    release: async (queue, receiptHandle) => {
      await client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: urls[queue],
          ReceiptHandle: receiptHandle,
          VisibilityTimeout: 0,
        }),
      );
    },
    deadLetters: async (queue) =>
      (await receive(queue === 'turn' ? turnDead.url : workDead.url, 0)).map(({ body }) => body),
  };
}

describeQueues('sqs', setup);

afterAll(async () => {
  client.destroy();
  await server.stop();
});

describe('a send that SQS refuses', () => {
  it('throws a coded error that names the queue and neither its address nor the message', async () => {
    const queues = new SqsQueues(client, {
      turn: `http://127.0.0.1:${server.port}/000000000000/missing.fifo`,
      work: 'http://127.0.0.1:1/x',
    });
    const error = await queues.sendTurn({ runId: 'c'.repeat(32) }, 'w1').catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringMatching(/^the turn queue did not take a message \(\w+\)$/) as unknown,
    });
  });
});
