import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { lookAgainAtMs, nextPollAfterErrorMs, nextPollAtMs } from '../../../lib/decide/poll.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { pollTask } from '../../../lib/operations/remote-task/poll-task.js';
import type { PollMessage } from '../../../lib/queue/queue.js';
import type { Held, PollReply, RemoteTaskTransport } from '../../../lib/remote/transport.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { aFlow, anApp, startMs } from '../../engine/support.js';

// Reads of a task whose server pushes: the pokes of its pushes, and the backstop behind them.

const runId = '00'.repeat(16);
const poke: PollMessage = { kind: 'poll', runId, waitId: '1' };
const ended: PollMessage = { ...poke, saidEnded: true };
const working = { kind: 'working', state: 'working' } as const;
const unreachable = { code: 'REMOTE_UNREACHABLE', message: 'gone' } as const;
const at = (seconds: number): number => startMs + seconds * 1_000;
const hour = 3_600;

/** A remote task that was started at 0 s, whose server has pushed, and which is now three hours old. */
class Task {
  nowS = 3 * hour;
  reads = 0;
  forgotten = 0;
  readonly sent: { readonly message: PollMessage; readonly delayS: number }[] = [];
  reply: PollReply = working;
  meanwhile: () => Promise<unknown> = async () => undefined;
  /** Runs elsewhere before the server may be called. */
  before: () => Promise<Held | undefined> = async () => undefined;
  readonly store = new RunStore(new MemoryTable());
  readonly #deps: Deps;

  constructor() {
    const transport: Pick<RemoteTaskTransport, 'get' | 'admit' | 'forgetPush'> = {
      get: async () => {
        this.reads++;
        await this.meanwhile();
        return this.reply;
      },
      admit: async () => (await this.before()) ?? { kind: 'admitted', leave: async () => undefined },
      forgetPush: async () => {
        this.forgotten++;
      },
    };
    this.#deps = {
      ...createTestApp(anApp(aFlow(async () => undefined))).deps,
      store: this.store,
      transports: { get: () => transport as RemoteTaskTransport },
      clock: { nowMs: () => at(this.nowS) },
      queues: {
        sendTurn: async () => undefined,
        sendWork: async (message, delayMs) => {
          if (message.kind === 'poll') this.sent.push({ message, delayS: delayMs / 1_000 });
        },
        sendStep: async () => undefined,
        sendStart: async () => undefined,
      },
    };
  }

  static async pushed(more: Partial<TokenRecord> = {}): Promise<Task> {
    const task = new Task();
    await task.store.tokens.put({
      ...{ runId, waitId: '1', server: 'agent', attempt: 1, writerId: 'w', createdAtMs: startMs },
      ...{ deadlineAtMs: at(100 * hour), pollErrors: 0, pushedAtMs: at(1), ...more },
    });
    const handle = { server: 'agent', protocol: 'a2a', wire: '1.0', taskId: 't1', pushConfigId: 'outwait-1' } as const;
    await task.store.starts.storeHandle(runId, '1', { startedAtMs: startMs, dueAtMs: at(4 * hour), handle });
    return task;
  }

  poll(message: PollMessage): Promise<string> {
    return pollTask(this.#deps, message);
  }

  async move(toS: number): Promise<void> {
    const seenDueAtMs = (await this.token()).dueAtMs!;
    await this.store.polls.claim(runId, '1', { seenDueAtMs, dueAtMs: at(toS) });
  }

  async token(): Promise<TokenRecord> {
    return (await this.store.tokens.read(runId, '1'))!;
  }

  async dueInS(): Promise<number> {
    return ((await this.token()).dueAtMs! - at(this.nowS)) / 1_000;
  }
}

test('backstop: a third of the age from the first push on, within a minute and six hours, and as usual before it', () => {
  const token = { createdAtMs: startMs, deadlineAtMs: at(1_000 * hour) };
  const waits = (pushed: object, ageS: number) => (nextPollAtMs({ ...token, ...pushed }, at(ageS)) - at(ageS)) / 1_000;
  const pushed = { pushedAtMs: at(1) };
  expect([5, 300, 3 * hour, 100 * hour].map((ageS) => waits(pushed, ageS))).toEqual([60, 100, hour, 6 * hour]);
  expect([5, 300, 3 * hour, 100 * hour].map((ageS) => waits({}, ageS))).toEqual([5, 30, 300, 300]);
  // Never past the deadline, which is a promise.
  expect(nextPollAtMs({ ...token, ...pushed, deadlineAtMs: at(10) }, at(5))).toBe(at(10));
});

test('backstop: a read that fails is repeated as without pushes, since it may be the one that a push has asked for', async () => {
  const task = await Task.pushed();
  task.reply = { kind: 'unreadable', error: unreachable };
  expect(await task.poll(ended)).toBe('failed');
  expect(await task.dueInS()).toBe(300);
  const token = await task.token();
  expect(nextPollAfterErrorMs({ ...token, deadlineAtMs: at(100 * hour) }, at(10), 1)).toBe(at(20));
});

test('poke: it moves the next read to the backstop, and settles what has ended', async () => {
  const task = await Task.pushed();
  expect(await task.poll(poke)).toBe('working');
  expect([task.reads, await task.dueInS(), task.forgotten]).toEqual([1, hour, 0]);
  task.reply = { kind: 'ended', end: { kind: 'completed', result: 1, isError: false } };
  expect(await task.poll(poke)).toBe('settled');
  expect([(await task.token()).settlement?.by, task.forgotten]).toEqual(['poll', 1]);
  // A repeated one finds the settlement: nothing is read, or deleted twice.
  expect(await task.poll(poke)).toBe('stale');
  expect([task.reads, task.forgotten]).toEqual([2, 1]);
});

test('poke after the end: a read that does not find the end is repeated soon, and never waits for the backstop', async () => {
  const task = await Task.pushed();
  expect(await task.poll(ended)).toBe('working');
  // The claim, made for the next read, is as long as without pushes: at its end the sweep sends another one.
  expect(await task.dueInS()).toBe(1 + 300);
  const delays: number[] = [];
  for (let hops = 0; hops < 6; hops++) {
    const { message, delayS } = task.sent.at(-1)!;
    expect(message).toMatchObject({ saidEnded: true, hop: { count: hops + 1 } });
    delays.push(delayS);
    task.nowS += delayS;
    expect(await task.poll(message)).toBe('working');
  }
  expect(delays).toEqual([1, 2, 4, 8, 16, 32]);
  expect([task.reads, lookAgainAtMs(at(0), 6)]).toEqual([7, Infinity]);
});

test('poke whose claim was lost: it is sent again, since what moved the instant may have read before the push', async () => {
  const task = await Task.pushed({ pollErrors: 1 });
  // A read that began before the task ended records what it saw, between the poke's read of the item and its claim.
  task.before = async () => {
    await task.move(9 * hour);
    return undefined;
  };
  expect(await task.poll(ended)).toBe('stale');
  expect([task.reads, task.sent]).toEqual([0, [{ message: ended, delayS: 1 }]]);
  const scheduled = await Task.pushed();
  scheduled.before = task.before;
  expect(await scheduled.poll({ ...poke, dueAtMs: at(4 * hour) })).not.toBe('held');
});

test('poke whose server is left alone: the read is put off to then, and still knows of the end', async () => {
  const task = await Task.pushed();
  task.before = async () => ({ kind: 'held', untilMs: at(3 * hour + 30), error: unreachable });
  expect(await task.poll(ended)).toBe('held');
  expect(task.sent).toEqual([{ message: { ...ended, server: 'agent', dueAtMs: at(3 * hour + 30) }, delayS: 30 }]);
  task.before = async () => {
    await task.move(9 * hour);
    return { kind: 'held', untilMs: at(3 * hour + 30), error: unreachable };
  };
  await task.poll(ended);
  expect(task.sent.at(-1)).toEqual({ message: ended, delayS: 1 });
});

test('first push: it is recorded once, for an open wait only, and leaves the marker', async () => {
  const task = await Task.pushed();
  const { pushedAtMs: _, ...fresh } = { ...(await task.token()), waitId: '2' };
  await task.store.tokens.put(fresh);
  expect(await task.store.polls.notePush(runId, '2', at(5))).toBe(true);
  expect(await task.store.polls.notePush(runId, '2', at(6))).toBe(false);
  expect(await task.store.tokens.read(runId, '2')).toMatchObject({ pushedAtMs: at(5), dueAtMs: at(4 * hour) });
  expect(await task.store.polls.notePush(runId, '3', at(5))).toBe(false);
  expect(await task.store.tokens.read(runId, '3')).toBeUndefined();
});
