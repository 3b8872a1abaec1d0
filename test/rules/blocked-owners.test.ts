import { expect, test } from 'vitest';
import { call, play } from './scene.js';

// A run that was blocked behind the back of an owner that goes on late.

test('wake after a refused marker: an owner that finds its run blocked meanwhile has it looked at now, not in an hour', async () => {
  // The first turn knows of no settlement and is about to remove the head's marker, the only one that the block leaves.
  let thawedAtS = 0;
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    other: {
      run: async (_ctx, step) => step('something else'),
      isDeployed: (seconds) => seconds > 10 && seconds < 600,
    },
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [
      {
        who: 'turn 1',
        at: 'update a dueSeq',
        what: {
          // The next look at the blocked run is minutes away, and the code fits again.
          freezeUntil: ({ world, runId }) => {
            const dueAtMs = Number(world.items.get(`run#${runId} a`)?.['dueAtMs'] ?? 0);
            if (world.seconds <= 600 || dueAtMs <= world.nowMs + 150_000) return false;
            thawedAtS = world.seconds;
            return true;
          },
        },
      },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(thawedAtS).toBeGreaterThan(600);
  expect(endedAtS - thawedAtS).toBeLessThan(10);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
