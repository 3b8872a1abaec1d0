import { describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../lib/history/event.js';
import { describe as describeWorld, simulate } from './simulate.js';
import { scenarios, type Scenario } from './scenarios.js';
import type { World } from './world.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
/** Number of seeds of promise 6: when messages are lost, and when they are duplicated and late. */
const seeds = Number(process.env['SIM_SEEDS'] ?? 1_000);

const named = (name: string): Scenario => {
  const scenario = scenarios.find((candidate) => candidate.name === name);
  if (scenario === undefined) throw new Error(`no scenario is named ${name}`);
  return scenario;
};

/** Returns the shape of a history without its times: kinds of events and the waits they are about. */
const shapeOf = (events: readonly HistoryEvent[]): readonly string[] =>
  events.map((event) => ('waitId' in event ? `${event.type} ${event.waitId}` : event.type));

function expectClean(world: World, seed: number): void {
  expect(describeWorld(world), `seed ${seed}\n${world.trace.join('\n')}`).toBe('');
}

describe('when every queue message of ten minutes is lost', () => {
  test.each([
    'sequence',
    'race of two remote tasks',
    'five remote tasks',
    'short timers',
    'two timers',
    'cancel of a quiet run',
  ])('a run of "%s" that was under way is done within two sweeps after them', { timeout: 600_000 }, async (name) => {
    const scenario = named(name);
    for (let seed = first; seed < first + seeds / 6; seed++) {
      // Messages are lost from a moment in the first two minutes on, a different one for each seed.
      const from = 4 + ((seed * 7) % 100);
      const until = from + 600;
      const { world, endedAtMs, runId } = await simulate(scenario, { seed, dropAllMessagesS: { from, until } });
      expectClean(world, seed);
      expect(endedAtMs, `seed ${seed}: run ${runId} has not ended\n${world.trace.join('\n')}`).toBeDefined();
      const lateS = world.secondsOf(endedAtMs ?? 0) - until;
      expect(
        lateS,
        `seed ${seed}: ended ${lateS} s after the messages came through again\n${world.trace.join('\n')}`,
      ).toBeLessThanOrEqual(120 + followUpS(name));
    }
  });

  test('a run whose start was never announced begins at the next sweep', async () => {
    const { world, endedAtMs } = await simulate(named('short timers'), {
      seed: 1,
      dropAllMessagesS: { from: 0, until: 600 },
    });
    expect(describeWorld(world)).toBe('');
    expect(world.secondsOf(endedAtMs ?? Infinity)).toBeLessThan(600 + 120 + 52);
  });
});

/**
 * Returns the seconds that the workflow itself still has to wait once the messages arrive: for its timers and its
 * remote tasks.
 */
function followUpS(name: string): number {
  switch (name) {
    case 'short timers':
      return 52;
    case 'two timers':
      return 300;
    case 'five remote tasks':
      return 5;
    default:
      return 2;
  }
}

describe('when every message comes twice, late and out of order', () => {
  test.each(['sequence', 'short timers', 'deadline', 'no dedupe'])(
    'the history of "%s" is the same',
    { timeout: 600_000 },
    async (name) => {
      const scenario = named(name);
      const calm = await simulate(scenario, { seed: 0 });
      for (let seed = first; seed < first + seeds / 5; seed++) {
        const { world, runId } = await simulate(scenario, { seed, chaoticQueues: { lateS: 90 } });
        expectClean(world, seed);
        expect(shapeOf(world.log(runId)), `seed ${seed}`).toEqual(shapeOf(calm.world.log(calm.runId)));
      }
    },
  );

  test('a run of five parallel remote tasks has the same events and outcome', { timeout: 600_000 }, async () => {
    const scenario = named('five remote tasks');
    const calm = await simulate(scenario, { seed: 0 });
    const outcome = (world: World, runId: string): unknown =>
      world.log(runId).find((event) => event.type === 'RunEnding')?.outcome;
    // Steps follow the settlements, so their numbers follow the order in which polls saw the tasks end.
    const sorted = (events: readonly HistoryEvent[]): readonly string[] =>
      shapeOf(events)
        .map((shape) => shape.replace(/ \d+$/, ''))
        .sort();
    for (let seed = first; seed < first + seeds / 5; seed++) {
      const { world, runId } = await simulate(scenario, { seed, chaoticQueues: { lateS: 90 } });
      expectClean(world, seed);
      expect(sorted(world.log(runId)), `seed ${seed}`).toEqual(sorted(calm.world.log(calm.runId)));
      expect(outcome(world, runId)).toEqual(outcome(calm.world, calm.runId));
    }
  });
});
