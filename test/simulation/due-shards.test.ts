import { expect, test } from 'vitest';
import { seeded } from './random.js';
import { scenarios } from './scenarios.js';
import { baselineEndMs, describe as describeWorld, simulate } from './simulate.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const seeds = Number(process.env['SIM_SEEDS'] ?? 15);

/** Waits of every kind that only a marker leads back to. */
const names = [
  'sequence',
  'no dedupe but asked',
  'race of two remote tasks',
  'cancel with cleanup',
  'two long timers',
  'children',
  'long step that fails and resumes',
];

/**
 * Raises and lowers the number of shards in the middle of everything, one function after the other. The sweep keeps its
 * 16 throughout.
 */
function upAndDown(seed: number): (process: string, seconds: number) => number {
  const dice = seeded(seed * 31 + 7);
  const numbers = [16, 24, 64, 256] as const;
  return (process, seconds) =>
    process.startsWith('sweep') || process.startsWith('boot') || seconds > 1_000
      ? 16
      : (numbers[Math.floor(dice() * numbers.length)] ?? 16);
}

test.each(scenarios.filter(({ name }) => names.includes(name)))(
  '$name breaks no rule while the number of due shards goes up and down',
  { timeout: 600_000 },
  async (scenario) => {
    const baselineMs = await baselineEndMs(scenario);
    const remembered = new Set<unknown>();
    for (let seed = first; seed < first + seeds; seed++) {
      const options = { seed, faultRate: seeded(seed * 7919 + 13)() * 0.15, dueShardsOf: upAndDown(seed) };
      const { world } = await simulate(scenario, options, baselineMs);
      expect(describeWorld(world), `seed ${seed}\n${world.trace.join('\n')}`).toBe('');
      remembered.add(world.items.get('due a')?.['shards']);
    }
    expect(remembered).toContain(256);
  },
);
