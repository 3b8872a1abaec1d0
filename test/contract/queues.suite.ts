import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Queues } from '../../lib/queue/queue.js';

/** A received message, in terms that SQS and its stand-ins share. */
export interface Received {
  readonly body: string;
  readonly receiptHandle: string;
  readonly groupId?: string;
}

type QueueName = 'turn' | 'work' | 'step' | 'start' | 'slow';

export interface QueuesUnderTest {
  readonly queues: Queues;
  /** Returns everything that is available now, at most 10 messages. */
  receive(queue: QueueName): Promise<readonly Received[]>;
  /** Waits until something is available, for at most three seconds. */
  receiveLater(queue: QueueName): Promise<readonly Received[]>;
  remove(queue: QueueName, receiptHandle: string): Promise<void>;
  /** Ends the visibility timeout of a received message now. */
  release(queue: QueueName, receiptHandle: string): Promise<void>;
  /** Returns the bodies in the dead-letter queue. */
  deadLetters(queue: QueueName): Promise<readonly string[]>;
}

const runA = 'a'.repeat(32);
const runB = 'b'.repeat(32);
const step = { runId: runA, waitId: '3', dueAtMs: 1_700_000_000_000 };
const start = { kind: 'start', runId: runA, waitId: '3', dueAtMs: 1_700_000_000_000 } as const;
const wake = { kind: 'wake', runId: runA, dueAtMs: 1_700_000_000_000 } as const;

/** Tests what the engine requires of every implementation. `setup` returns empty queues with `maxReceiveCount` 2. */
export function describeQueues(
  name: string,
  setup: () => Promise<QueuesUnderTest>,
  teardown: () => Promise<void> = async () => undefined,
): void {
  describe(`queues: ${name}`, () => {
    let under: QueuesUnderTest;
    beforeEach(async () => {
      under = await setup();
    });
    afterAll(teardown);

    const bodies = (received: readonly Received[]): unknown[] =>
      received.map(({ body }) => JSON.parse(body) as unknown);

    it('carries a turn message as JSON, with the run as its group', async () => {
      await under.queues.sendTurn({ runId: runA, news: [{ waitId: '3' }] }, 'w1');
      const received = await under.receive('turn');
      expect(bodies(received)).toEqual([{ runId: runA, news: [{ waitId: '3' }] }]);
      expect(received[0]!.groupId).toBe(runA);
    });

    it('carries reads of servers that answer slowly in a queue of their own', async () => {
      const poll = { kind: 'poll', runId: runA, waitId: '3', server: 'reports' } as const;
      await under.queues.sendWork({ ...poll, isSlow: true }, 0);
      expect(bodies(await under.receive('slow'))).toEqual([{ ...poll, isSlow: true }]);
      expect(await under.receive('work')).toEqual([]);
      await under.queues.sendWork(poll, 0);
      expect(bodies(await under.receive('work'))).toEqual([poll]);
      expect(await under.receive('slow')).toEqual([]);
    });

    it('carries a message of the queue of starts as JSON', async () => {
      await under.queues.sendStart(start, 0);
      expect(bodies(await under.receive('start'))).toEqual([start]);
      expect(await under.receive('step')).toEqual([]);
    });

    it('carries a work message as JSON', async () => {
      await under.queues.sendWork(
        { kind: 'poll', runId: runA, waitId: '3', dueAtMs: 1_700_000_000_000, hop: { count: 1, claimedDueAtMs: 7 } },
        0,
      );
      expect(bodies(await under.receive('work'))).toEqual([
        { kind: 'poll', runId: runA, waitId: '3', dueAtMs: 1_700_000_000_000, hop: { count: 1, claimedDueAtMs: 7 } },
      ]);
    });

    it('carries a step message as JSON, on a queue of its own', async () => {
      const message = { runId: runA, waitId: '3', dueAtMs: 1_700_000_000_000 };
      await under.queues.sendStep(message, 0);
      expect(await under.receive('work')).toEqual([]);
      expect(bodies(await under.receive('step'))).toEqual([message]);
    });

    it('drops a second turn message of the same deduplication id, whatever became of the first', async () => {
      await under.queues.sendTurn({ runId: runA }, 'w1');
      await under.queues.sendTurn({ runId: runA }, 'w1');
      const [first, ...rest] = await under.receive('turn');
      expect(rest).toEqual([]);
      await under.remove('turn', first!.receiptHandle);
      await under.queues.sendTurn({ runId: runA }, 'w1');
      expect(await under.receive('turn')).toEqual([]);
    });

    it('takes the same body again under another deduplication id', async () => {
      await under.queues.sendTurn({ runId: runA }, 'w1');
      await under.queues.sendTurn({ runId: runA }, 'w2');
      const received: Received[] = [];
      // SQS may return both at once; a stand-in may return one at a time.
      for (let batch = await under.receive('turn'); batch.length > 0; batch = await under.receive('turn')) {
        received.push(...batch);
        for (const { receiptHandle } of batch) await under.remove('turn', receiptHandle);
      }
      expect(bodies(received)).toEqual([{ runId: runA }, { runId: runA }]);
    });

    it('holds back a run while a turn of it is in flight, and no other run', async () => {
      await under.queues.sendTurn({ runId: runA }, 'w1');
      const [first] = await under.receive('turn');
      await under.queues.sendTurn({ runId: runA }, 'w2');
      await under.queues.sendTurn({ runId: runB }, 'w3');
      expect(bodies(await under.receive('turn'))).toEqual([{ runId: runB }]);
      await under.remove('turn', first!.receiptHandle);
      expect(bodies(await under.receive('turn'))).toEqual([{ runId: runA }]);
    });

    it('receives a message again that was not deleted, under another receipt', async () => {
      await under.queues.sendTurn({ runId: runA }, 'w1');
      const [first] = await under.receive('turn');
      await under.release('turn', first!.receiptHandle);
      const [second] = await under.receive('turn');
      expect(second!.body).toBe(first!.body);
      expect(second!.receiptHandle).not.toBe(first!.receiptHandle);
    });

    it.each(['turn', 'work', 'step'] as const)(
      'moves a %s message aside that was received twice without a delete',
      async (queue) => {
        if (queue === 'turn') await under.queues.sendTurn({ runId: runA }, 'w1');
        else if (queue === 'work') await under.queues.sendWork(wake, 0);
        else await under.queues.sendStep(step, 0);
        for (let time = 1; time <= 2; time++) {
          const [received] = await under.receive(queue);
          await under.release(queue, received!.receiptHandle);
        }
        expect(await under.receive(queue)).toEqual([]);
        expect((await under.deadLetters(queue)).map((body) => (JSON.parse(body) as { runId: string }).runId)).toEqual([
          runA,
        ]);
      },
    );

    it('holds back a delayed work message until its time, rounded up to seconds', async () => {
      await under.queues.sendWork(wake, 1);
      expect(await under.receive('work')).toEqual([]);
      expect(bodies(await under.receiveLater('work'))).toEqual([wake]);
    });

    it('holds back a delayed step message until its time, rounded up to seconds', async () => {
      await under.queues.sendStep(step, 1);
      expect(await under.receive('step')).toEqual([]);
      expect(bodies(await under.receiveLater('step'))).toEqual([step]);
    });

    it('refuses a delay that SQS does not have', async () => {
      await expect(under.queues.sendWork(wake, 900_001)).rejects.toMatchObject({
        code: 'INTERNAL',
      });
      await expect(under.queues.sendWork(wake, -1)).rejects.toMatchObject({
        code: 'INTERNAL',
      });
      await under.queues.sendWork(wake, 900_000);
      await expect(under.queues.sendStep(step, 900_001)).rejects.toMatchObject({
        code: 'INTERNAL',
      });
      await under.queues.sendStep(step, 900_000);
    });
  });
}
