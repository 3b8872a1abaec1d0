import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { startFauxqs, type FauxqsServer } from 'fauxqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Result, run } from './in-process.js';

let server: FauxqsServer;
let client: SQSClient;
let created = 0;

beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  client = new SQSClient({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'x', secretAccessKey: 'x' },
  });
});
afterAll(async () => {
  client.destroy();
  await server.stop();
});

const redrive = (...args: readonly string[]): Promise<Result> =>
  run('redrive', ...args, '--sqs-endpoint', `http://127.0.0.1:${server.port}`);

interface Pair {
  readonly url: string;
  readonly dead: string;
}

async function createQueue(name: string, attributes: Record<string, string>): Promise<string> {
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
  return QueueUrl!;
}

async function createPair(name: string, fifo: boolean): Promise<Pair> {
  const suffix = fifo ? '.fifo' : '';
  const kind: Record<string, string> = fifo ? { FifoQueue: 'true' } : {};
  const dead = await createQueue(`${name}-dead${suffix}`, kind);
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: dead, AttributeNames: ['QueueArn'] }),
  );
  const policy = JSON.stringify({ deadLetterTargetArn: Attributes!['QueueArn'], maxReceiveCount: 5 });
  return { dead, url: await createQueue(`${name}${suffix}`, { ...kind, RedrivePolicy: policy }) };
}

async function bodiesIn(url: string): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, VisibilityTimeout: 30 }),
    );
    if (Messages.length === 0) return bodies.sort();
    bodies.push(...Messages.map(({ Body }) => Body!));
  }
}

/** Counts the messages, hidden or not. */
async function countIn(url: string): Promise<number> {
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }));
  return (
    Number(Attributes!['ApproximateNumberOfMessages']) + Number(Attributes!['ApproximateNumberOfMessagesNotVisible'])
  );
}

let turn: Pair;
let work: Pair;
let step: Pair;
let start: Pair;
let slow: Pair;
beforeEach(async () => {
  const prefix = `redrive-${++created}`;
  [turn, work, step, start, slow] = await Promise.all([
    createPair(`${prefix}-turn`, true),
    createPair(`${prefix}-work`, false),
    createPair(`${prefix}-step`, false),
    createPair(`${prefix}-start`, false),
    createPair(`${prefix}-slow`, false),
  ]);
  vi.stubEnv('OUTWAIT_TURN_QUEUE_URL', turn.url);
  vi.stubEnv('OUTWAIT_WORK_QUEUE_URL', work.url);
  vi.stubEnv('OUTWAIT_STEP_QUEUE_URL', step.url);
  vi.stubEnv('OUTWAIT_START_QUEUE_URL', start.url);
  vi.stubEnv('OUTWAIT_SLOW_QUEUE_URL', slow.url);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function die({ dead }: Pair, ...bodies: readonly string[]): Promise<void> {
  for (const body of bodies) {
    const fifo = dead.endsWith('.fifo') ? { MessageGroupId: body, MessageDeduplicationId: body } : {};
    await client.send(new SendMessageCommand({ QueueUrl: dead, MessageBody: body, ...fifo }));
  }
}

describe('outwait redrive', () => {
  it('moves what is dead back into the queue that it came from', async () => {
    const many = Array.from({ length: 23 }, (_, n) => `work ${n}`);
    await die(turn, 'run a', 'run b');
    await die(work, ...many);
    expect(await redrive()).toEqual({
      code: 0,
      out: 'QUEUE  DEAD LETTERS  MOVED\nturn   2             2\nwork   23            23\nstep   0             0\nstart  0             0\nslow   0             0\n',
      err: '',
    });
    expect(await bodiesIn(turn.url)).toEqual(['run a', 'run b']);
    expect(await bodiesIn(work.url)).toEqual([...many].sort());
    expect([await countIn(turn.dead), await countIn(work.dead)]).toEqual([0, 0]);
  });

  it('keeps the group of a turn, and moves one that was sent a minute ago too', async () => {
    await client.send(
      new SendMessageCommand({
        QueueUrl: turn.url,
        MessageBody: 'first',
        MessageGroupId: 'run a',
        MessageDeduplicationId: 'run a',
      }),
    );
    await bodiesIn(turn.url);
    await die(turn, 'run a');
    await redrive('--queue', 'turn');
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: turn.url,
        MessageSystemAttributeNames: ['MessageGroupId'],
        VisibilityTimeout: 30,
      }),
    );
    // The first message locks the group, so the moved messages are in the queue behind it.
    expect(Messages).toEqual([]);
    const { Attributes } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl: turn.url, AttributeNames: ['All'] }),
    );
    const counts = [Attributes!['ApproximateNumberOfMessages'], Attributes!['ApproximateNumberOfMessagesNotVisible']];
    expect(counts).toEqual(['1', '1']);
  });

  it('moves nothing on a dry run, and at most the given number', async () => {
    await die(step, 'a', 'b', 'c');
    const dry = await redrive('--queue', 'step', '--dry-run', '--json');
    expect(JSON.parse(dry.out)).toEqual({ queues: [{ queue: 'step', deadLetters: 3, moved: 0 }] });
    const limited = await redrive('--queue', 'step', '--limit', '2', '--json');
    expect(JSON.parse(limited.out)).toEqual({ queues: [{ queue: 'step', deadLetters: 3, moved: 2 }] });
    expect(await bodiesIn(step.url)).toHaveLength(2);
    expect(await countIn(step.dead)).toBe(1);
  });

  it('names what it needs, before it asks anybody', async () => {
    vi.stubEnv('OUTWAIT_WORK_QUEUE_URL', '');
    await die(turn, 'run a');
    expect(await redrive()).toEqual({
      code: 2,
      out: '',
      err: 'outwait: OUTWAIT_WORK_QUEUE_URL must be the URL of the work queue, but is not set\n',
    });
    expect(await bodiesIn(turn.dead)).toEqual(['run a']);
    expect((await redrive('--queue', 'other')).code).toBe(2);
  });

  it('says which queue SQS refuses, without its address, and which has no dead-letter queue', async () => {
    vi.stubEnv('OUTWAIT_TURN_QUEUE_URL', `http://127.0.0.1:${server.port}/000000000000/missing.fifo`);
    const missing = await redrive('--queue', 'turn');
    expect(missing).toMatchObject({ code: 1, out: '' });
    expect(missing.err).toMatch(/^outwait: turn queue: SQS refused the request or cannot be reached \(\w+\)\n$/);
    vi.stubEnv('OUTWAIT_TURN_QUEUE_URL', turn.dead);
    expect(await redrive('--queue', 'turn')).toMatchObject({
      code: 1,
      err: 'outwait: turn queue: the queue has no dead-letter queue\n',
    });
  });
});
