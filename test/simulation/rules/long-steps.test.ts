import { expect, test } from 'vitest';
import { aFlow, started } from '../../engine/support.js';
import type { World } from '../world.js';
import { play } from './scene.js';

// Attempts of long steps: claims, beats and strikes. Times are those of the virtual clock.

/** Returns when each attempt began, in seconds, with the number that the step received. */
const attemptsIn = (world: World): readonly (readonly [atS: number, attempt: number])[] =>
  world.trace.flatMap((line) => {
    const match = /^(\S+) long step \S+, attempt (\d+)/.exec(line);
    return match === null ? [] : [[Number(match[1]), Number(match[2])] as const];
  });

/** Returns when the worker of the first attempt beat, in seconds. */
function beatsOfFirst(world: World): readonly number[] {
  const worker = /worker\.\d+/.exec(world.trace.find((line) => line.includes(' worker.')) ?? '')?.[0] ?? 'none';
  return world.trace.flatMap((line) => {
    const match = /^(\S+) (\S+) update t#1 dueAtMs/.exec(line);
    return match?.[2] === worker ? [Number(match[1])] : [];
  });
}

test('long step claim: of two workers that saw the same due instant one begins', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 30),
    script: [
      { who: 'turn 1', at: 'step in', what: 'duplicate' },
      { who: 'worker 1', at: 'update t#1', what: 'freeze3' },
    ],
  });
  expect(attemptsIn(world)).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('long step beat: a worker whose lease ran out and was taken over stops', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 300),
    script: [
      {
        who: 'worker 1',
        at: 'update t#1 dueAtMs',
        what: { freezeUntil: ({ token }) => token('1')?.step?.strikes === 2 },
      },
    ],
  });
  expect(beatsOfFirst(world)).toHaveLength(1);
  expect(attemptsIn(world)).toHaveLength(2);
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('long step beat: a worker whose step nobody waits for any more stops within 20 s', async () => {
  const { world, outcome, violations } = await play({
    run: async (ctx, __, { longStep }) => {
      await ctx.race([
        async (branch) => longStep('l1', 800, 0, branch),
        async (branch) => branch.sleep({ seconds: 30 }),
      ]);
      await ctx.sleep({ seconds: 1_000 });
    },
    script: [],
  });
  // The sweep may be a minute late, the beat 20 s.
  expect(Math.max(...beatsOfFirst(world))).toBeLessThan(111);
  expect(outcome).toEqual({ status: 'completed' });
  expect(violations).toBe('');
});

test('long step strikes: three workers that die with a step end it', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 60),
    script: [1, 2, 3].map((n) => ({ who: `worker ${n}`, at: 'update t#1 dueAtMs', what: 'crash' as const })),
  });
  expect(outcome).toEqual({ status: 'completed', result: 'STEP_POISONED' });
  expect(attemptsIn(world).map(([, attempt]) => attempt)).toEqual([1, 1, 1]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('long step strikes: attempts that fail are none', async () => {
  const { world, outcome, violations } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 10, 4),
    script: [],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(attemptsIn(world).map(([, attempt]) => attempt)).toEqual([1, 2, 3, 4, 5]);
  expect(violations).toBe('');
});

test('long step failure: one of a worker that was taken over is not recorded', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 10, 1),
    script: [
      {
        who: 'worker 1',
        at: /^update t#1 writerId,stepFailures/,
        what: { freezeUntil: ({ token }) => token('1')?.step?.strikes === 2 },
      },
      // The whole process is frozen, so it beats no more.
      {
        who: 'worker 1',
        at: 'update t#1 dueAtMs',
        what: { freezeUntil: ({ token }) => token('1')?.step?.strikes === 2 },
      },
    ],
  });
  const [, second = [0, 0], third = [0, 0]] = attemptsIn(world);
  expect(attemptsIn(world).map(([, attempt]) => attempt)).toEqual([1, 1, 2]);
  // The pause follows the failure of the second worker, which worked for 10 s.
  expect(third[0] - second[0]).toBeGreaterThanOrEqual(70);
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('long step message: one that is lost is made up for by the sweep', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (_, __, { longStep }) => longStep('l1', 10),
    script: [{ who: 'turn 1', at: 'step in', what: 'drop' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'l1' });
  expect(endedAtS).toBeLessThan(131);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('long step beat: none is sent once the end of the attempt is recorded', async () => {
  const { app } = await started(
    aFlow(async (ctx) => {
      await ctx.step('short', () => 1, { long: true });
      await ctx.sleep({ minutes: 10 });
    }),
  );
  const { store } = app.deps;
  const beatStep = store.longSteps.beat.bind(store.longSteps);
  let beats = 0;
  store.longSteps.beat = async (...beat) => {
    beats++;
    return beatStep(...beat);
  };
  await app.pass({ minutes: 5 });
  expect(app.clock.nextDelayAtMs()).toBeUndefined();
  expect(beats).toBe(0);
});
