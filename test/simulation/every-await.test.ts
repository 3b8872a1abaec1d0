import { describe, expect, test } from 'vitest';
import { everyAwaitScenarios, slowWithoutDedupe, withoutDedupe } from './every-await-scenarios.js';
import { checkInstant, checkWrite } from './oracles.js';
import { seeded } from './random.js';
import type { Scenario } from './scenarios.js';
import { describe as describeWorld, simulate } from './simulate.js';
import type { World } from './world.js';

/**
 * An await point is a call through a port of the engine: a write, transaction, read or query of the table or of an
 * index, a send to a queue, a start, read or cancel at the remote server, a delay. At each await point of the run
 * without faults a process dies twice, each time in a world of its own: before the call takes effect, and after it took
 * effect but before the caller learns of it. The invariants I1-I9 and I15 are those of `checkWrite`, `checkInstant` and
 * `checkEnd`.
 */
const deaths = ['crash', 'crashAfter'] as const;
type Death = (typeof deaths)[number];

const sweepMs = 61_000;
/** The delay that a death may cause: a sweep, and the time for which a dead turn holds its message and its run. */
const deathCostMs = (60 + 90 + 60) * 1000;
/** Random pairs of deaths for each scenario. */
const pairs = Number(process.env['SIM_PAIRS'] ?? 100);

interface Ended {
  readonly world: World;
  readonly endedAtMs: number | undefined;
  /** The outcomes of the runs, in an order that does not depend on their ids. */
  readonly outcomes: readonly string[];
  /** Await points until the last run had ended and cleaned up. */
  readonly points: number;
}

/** Lets a process die at each of these await points, counted from 0. */
async function runWith(scenario: Scenario, dying: ReadonlyMap<number, Death>, baselineEndMs = 0): Promise<Ended> {
  const passedAtMs: number[] = [];
  let nowMs = 0;
  let isChanged = false;
  let checkedAtMs = 0;
  const { world, endedAtMs } = await simulate(
    scenario,
    {
      seed: 1,
      endS: 900 + (scenario.slackS ?? 0),
      callersAskAgain: true,
      onApplied: (items, current) => {
        isChanged = true;
        checkWrite(items, current);
      },
      direct: () => dying.get(passedAtMs.push(nowMs) - 1),
    },
    baselineEndMs,
    (current) => {
      nowMs = current.nowMs;
      if (!isChanged && current.nowMs < checkedAtMs + 10_000) return;
      isChanged = false;
      checkedAtMs = current.nowMs;
      checkInstant(current, sweepMs + deathCostMs * dying.size);
    },
  );
  const points = passedAtMs.filter((atMs) => atMs <= (endedAtMs ?? Infinity) + 1_000).length;
  return { world, endedAtMs, outcomes: outcomesOf(world), points };
}

function outcomesOf(world: World): readonly string[] {
  const outcomes = world.runIds().map((runId) => {
    const ending = world.log(runId).find((event) => event.type === 'RunEnding');
    // The id of the continuing run is random, and the signals that it has depend on time.
    const outcome = ending?.outcome.status === 'continued' ? 'continued' : ending?.outcome;
    return JSON.stringify([world.items.get(`run#${runId} a`)?.['workflow'], outcome]);
  });
  return outcomes.sort();
}

function traceOf(world: World): string {
  return world.trace.filter((line) => !line.includes('sweep')).join('\n');
}

const calm = new Map(
  await Promise.all(
    [...everyAwaitScenarios, withoutDedupe, slowWithoutDedupe].map(
      async (scenario) => [scenario.name, await runWith(scenario, new Map())] as const,
    ),
  ),
);

/** Minimum numbers of await points: a scenario that ends at once would show nothing. */
const leastPoints: Readonly<Record<string, number>> = {
  'single call': 60,
  'single call with a bus': 65,
  'slow start': 60,
  'cancel during a slow start': 30,
  all: 60,
  'race with timer': 50,
  cancel: 30,
  children: 90,
  'continue as new': 45,
  'signal in the last turn': 80,
  saga: 30,
  deadline: 40,
  'external settlement': 30,
};

describe.each(everyAwaitScenarios)('$name', (scenario) => {
  const baseline = calm.get(scenario.name)!;

  async function expectRight(dying: ReadonlyMap<number, Death>): Promise<void> {
    const { world, outcomes } = await runWith(scenario, dying, baseline.endedAtMs);
    const where = `${JSON.stringify([...dying])}\n${traceOf(world)}`;
    expect(describeWorld(world), where).toBe('');
    expect(outcomes, where).toEqual(baseline.outcomes);
    // A repeated start finds the existing task; a call that failed made none.
    expect(world.remote.tasks.length, where).toBeLessThanOrEqual(baseline.world.remote.tasks.length);
    const keys = world.remote.starts.map(({ key }) => key);
    const most = Math.max(0, ...keys.map((key) => keys.filter((other) => other === key).length));
    expect(most, `starts of one call ${where}`).toBeLessThanOrEqual(1 + dying.size);
  }

  test('breaks no rule without a death', () => {
    expect(describeWorld(baseline.world)).toBe('');
    expect(baseline.points).toBeGreaterThanOrEqual(leastPoints[scenario.name] ?? Infinity);
    const keys = baseline.world.remote.starts.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test(
    `ends the same when a process dies before or after any of ${baseline.points} awaits (EN-34)`,
    { timeout: 600_000 },
    async () => {
      for (let at = 0; at < baseline.points; at++) {
        for (const death of deaths) await expectRight(new Map([[at, death]]));
      }
    },
  );

  test(`ends the same when processes die at any two of them, ${pairs} pairs`, { timeout: 600_000 }, async () => {
    const random = seeded(1);
    const point = (): number => Math.floor(random() * baseline.points);
    const death = (): Death => (random() < 0.5 ? 'crash' : 'crashAfter');
    for (let pair = 0; pair < pairs; pair++) {
      await expectRight(
        new Map([
          [point(), death()],
          [point(), death()],
        ]),
      );
    }
  });
});

test('a signal comes between the reading and the end of the last turn', () => {
  const { trace } = calm.get('signal in the last turn')!.world;
  const ends = trace.filter((line) => line.includes('transact h#') && line.endsWith('a=completed'));
  expect(ends.length).toBeGreaterThan(1);
});

test.each([withoutDedupe, slowWithoutDedupe])(
  'a start of unknown fate is not repeated, whichever await a process dies at: $name',
  { timeout: 600_000 },
  async (scenario) => {
    const baseline = calm.get(scenario.name)!;
    const seen = new Set<string>();
    for (let at = 0; at < baseline.points; at++) {
      for (const death of deaths) {
        const { world, outcomes } = await runWith(scenario, new Map([[at, death]]), baseline.endedAtMs);
        const where = `${death} at await ${at}\n${traceOf(world)}`;
        expect(describeWorld(world), where).toBe('');
        expect(world.remote.starts.length, where).toBeLessThanOrEqual(1);
        expect(outcomes, where).toHaveLength(1);
        seen.add(outcomes[0] ?? '');
      }
    }
    const ended = (result: string): string =>
      `["${scenario.name.replaceAll(' ', '-')}",{"status":"completed","result":["${result}","s1"]}]`;
    expect([...seen].sort()).toEqual([ended('REMOTE_START_AMBIGUOUS'), ended('r1')]);
  },
);
