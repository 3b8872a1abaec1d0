import { describe, expect, it } from 'vitest';
import { MemoryQueue } from '../../../lib/queue/memory-queue.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';

function aQueue() {
  const clock = new VirtualClock(0);
  const queue = new MemoryQueue({ name: 'work', kind: 'standard', visibilityMs: 10_000, maxReceiveCount: 5, clock });
  const send = (groupId: string | undefined, count: number): void => {
    for (let n = 1; n <= count; n++)
      queue.send({ body: `${groupId ?? 'none'} ${n}`, ...(groupId === undefined ? {} : { groupId }) });
  };
  const receive = (max: number): string[] => queue.receive(max).map(({ body }) => body);
  return { clock, queue, send, receive };
}

describe('a standard queue with message groups', () => {
  it('gives the messages of the group that has the fewest in flight first', () => {
    const { send, receive } = aQueue();
    send('slow', 5);
    expect(receive(3)).toEqual(['slow 1', 'slow 2', 'slow 3']);
    send('quick', 2);
    expect(receive(4)).toEqual(['quick 1', 'quick 2', 'slow 4', 'slow 5']);
  });

  it('shares its batches among groups, in the order of sending within each', () => {
    const { send, receive } = aQueue();
    send('a', 4);
    send('b', 4);
    expect(receive(4)).toEqual(['a 1', 'b 1', 'a 2', 'b 2']);
  });

  it('lets messages without a group wait for none', () => {
    const { send, receive } = aQueue();
    send('a', 2);
    send(undefined, 2);
    expect(receive(3)).toEqual(['none 1', 'none 2', 'a 1']);
  });

  it('counts a message no longer when it is deleted, given back or visible again', () => {
    const { queue, clock, send, receive } = aQueue();
    send('a', 4);
    send('b', 1);
    const [first, second] = queue.receive(2);
    expect([first?.body, second?.body]).toEqual(['a 1', 'b 1']);
    queue.deleteMessage(first?.receiptHandle ?? '');
    expect(receive(1)).toEqual(['a 2']);
    queue.changeVisibility(second?.receiptHandle ?? '', 0);
    expect(receive(1)).toEqual(['b 1']);
    clock.moveTo(10_000);
    // All that was in flight is visible again.
    expect(receive(9)).toHaveLength(4);
  });

  it('says when the next message is there, also if none is ready', () => {
    const { queue, clock, send, receive } = aQueue();
    send('a', 2);
    receive(1);
    expect(queue.nextChangeAtMs()).toBe(0);
    const [second] = queue.receive(1);
    expect(queue.nextChangeAtMs()).toBe(10_000);
    queue.deleteMessage(second?.receiptHandle ?? '');
    queue.send({ body: 'later', groupId: 'a', delayMs: 3_000 });
    expect(queue.nextChangeAtMs()).toBe(3_000);
    clock.moveTo(3_000);
    expect(receive(9)).toEqual(['later']);
  });
});
