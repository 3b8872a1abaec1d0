import { expect, test } from 'vitest';
import { call, play } from './scene.js';

// Markers: what brings a run back when every message about it is lost.

test('markers last: a turn that dies after it took in a settlement is made up for', async () => {
  const { outcome, violations, unplayed } = await play({
    run: async (ctx, step) => [await call(ctx, 'r1'), await step('s1')],
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [{ who: 'turn 2', at: /h#0000000003/, what: 'crashAndMessageLost' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: ['pushed', 's1'] });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('head marker kept until quiet: a first turn that dies during a step is made up for', async () => {
  const { outcome, violations, unplayed } = await play({
    run: async (_ctx, step) => step('s1'),
    script: [{ who: 'turn 1', at: /h#0000000002/, what: 'crashAndMessageLost' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 's1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('dueSeq: an owner that wakes up late does not take away the timer of a newer commit', async () => {
  // The first turn knows of no timer and is about to remove the head's marker.
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => {
      await call(ctx, 'r1');
      await ctx.sleep({ minutes: 20 });
      return 'slept';
    },
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [{ who: 'turn 1', at: 'update a dueSeq', what: { freezeUntil: ({ world }) => world.seconds >= 600 } }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'slept' });
  expect(endedAtS).toBeLessThan(1400);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('blocks: an owner that wakes up late does not take away the marker of a run that was blocked meanwhile', async () => {
  // The first turn knows of no settlement and is about to remove the head's marker, the only one that the block leaves.
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    other: {
      run: async (_ctx, step) => step('something else'),
      isDeployed: (seconds) => seconds > 10 && seconds < 1_000,
    },
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [
      {
        who: 'turn 1',
        at: 'update a dueSeq',
        what: {
          // Waits until the next retry of the blocked run is so far away that no message of it is in flight.
          freezeUntil: ({ world, runId }) =>
            Number(world.items.get(`run#${runId} a`)?.['dueAtMs'] ?? 0) > world.nowMs + 150_000,
        },
      },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(endedAtS).toBeLessThan(2_000);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('start marker: a run whose first wake is lost starts within two sweeps', async () => {
  const { endedAtS, violations, unplayed } = await play({
    run: async () => 'done',
    script: [{ who: 'start 1', at: 'wake', what: 'drop' }],
  });
  expect(endedAtS).toBeLessThan(120);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('inbox marker: a cancel whose wake is lost reaches a quiet run within two sweeps', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => ctx.sleep({ minutes: 30 }),
    callers: (world, runId) => {
      world.stopAt(30, runId, 'cancel', 'c1');
    },
    script: [{ who: 'caller 1', at: 'wake', what: 'drop' }],
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(endedAtS).toBeLessThan(150);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('settlement marker: a settlement whose wake is lost is taken in within two sweeps, however seldom the task is polled', async () => {
  let settledAtS = Infinity;
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(3100, runId, '1', 'pushed');
    },
    script: [
      {
        who: 'relay 1',
        at: 'update t#1',
        // Waits until the next poll is almost five minutes away.
        what: {
          freezeUntil: ({ world, token }) => {
            settledAtS = world.seconds;
            return (token('1')?.dueAtMs ?? 0) > world.nowMs + 290_000;
          },
        },
      },
      { who: 'relay 1', at: 'wake', what: 'drop' },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(endedAtS - settledAtS).toBeLessThan(120);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
