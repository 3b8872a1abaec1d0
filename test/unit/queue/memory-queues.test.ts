import { describe, expect, it } from 'vitest';
import { MemoryQueue } from '../../../lib/queue/memory-queue.js';
import { MemoryQueues } from '../../../lib/queue/memory-queues.js';
import { describeQueues } from '../../contract/queues.suite.js';

const manualClock = (): { atMs: number; nowMs(): number } => ({
  atMs: 1_000_000,
  nowMs() {
    return this.atMs;
  },
});

describeQueues('memory', async () => {
  const clock = manualClock();
  const queues = new MemoryQueues({
    turn: { visibilityMs: 90_000, maxReceiveCount: 2 },
    work: { visibilityMs: 90_000, maxReceiveCount: 2 },
    step: { visibilityMs: 90_000, maxReceiveCount: 2 },
    slow: { visibilityMs: 90_000, maxReceiveCount: 2 },
    clock,
  });
  return {
    queues,
    receive: async (queue) => queues[queue].receive(10),
    receiveLater: async (queue) => {
      clock.atMs += 3_000;
      return queues[queue].receive(10);
    },
    remove: async (queue, receiptHandle) => void queues[queue].deleteMessage(receiptHandle),
    release: async (queue, receiptHandle) => void queues[queue].changeVisibility(receiptHandle, 0),
    deadLetters: async (queue) => queues[`${queue}DeadLetters`].receive(10).map(({ body }) => body),
  };
});

describe('a FIFO queue in memory', () => {
  const setup = (visibilityMs = 90_000) => {
    const clock = manualClock();
    const changes: number[] = [];
    const queue = new MemoryQueue({
      name: 'q',
      kind: 'fifo',
      visibilityMs,
      maxReceiveCount: 3,
      clock,
      onChange: () => changes.push(clock.atMs),
    });
    const send = (groupId: string, body: string) => queue.send({ groupId, body, dedupId: body });
    return { clock, queue, send, changes };
  };

  it('keeps the order of sending within a group and gives other groups in the order of their first message', () => {
    const { queue, send } = setup();
    for (const [group, body] of [
      ['x', '1'],
      ['y', '2'],
      ['x', '3'],
      ['y', '4'],
    ] as const)
      send(group, body);
    expect(queue.receive(3).map(({ body }) => body)).toEqual(['1', '3', '2']);
  });

  it('keeps a group locked until every message of it that is in flight is deleted or visible again', () => {
    const { clock, queue, send } = setup();
    for (const body of ['1', '2', '3']) send('x', body);
    const [first, second] = queue.receive(2);
    expect(queue.deleteMessage(first!.receiptHandle)).toBe(true);
    expect(queue.receive(10)).toEqual([]);
    expect(queue.nextChangeAtMs()).toBe(1_090_000);
    clock.atMs = 1_090_000;
    expect(queue.receive(10).map(({ body, receiveCount }) => [body, receiveCount])).toEqual([
      ['2', 2],
      ['3', 1],
    ]);
    expect(queue.deleteMessage(second!.receiptHandle)).toBe(false);
  });

  it('keeps a group locked by a later message in flight when an earlier one was given back', () => {
    const { queue, send } = setup();
    for (const body of ['1', '2']) send('x', body);
    const [first, second] = queue.receive(2);
    queue.changeVisibility(first!.receiptHandle, 0);
    expect(queue.receive(10)).toEqual([]);
    queue.deleteMessage(second!.receiptHandle);
    expect(queue.receive(10).map(({ body }) => body)).toEqual(['1']);
  });

  it('deletes nothing for a receipt whose visibility is over', () => {
    const { clock, queue, send } = setup();
    send('x', '1');
    const [first] = queue.receive(1);
    clock.atMs += 90_000;
    expect(queue.deleteMessage(first!.receiptHandle)).toBe(false);
    expect(queue.receive(1)).toHaveLength(1);
  });

  it('forgets a deduplication id after five minutes', () => {
    const { clock, queue, send } = setup();
    const id = send('x', '1');
    clock.atMs += 299_999;
    expect(send('x', '1')).toBe(id);
    expect(queue.size).toBe(1);
    clock.atMs += 1;
    expect(send('x', '1')).not.toBe(id);
    expect(queue.size).toBe(2);
  });

  it('says when to look again and calls back on each change', () => {
    const { clock, queue, send, changes } = setup();
    expect(queue.nextChangeAtMs()).toBeUndefined();
    send('x', '1');
    expect(queue.nextChangeAtMs()).toBe(1_000_000);
    const [first] = queue.receive(1);
    expect(queue.nextChangeAtMs()).toBe(1_090_000);
    clock.atMs += 10;
    queue.deleteMessage(first!.receiptHandle);
    expect(queue.nextChangeAtMs()).toBeUndefined();
    expect(changes).toEqual([1_000_000, 1_000_010]);
  });

  it('refuses a message without a group or with a delay', () => {
    const { queue } = setup();
    expect(() => queue.send({ body: '1', dedupId: '1' })).toThrow('takes a group id and a deduplication id');
    expect(() => queue.send({ body: '1', groupId: 'x', dedupId: '1', delayMs: 1_000 })).toThrow(
      'takes no delay per message',
    );
  });

  it('moves a message aside with its group and lets the next of the group through', () => {
    const clock = manualClock();
    const aside = new MemoryQueue({ name: 'aside', kind: 'fifo', visibilityMs: 1, maxReceiveCount: Infinity, clock });
    const queue = new MemoryQueue({
      name: 'q',
      kind: 'fifo',
      visibilityMs: 1_000,
      maxReceiveCount: 1,
      deadLetters: aside,
      clock,
    });
    queue.send({ body: 'poison', groupId: 'x', dedupId: '1' });
    queue.receive(1);
    queue.send({ body: 'fine', groupId: 'x', dedupId: '2' });
    clock.atMs += 1_000;
    expect(queue.receive(10).map(({ body }) => body)).toEqual(['fine']);
    expect(aside.receive(1)[0]).toMatchObject({ body: 'poison', groupId: 'x', receiveCount: 1 });
  });
});

describe('a standard queue in memory', () => {
  it('gives messages in the order in which they become available', () => {
    const clock = manualClock();
    const queue = new MemoryQueue({ name: 'q', kind: 'standard', visibilityMs: 5_000, maxReceiveCount: 3, clock });
    queue.send({ body: 'late', delayMs: 2_000 });
    queue.send({ body: 'now' });
    queue.send({ body: 'soon', delayMs: 1_000 });
    expect(queue.receive(10).map(({ body }) => body)).toEqual(['now']);
    expect(queue.nextChangeAtMs()).toBe(1_001_000);
    clock.atMs = 1_002_000;
    expect(queue.receive(10).map(({ body }) => body)).toEqual(['soon', 'late']);
    expect(queue.nextChangeAtMs()).toBe(1_005_000);
    clock.atMs = 1_005_000;
    expect(queue.receive(10).map(({ body, receiveCount }) => [body, receiveCount])).toEqual([['now', 2]]);
  });

  it('rounds a delay up to whole seconds', () => {
    const clock = manualClock();
    const queue = new MemoryQueue({ name: 'q', kind: 'standard', visibilityMs: 5_000, maxReceiveCount: 3, clock });
    queue.send({ body: 'x', delayMs: 1_001 });
    expect(queue.nextChangeAtMs()).toBe(1_002_000);
  });

  it('keeps 20,000 messages in order', () => {
    const clock = manualClock();
    const queue = new MemoryQueue({ name: 'q', kind: 'standard', visibilityMs: 5_000, maxReceiveCount: 3, clock });
    for (let n = 0; n < 20_000; n++) queue.send({ body: String(n), delayMs: ((n * 7_919) % 900) * 1_000 });
    const received: number[] = [];
    while (queue.size > 0) {
      clock.atMs = queue.nextChangeAtMs()!;
      for (const message of queue.receive(10)) {
        received.push((Number(message.body) * 7_919) % 900);
        queue.deleteMessage(message.receiptHandle);
      }
    }
    expect(received).toHaveLength(20_000);
    expect(received).toEqual([...received].sort((a, b) => a - b));
  });
});
