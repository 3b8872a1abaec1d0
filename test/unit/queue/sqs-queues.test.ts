import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createSqsClient } from '../../../lib/sdk/sqs-client.js';
import { SqsQueues } from '../../../lib/queue/sqs-queues.js';
import { describeQueues, type QueuesUnderTest, type Received } from '../../contract/queues.suite.js';

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
  const stepDead = await createQueue(`${prefix}-step-dead`, {});
  const startDead = await createQueue(`${prefix}-start-dead`, {});
  const slowDead = await createQueue(`${prefix}-slow-dead`, {});
  const turn = await createQueue(`${prefix}-turn.fifo`, { FifoQueue: 'true', ...redrive(turnDead.arn) });
  const work = await createQueue(`${prefix}-work`, redrive(workDead.arn));
  const step = await createQueue(`${prefix}-step`, redrive(stepDead.arn));
  const start = await createQueue(`${prefix}-start`, redrive(startDead.arn));
  const slow = await createQueue(`${prefix}-slow`, redrive(slowDead.arn));
  const urls = { turn: turn.url, work: work.url, step: step.url, start: start.url, slow: slow.url };
  const deadUrls = {
    turn: turnDead.url,
    work: workDead.url,
    step: stepDead.url,
    start: startDead.url,
    slow: slowDead.url,
  };

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
    deadLetters: async (queue) => (await receive(deadUrls[queue], 0)).map(({ body }) => body),
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
      step: 'http://127.0.0.1:1/x',
      start: 'http://127.0.0.1:1/x',
      slow: 'http://127.0.0.1:1/x',
    });
    const error = await queues.sendTurn({ runId: 'c'.repeat(32) }, 'w1').catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringMatching(/^the turn queue did not take a message \(\w+\)$/) as unknown,
    });
  });
});

/** Starts a stand-in for SQS that answers as the test says. */
async function aServer(answer: (request: SqsRequest) => object | undefined, requestTimeoutMs = 10_000) {
  const requests: SqsRequest[] = [];
  const http = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (data: Buffer) => (text += data.toString()));
    incoming.on('end', () => {
      const request = {
        action: String(incoming.headers['x-amz-target']).split('.')[1]!,
        body: JSON.parse(text) as SqsRequest['body'],
      };
      requests.push(request);
      const body = answer(request);
      // Without an answer it hangs.
      if (body !== undefined)
        response.setHeader('content-type', 'application/x-amz-json-1.0').end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const sqs = createSqsClient({ endpoint, maxAttempts: 1, requestTimeoutMs });
  closers.push(() => {
    sqs.destroy();
    http.closeAllConnections();
    http.close();
  });
  return {
    requests,
    queues: new SqsQueues(sqs, {
      turn: `${endpoint}/1/turn.fifo`,
      work: `${endpoint}/1/work`,
      step: `${endpoint}/1/step`,
      start: `${endpoint}/1/start`,
      slow: `${endpoint}/1/slow`,
    }),
  };
}
interface SqsRequest {
  readonly action: string;
  readonly body: { readonly QueueUrl: string; readonly Entries?: readonly { Id: string; MessageBody: string }[] };
}
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
const taken = ({ Id, MessageBody }: { Id: string; MessageBody: string }) => ({
  Id,
  MessageId: `m${Id}`,
  MD5OfMessageBody: md5(MessageBody),
});
const wakeOf = (n: number) => ({ kind: 'wake', runId: String(n).padStart(32, '0'), dueAtMs: 1 }) as const;

describe('messages that are sent side by side', () => {
  it('share requests of ten, and reach the queue once each', async () => {
    const { queues, requests } = await aServer(({ body }) => ({ Successful: body.Entries?.map(taken), Failed: [] }));
    await Promise.all(Array.from({ length: 25 }, (_, n) => queues.sendWork(wakeOf(n), 0)));
    expect(requests.map(({ action }) => action)).toEqual(Array.from({ length: 3 }, () => 'SendMessageBatch'));
    expect(requests.map(({ body }) => body.Entries?.length).sort()).toEqual([10, 10, 5]);
    const sent = requests.flatMap(({ body }) => body.Entries!.map(({ MessageBody }) => MessageBody));
    expect(new Set(sent).size).toBe(25);
  });

  it('fail alone: a refused one throws, those of its request do not', async () => {
    const { queues } = await aServer(({ body: { Entries = [] } }) => ({
      Successful: Entries.filter((_, at) => at === 0).map(taken),
      Failed: [{ Id: '1', Code: 'InternalError', SenderFault: false, Message: 'no' }],
    }));
    const results = await Promise.allSettled(
      [0, 1, 2].map((n) => queues.sendTurn({ runId: wakeOf(n).runId }, `w${n}`)),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(results[1]).toMatchObject({
      reason: { code: 'INTERNAL', message: 'the turn queue did not take a message (InternalError)' },
    });
    // The answer does not mention the third message.
    expect(results[2]).toMatchObject({ reason: { message: 'the turn queue did not take a message (NotAnswered)' } });
  });

  it('are received as they were sent', async () => {
    const under = await setup();
    await Promise.all([0, 1, 2].map((n) => under.queues.sendTurn({ runId: wakeOf(n).runId }, `w${n}`)));
    expect((await under.receive('turn')).map(({ body, groupId }) => [body, groupId])).toEqual(
      [0, 1, 2].map((n) => [JSON.stringify({ runId: wakeOf(n).runId }), wakeOf(n).runId]),
    );
  });
});

describe('a queue that does not answer', () => {
  it('is given up on', async () => {
    const { queues } = await aServer(() => undefined, 100);
    await expect(queues.sendTurn({ runId: wakeOf(1).runId }, 'w1')).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'the turn queue did not take a message (TimeoutError)',
    });
  });
});
