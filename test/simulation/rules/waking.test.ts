import { expect, test } from 'vitest';
import { call, play } from './scene.js';

// Wakes and polls: they are hints, but each must do its part. Times are those of the virtual clock.

test('fresh dedup id: the queue does not take a wake for an earlier one', async () => {
  const { outcome, endedAtS, violations } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(1, runId, '1', 'pushed');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(endedAtS).toBeLessThan(5);
  expect(violations).toBe('');
});

test('fresh dedup id: the next sweep wakes a run again whose turn was lost', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => ctx.sleep({ minutes: 30 }),
    callers: (world, runId) => {
      world.stopAt(30, runId, 'cancel', 'c1');
    },
    script: [
      { who: 'caller 1', at: 'wake', what: 'drop' },
      { who: 'turn 2', at: 'query a,h#', what: 'crashAndMessageLost' },
    ],
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(endedAtS).toBeLessThan(125);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('poll claims before it reads: a message that comes twice is read once', async () => {
  const { world, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    script: [{ who: 'turn 1', at: 'poll', what: 'duplicate' }],
    endS: 10,
  });
  expect(world.remote.reads).toBe(1);
  expect(unplayed).toEqual([]);
});

test('poll claims before it reads: two that saw the same due instant do not both read', async () => {
  const { world, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    script: [
      { who: 'turn 1', at: 'poll', what: 'duplicate' },
      { who: 'poll 1', at: 'update t#1', what: 'freeze3' },
    ],
    endS: 12,
  });
  expect(world.remote.reads).toBe(1);
  expect(unplayed).toEqual([]);
});

test('poll sees settled: a poll that finds a settlement with a standing marker makes up for its lost wake', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(8, runId, '1', 'pushed');
    },
    script: [{ who: 'relay 1', at: 'wake', what: 'drop' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(endedAtS).toBeLessThan(20);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('poll sees settled: a claim that is refused for a settlement makes up for its lost wake', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(8, runId, '1', 'pushed');
    },
    script: [
      { who: 'poll 1', at: 'update t#1', what: { freezeUntil: ({ token }) => token('1')?.settlement !== undefined } },
      { who: 'relay 1', at: 'wake', what: 'drop' },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(endedAtS).toBeLessThan(20);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
