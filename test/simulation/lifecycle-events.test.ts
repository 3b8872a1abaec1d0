import { describe, expect, test } from 'vitest';
import { seeded } from './random.js';
import { scenarios } from './scenarios.js';
import { describe as describeWorld, simulate, type Simulated } from './simulate.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const count = Number(process.env['SIM_SEEDS'] ?? 10);

// The oracles check that every lifecycle event of a history is published, that nothing else is, and that repeats are
// the same.

describe.each(scenarios)('$name, with a bus', (scenario) => {
  test(
    `every lifecycle event is published under faults, ${count} seeds from ${first}`,
    { timeout: 600_000 },
    async () => {
      const calm = await simulate(scenario, { seed: 0, bus: true });
      expect(describeWorld(calm.world)).toBe('');
      expect(calm.world.published.length).toBeGreaterThan(1);
      for (let seed = first; seed < first + count; seed++) {
        const faultRate = seeded(seed * 7919 + 13)() * 0.15;
        const { world } = await simulate(scenario, { seed, faultRate, bus: true }, calm.endedAtMs);
        expect(describeWorld(world), `seed ${seed}\n${traceOf(world)}`).toBe('');
      }
    },
  );
});

describe('while the bus takes nothing for twenty minutes', () => {
  test.each(scenarios)('a run of $name continues, and its events are published afterwards', async (scenario) => {
    const calm = await simulate(scenario, { seed: 0, bus: true });
    const gone = await simulate(scenario, { seed: 0, bus: true, busIsGoneS: { from: 0, until: 1_200 } }, Infinity);
    expect(describeWorld(gone.world), traceOf(gone.world)).toBe('');
    expect(shapeOf(gone)).toEqual(shapeOf(calm));
    // There are some more or fewer operations, since the record of what has been published is written later.
    expect(Math.abs((gone.endedAtMs ?? Infinity) - (calm.endedAtMs ?? 0))).toBeLessThan(1_000);
  });
});

test('without faults each event is published once', async () => {
  for (const scenario of scenarios) {
    const { world } = await simulate(scenario, { seed: 0, bus: true });
    const ids = world.published.map(({ eventId }) => eventId);
    expect(ids, scenario.name).toEqual([...new Set(ids)]);
  }
});

test('without a bus no head says anything of events', async () => {
  const { world, runId } = await simulate(scenarios[0]!, { seed: 0 });
  expect(world.items.get(`run#${runId} a`)).not.toHaveProperty('publishedSeq');
});

function traceOf(world: Simulated['world']): string {
  return world.trace.filter((line) => !line.includes('sweep')).join('\n');
}

function shapeOf({ world, runId }: Simulated): readonly string[] {
  return world.log(runId).map((event) => ('waitId' in event ? `${event.type} ${event.waitId}` : event.type));
}
