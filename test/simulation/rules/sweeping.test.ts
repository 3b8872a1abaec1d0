import { expect, test } from 'vitest';
import { fanOutDue } from '../../../lib/operations/sweep/fan-out-due.js';
import type { Deps } from '../../../lib/operations/deps.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import type { IndexQuery } from '../../../lib/store/table.js';
import { setImmediate as eventLoop } from 'node:timers/promises';
import { createTestApp } from 'outwait/testing';
import { aFlow, anApp, startMs } from '../../engine/support.js';

// The sweep turns what is due into messages: all of it, each to its queue, and each run once.

/** A table with short pages, as those of DynamoDB are if items are large. */
class ShortPages extends MemoryTable {
  /** A shard that cannot be read. */
  broken: string | undefined;

  override async queryIndex(query: IndexQuery) {
    if (query.partition === this.broken) throw new Error(`shard ${query.partition} is broken`);
    return super.queryIndex({ ...query, limit: Math.min(query.limit, 2) });
  }
}

/** Returns a run whose markers are in that shard; its id begins with the number in hex. */
const runOf = (number: number, shard = 3): string =>
  (shard + 16 * number).toString(16).padStart(4, '0').padEnd(32, 'a');
const seconds = (count: number): number => startMs + count * 1_000;

/** A table, and its sweep at 0 s. Times are in seconds. */
class Sweeping {
  readonly table = new ShortPages();
  readonly store = new RunStore(this.table);
  readonly sent: string[] = [];
  /** Messages that the queue refuses. */
  fails: string | undefined;
  readonly #deps: Deps;

  constructor() {
    const note = async (kind: string, text: string): Promise<void> => {
      if (kind === this.fails) throw new Error('gone');
      // A queue takes its time.
      await eventLoop();
      this.sent.push(`${kind} ${text}`);
    };
    this.#deps = {
      ...createTestApp(anApp(aFlow(async () => undefined))).deps,
      store: this.store,
      clock: { nowMs: () => startMs },
      queues: {
        sendTurn: async ({ runId }, dedupId) => note('turn', `${runId.slice(0, 4)} ${dedupId}`),
        sendWork: async (message, delayMs) =>
          note(
            message.kind,
            `${message.runId.slice(0, 4)} for ${((('dueAtMs' in message ? message.dueAtMs : undefined) ?? 0) - startMs) / 1_000} in ${delayMs / 1_000}`,
          ),
        sendStep: async ({ runId, dueAtMs }, delayMs) =>
          note('step', `${runId.slice(0, 4)} for ${(dueAtMs - startMs) / 1_000} in ${delayMs / 1_000}`),
        sendStart: async ({ runId }) => note('start', runId.slice(0, 4)),
      },
    };
  }

  async head(runId: string, dueS: number): Promise<void> {
    await this.store.heads.create(
      {
        ...{ runId, workflow: 'flow', version: '1', status: 'running', seed: 's', createdAtMs: 1 },
        ...{ inboxCount: 0, dueSeq: 0, blocks: 0, dueAtMs: seconds(dueS) },
      },
      'w',
    );
  }

  async token(runId: string, dueS: number, more: Partial<TokenRecord> = {}): Promise<void> {
    const token = { runId, waitId: '1', attempt: 1, writerId: 'w', createdAtMs: 1, pollErrors: 0 };
    await this.store.tokens.put({ ...token, dueAtMs: seconds(dueS), ...more });
  }

  async settle(runId: string, atS: number): Promise<void> {
    const outcome = { kind: 'completed', result: 1, isError: false } as const;
    await this.store.tokens.settle(runId, '1', { writerId: 's', atMs: seconds(atS), by: 'relay', outcome });
  }

  async sweep() {
    return fanOutDue(this.#deps).catch((error: unknown) => (error as Error).message);
  }
}
const step = { failedAttempts: 0, strikes: 0, sinceMs: 1 };

test('sweep reads further pages: what is beyond the first one is woken too', async () => {
  const scene = new Sweeping();
  for (let number = 0; number < 7; number++) await scene.head(runOf(number), -number);
  expect(await scene.sweep()).toMatchObject({ wakes: 7, oldestDueAgeMs: 6_000 });
  expect(new Set(scene.sent).size).toBe(7);
});

test('sweep sends each to its queue: reads and attempts for their instant, wakes now or then', async () => {
  const scene = new Sweeping();
  await scene.head(runOf(0), -1);
  await scene.head(runOf(1), 30);
  await scene.token(runOf(2), -5, { server: 'reports' });
  await scene.token(runOf(3), 40, { server: 'reports' });
  await scene.token(runOf(4), -5, { step });
  await scene.token(runOf(5), 50, { step });
  await scene.head(runOf(6), 61);
  expect(await scene.sweep()).toEqual({ wakes: 1, polls: 2, steps: 2, oldestDueAgeMs: 5_000 });
  expect([...scene.sent].sort()).toEqual([
    'poll 0023 for -5 in 0',
    'poll 0033 for 40 in 40',
    'step 0043 for -5 in 0',
    'step 0053 for 50 in 50',
    expect.stringMatching(/^turn 0003 sweep-0003/),
    'wake 0013 for 30 in 30',
  ]);
});

test('sweep of settled waits: their runs are woken, and no server and no worker is asked', async () => {
  const scene = new Sweeping();
  await scene.token(runOf(0), 40, { server: 'reports' });
  await scene.settle(runOf(0), -10);
  await scene.token(runOf(1), 40, { step });
  await scene.settle(runOf(1), -10);
  expect(await scene.sweep()).toEqual({ wakes: 2, polls: 0, steps: 0, oldestDueAgeMs: 10_000 });
});

test('sweep wakes a run once, whatever of it is due', async () => {
  const scene = new Sweeping();
  await scene.head(runOf(0), -1);
  await scene.token(runOf(0), 40);
  await scene.settle(runOf(0), -2);
  await scene.store.inbox.put({ runId: runOf(0), inboxId: 'i', kind: 'pause', atMs: 1, dueAtMs: seconds(-3) });
  expect(await scene.sweep()).toMatchObject({ wakes: 1 });
  expect(scene.sent).toHaveLength(1);
});

test('sweep that fails for one: a shard that cannot be read stops no other, and the failure is told', async () => {
  const scene = new Sweeping();
  await scene.head(runOf(0, 3), -1);
  await scene.head(runOf(0, 5), -1);
  scene.table.broken = '3';
  expect(await scene.sweep()).toBe('shard 3 is broken');
  expect(scene.sent).toEqual([expect.stringContaining('turn 0005')]);
});

test('sweep that fails for one: a message that no queue takes stops no other', async () => {
  const scene = new Sweeping();
  await scene.token(runOf(0), -5, { server: 'reports' });
  await scene.head(runOf(1), -1);
  scene.fails = 'poll';
  expect(await scene.sweep()).toMatchObject({ wakes: 1 });
  expect(scene.sent).toHaveLength(1);
});
