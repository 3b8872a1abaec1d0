import { expect, test } from 'vitest';
import { RunStore } from '../../../lib/store/run-store.js';
import { call, play } from './scene.js';

// Settling a wait, and taking settlements in.

test('settle if there is no settlement: of two at the same instant one is told true, and its result is what counts', async () => {
  const { world, outcome, violations } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'first');
      world.settleAt(30, runId, '1', 'second');
    },
    script: [],
  });
  expect(world.settledTrue).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'first' });
  expect(violations).toBe('');
});

test('settle if there is no settlement: the winner is told true although the acknowledgement of its write was lost', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [{ who: 'relay 1', at: 'update t#1', what: 'lostAck' }],
  });
  expect(world.settledTrue).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('settle if the item exists: a token of a wait that was never asked for settles nothing', async () => {
  const { world, outcome, violations } = await play({
    run: async (ctx) => [await call(ctx, 'r1'), await call(ctx, 'r2')],
    tools: { r2: 20 },
    callers: (world, runId) => {
      world.settleAt(10, runId, '2', 'too early');
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [],
  });
  expect(world.settledTrue).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: ['pushed', 'r2'] });
  expect(violations).toBe('');
});

test('only what was requested: an item whose request is not in the commits read is left alone until it is', async () => {
  const { log, outcome, violations } = await play({
    run: async (ctx) => [await call(ctx, 'r1'), await call(ctx, 'r2')],
    callers: (world, runId) => {
      world.atSecond(10, () => {
        const atMs = world.nowMs;
        const store = new RunStore(world.table);
        const token = {
          runId,
          waitId: '2',
          attempt: 1,
          writerId: 'w',
          createdAtMs: atMs,
          deadlineAtMs: atMs + 3_600_000,
          pollErrors: 0,
        };
        void store.tokens.put(token);
        void store.tokens.settle(runId, '2', {
          writerId: 's',
          atMs,
          by: 'relay',
          outcome: { kind: 'completed', result: 'early', isError: false },
        });
        world.settledTrue.push(`${runId}/2`);
      });
      // Settled after a sweep, so that a turn has read the whole run by then.
      world.settleAt(130, runId, '1', 'pushed');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'completed', result: ['pushed', 'early'] });
  const ofSecondWait = log.filter((event) => 'waitId' in event && event.waitId === '2').map(({ type }) => type);
  expect(ofSecondWait).toEqual(['RemoteTaskRequested', 'TokenSettled']);
  expect(violations).toBe('');
});
