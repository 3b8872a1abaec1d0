import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { EventSource } from '../../../lib/local/event-source.js';
import { MemoryQueue } from '../../../lib/queue/memory-queue.js';

const clock = { nowMs: () => Date.now() };
beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Creates a source whose invocations end as the test says. */
function aSource(options: { kind?: 'fifo' | 'standard'; batchSize?: number; maxConcurrency?: number } = {}) {
  const { kind = 'standard', batchSize = 10, maxConcurrency = 4 } = options;
  const invocations: {
    bodies: string[];
    event: SQSEvent;
    end(failures?: string[]): Promise<void>;
    fail(): Promise<void>;
  }[] = [];
  const deadLetters = new MemoryQueue({ name: 'dead', kind, visibilityMs: 1, maxReceiveCount: 99, clock });
  let source: EventSource | undefined = undefined;
  const queue: MemoryQueue = new MemoryQueue({
    name: 'q',
    kind,
    visibilityMs: 90_000,
    maxReceiveCount: 2,
    deadLetters,
    clock,
    onChange: () => source?.wake(),
  });
  source = new EventSource({
    name: 'q',
    queue,
    batchSize,
    maxConcurrency,
    clock,
    log: silentLog,
    invoke: (event) =>
      new Promise<SQSBatchResponse>((resolve, reject) => {
        const bodies = event.Records.map(({ body }) => body);
        invocations.push({
          bodies,
          event,
          end: async (failures = []) => {
            const failed = event.Records.filter(({ body }) => failures.includes(body));
            resolve({ batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) });
            await vi.advanceTimersByTimeAsync(1);
          },
          fail: async () => {
            reject(new Error('handler threw'));
            await vi.advanceTimersByTimeAsync(1);
          },
        });
      }),
  });
  const settled = () => vi.advanceTimersByTimeAsync(1);
  return { queue, source, invocations, deadLetters, settled };
}

describe('an event source', () => {
  it('invokes at once with what there is, up to a batch, in the form of Lambda', async () => {
    const { queue, invocations, settled } = aSource({ batchSize: 2 });
    for (const body of ['a', 'b', 'c']) queue.send({ body });
    await settled();
    expect(invocations.map(({ bodies }) => bodies)).toEqual([['a', 'b'], ['c']]);
    expect(invocations[0]!.event.Records[0]).toEqual({
      messageId: 'q-1',
      receiptHandle: 'q-1/1',
      body: 'a',
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: '1800000000000',
        SenderId: 'local',
        ApproximateFirstReceiveTimestamp: '1800000000000',
      },
      messageAttributes: {},
      md5OfBody: '0cc175b9c0f1b6a831c399e269772661',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:local:000000000000:q',
      awsRegion: 'local',
    });
  });

  it('deletes what was done and receives a failed message again when its visibility is over', async () => {
    const { queue, invocations, settled } = aSource();
    for (const body of ['a', 'b']) queue.send({ body });
    await settled();
    await invocations[0]!.end(['b']);
    expect(queue.size).toBe(1);
    await vi.advanceTimersByTimeAsync(89_900);
    expect(invocations).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(invocations[1]!.bodies).toEqual(['b']);
  });

  it('sets a message aside that a handler throws on again and again', async () => {
    const { queue, invocations, deadLetters, settled } = aSource();
    queue.send({ body: 'poison' });
    await settled();
    for (const time of [0, 1]) {
      await invocations[time]!.fail();
      await vi.advanceTimersByTimeAsync(90_000);
    }
    expect(invocations).toHaveLength(2);
    expect([queue.size, deadLetters.size]).toEqual([0, 1]);
  });

  it('invokes side by side up to its concurrency, and goes on when one ends', async () => {
    const { queue, invocations, settled } = aSource({ batchSize: 1, maxConcurrency: 2 });
    for (const body of ['a', 'b', 'c']) queue.send({ body });
    await settled();
    expect(invocations.map(({ bodies }) => bodies[0])).toEqual(['a', 'b']);
    await invocations[1]!.end();
    expect(invocations.map(({ bodies }) => bodies[0])).toEqual(['a', 'b', 'c']);
  });

  it('B028: has one batch of a group in flight, however long its handler takes', async () => {
    const { queue, invocations, settled } = aSource({ kind: 'fifo', batchSize: 1 });
    queue.send({ body: '1', groupId: 'x', dedupId: '1' });
    await settled();
    queue.send({ body: '2', groupId: 'x', dedupId: '2' });
    queue.send({ body: '3', groupId: 'y', dedupId: '3' });
    await settled();
    expect(invocations.map(({ bodies }) => bodies[0])).toEqual(['1', '3']);
    await invocations[0]!.end();
    expect(invocations.map(({ bodies }) => bodies[0])).toEqual(['1', '3', '2']);
  });

  it('invokes for a delayed message when it is due, with one timer however many wait', async () => {
    const { queue, invocations } = aSource();
    for (let n = 51; n <= 100; n++) queue.send({ body: String(n), delayMs: n * 9_000 });
    await vi.advanceTimersByTimeAsync(1);
    for (let n = 1; n <= 50; n++) queue.send({ body: String(n), delayMs: n * 9_000 });
    await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(8_998);
    expect(invocations).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(invocations.map(({ bodies }) => bodies)).toEqual([['1']]);
  });

  it('receives nothing when it is stopped before it has looked', async () => {
    const { queue, source, invocations, settled } = aSource();
    queue.send({ body: 'a' });
    source.stop();
    await settled();
    expect(invocations).toHaveLength(0);
  });

  it('receives nothing more once it is stopped', async () => {
    const { queue, source, invocations, settled } = aSource();
    queue.send({ body: 'a' });
    await settled();
    source.stop();
    queue.send({ body: 'b' });
    await invocations[0]!.end();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(invocations).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
