import { expect, test } from 'vitest';
import { play, type Scene } from './scene.js';

// The number of due shards over which markers are spread may differ between two processes, and change at any time. The
// run of these scenes has shard 253 of 256, 61 of 64 and 13 of 16. Only a sweep can find its timer.

const longSleep: Scene['run'] = async (ctx) => ctx.sleep({ minutes: 30 }).then(() => 'slept');
const slept = { status: 'completed', result: 'slept' };

test('sweeps what is remembered: a sweep that spreads less far finds the markers of those that spread further', async () => {
  const { outcome, endedAtS, violations } = await play({
    run: longSleep,
    dueShardsOf: (process) => (process.startsWith('sweep') ? 16 : 256),
    script: [],
  });
  expect(outcome).toEqual(slept);
  expect(endedAtS).toBeLessThan(1_860);
  expect(violations).toBe('');
});

test('sweeps what is remembered: markers of before a rollback are found after it', async () => {
  const { outcome, endedAtS, violations } = await play({
    run: longSleep,
    dueShardsOf: (_, seconds) => (seconds < 60 ? 256 : 16),
    script: [],
  });
  expect(outcome).toEqual(slept);
  expect(endedAtS).toBeLessThan(1_860);
  expect(violations).toBe('');
});

test('remembered before it is used: a turn that dies in between leaves no marker where nobody looks', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: longSleep,
    dueShardsOf: (process) => (process.startsWith('turn') ? 256 : 16),
    script: [{ who: 'turn 1', at: 'update a shards', what: 'crashAndMessageLost' }],
  });
  expect(outcome).toEqual(slept);
  expect(endedAtS).toBeLessThan(1_860);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('never remembers less: one that spreads less far does not hide the markers of another', async () => {
  const { outcome, endedAtS, violations, world } = await play({
    run: longSleep,
    dueShardsOf: (_, seconds) => (seconds < 5 ? 256 : seconds < 20 ? 64 : 16),
    callers: (starting) => {
      starting.startAt(5, 'scene', 'of 64');
    },
    script: [],
  });
  expect(outcome).toEqual(slept);
  expect(endedAtS).toBeLessThan(1_865);
  expect(violations).toBe('');
  expect(world.items.get('due a')).toMatchObject({ shards: 256 });
});

test('a sweep that cannot read what is remembered sweeps its own', async () => {
  const { endedAtS, unplayed } = await play({
    run: async (ctx) => ctx.sleep({ seconds: 150 }),
    dueShardsOf: () => 16,
    // The next sweep would find the timer half a minute late.
    script: [{ who: 'sweep 2', at: 'get due', what: 'throttle' }],
  });
  expect(endedAtS).toBeLessThan(155);
  expect(unplayed).toEqual([]);
});
