import { expect, test } from 'vitest';
import type { World } from '../world.js';
import { play } from './scene.js';

// Requests that may and may not change a running attempt of a long step. Times are those of the virtual clock.

/** Returns when each attempt began, in seconds, with the number that the step received. */
const attemptsIn = (world: World): readonly (readonly [atS: number, attempt: number])[] =>
  world.trace.flatMap((line) => {
    const match = /^(\S+) long step \S+, attempt (\d+)/.exec(line);
    return match === null ? [] : [[Number(match[1]), Number(match[2])] as const];
  });

test('retry now and a lease: an attempt that is under way is left alone', async () => {
  const { world, outcome, violations } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 60),
    callers: (playing, runId) => {
      playing.retryNowAt(15, runId);
    },
    script: [],
  });
  expect(attemptsIn(world).map(([, attempt]) => attempt)).toEqual([1]);
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(violations).toBe('');
});

test('retry now once: a request is not for attempts that fail after it', async () => {
  const { world, outcome, violations } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 10, 2),
    callers: (playing, runId) => {
      // The first attempt fails at 10 s, the second one, which was requested, at 25 s.
      playing.retryNowAt(15, runId);
      playing.wakeAt(30, runId);
    },
    script: [],
  });
  const [, second = [0, 0], third = [0, 0]] = attemptsIn(world);
  expect(second[0]).toBeLessThan(20);
  expect(third[0]).toBeGreaterThan(60);
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(violations).toBe('');
});

test('interrupted long step: it ends only if nothing was heard of its worker since it was read', async () => {
  let playing: World | undefined;
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) =>
      ctx.step('l1', async (context) => playing?.longStep(ctx.runId, 'l1', context, 300, 0), {
        long: true,
        atMostOnce: true,
      }),
    callers: (created) => {
      playing = created;
    },
    script: [
      // Its beats come late, but they come.
      { who: 'worker 1', at: 'update t#1 dueAtMs', what: { freezeUntil: ({ played }) => played(1) } },
      {
        who: 'worker 2',
        at: 'update t#1 settledAtMs',
        what: { freezeUntil: ({ world: now, token }) => (token('1')?.dueAtMs ?? 0) > now.nowMs },
      },
    ],
  });
  expect(attemptsIn(world).map(([, attempt]) => attempt)).toEqual([1]);
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
