import { describe, expect, test } from 'vitest';
import { baselineEndMs, describe as describeWorld, simulateSeed } from './simulate.js';
import { scenarios } from './scenarios.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const count = Number(process.env['SIM_SEEDS'] ?? 80);

describe.each(scenarios)('$name', (scenario) => {
  test('ends cleanly without faults', async () => {
    await baselineEndMs(scenario);
  });

  test(`breaks no rule under faults, ${count} seeds from ${first}`, { timeout: 600_000 }, async () => {
    for (let seed = first; seed < first + count; seed++) {
      const { world } = await simulateSeed(scenario, seed);
      expect(
        describeWorld(world),
        `seed ${seed}, ${world.faults} faults\n${world.trace.filter((line) => !line.includes('sweep')).join('\n')}`,
      ).toBe('');
    }
  });
});
