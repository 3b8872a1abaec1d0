import { expect, it } from 'vitest';
import { costOfResuming, costOfSteps, costOfWaits } from '../../../bench/measure-large-runs.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';

it.each([
  [1_000, { writes: 1_003, reads: 9, items: 1_007, turns: 4 }],
  [10_000, { writes: 10_003, reads: 81, items: 10_043, turns: 40 }],
])('%i sequential steps in turns of 250 are a write each, and each turn reads only its head', async (steps, cost) => {
  // The last turn reads the run once, after it has ended.
  expect(await costOfSteps(new MemoryTable(), steps, 250)).toMatchObject(cost);
});

it.each([
  [100, { writes: 300, reads: 302, turns: 100 }],
  [1_000, { writes: 3_000, reads: 3_002, turns: 1_000 }],
])(
  '%i parallel remote waits that are settled one by one are three writes and three reads each',
  async (waits, cost) => {
    expect(await costOfWaits(new MemoryTable(), waits, { settled: 'oneByOne', memory: 'warm' })).toMatchObject(cost);
  },
);

it('100 settlements that come together are taken in by one turn where the run is not remembered; the other turns read it for nothing', async () => {
  const cold = await costOfWaits(new MemoryTable(), 100, { settled: 'together', memory: 'cold' });
  expect(cold).toMatchObject({ writes: 201, turns: 100 });
  const warm = await costOfWaits(new MemoryTable(), 100, { settled: 'together', memory: 'warm' });
  expect(warm).toMatchObject({ writes: 300, turns: 100 });
  expect(warm.items).toBeLessThan(cold.items / 20);
});

it('a run of 5,000 events goes on with two items where it is remembered, and else with all', async () => {
  expect(await costOfResuming(new MemoryTable(), 5_000, 'cold')).toMatchObject({ reads: 1, items: 2_503, turns: 1 });
  const warm = await costOfResuming(new MemoryTable(), 5_000, 'warm');
  expect(warm).toMatchObject({ reads: 3, items: 2, turns: 1 });
  expect(warm.bytes).toBeLessThan(2_000);
});
