import { expect, test } from 'vitest';
import { call, play } from './scene.js';

// Markers of what was taken in: which of them a turn that ends a run may rely on.

test('marker of another owner: an end does not count on a marker that the turn which took it in may still remove', async () => {
  // The first turn removes the head's marker of the start when the second one has a timer in the log, whose own marker
  // is in flight. The third one ends the run and dies. The head's marker of the second one is refused then, its wake is
  // lost, and it removes the marker of the settlement that it took in.
  const { world, runId, outcome, violations, unplayed } = await play({
    run: async (ctx) => {
      await call(ctx, 'r1');
      await ctx.sleep({ minutes: 1 });
    },
    bus: true,
    callers: (playing, run) => {
      playing.settleAt(30, run, '1', 'pushed');
    },
    script: [
      { who: 'turn 1', at: 'update a dueSeq', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: 'update a dueSeq', what: { freezeUntil: ({ played }) => played(2) } },
      { who: 'turn 3', at: /^publish .*RunCompleted/, what: 'crashAndMessageLost' },
      { who: 'turn 2', at: 'wake', what: 'drop' },
    ],
  });
  expect(outcome).toEqual({ status: 'completed' });
  expect(violations).toBe('');
  expect(world.items.get(`run#${runId} a`)).not.toHaveProperty('dueAtMs');
  expect(unplayed).toEqual([]);
});

test('marker of its own: an end whose settlement this turn took in writes no marker of the head, and has none to remove', async () => {
  const { world, outcome, violations } = await play({
    run: async (ctx, step) => [await call(ctx, 'r1'), await step('s1')],
    callers: (playing, run) => {
      playing.settleAt(30, run, '1', 'pushed');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'completed', result: ['pushed', 's1'] });
  const end = world.trace.findIndex((line) => line.endsWith('a=completed'));
  expect(world.trace.slice(end + 1).map((line) => line.split(' ').slice(2).join(' '))).toEqual([
    'update t#1 -dueShard,-dueAtMs',
  ]);
  expect(violations).toBe('');
});
