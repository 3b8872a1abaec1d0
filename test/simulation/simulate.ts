import { AssertionError } from 'node:assert';
import { checkPublished } from './event-oracles.js';
import { checkEnd, checkWrite } from './oracles.js';
import { workflowsOf, type Scenario } from './scenarios.js';
import { seeded } from './random.js';
import { World, type WorldOptions } from './world.js';

export interface Simulated {
  readonly world: World;
  readonly runId: string;
  readonly endedAtMs: number | undefined;
}

export type SimulateOptions = Partial<Omit<WorldOptions, 'other'>> & {
  readonly seed: number;
  /** Another version of the code, and the share of invocations that gets it. */
  readonly other?: { readonly scenario: Scenario; readonly shareAt: (seconds: number) => number };
};

/** Simulates one scenario in one world. */
export async function simulate(
  scenario: Scenario,
  { other, ...options }: SimulateOptions,
  baselineEndMs = 0,
  afterStep?: (world: World) => void,
): Promise<Simulated> {
  let world: World | undefined = undefined;
  const current = (): World => world as unknown as World;
  const created = new World({
    faultRate: 0,
    workflows: workflowsOf(scenario, current),
    ...(scenario.tools === undefined ? {} : { tools: scenario.tools }),
    ...(scenario.dedupes === undefined ? {} : { dedupes: scenario.dedupes }),
    ...(scenario.asks === undefined ? {} : { asks: scenario.asks }),
    ...(scenario.finds === undefined ? {} : { finds: scenario.finds }),
    ...(scenario.lists === undefined ? {} : { lists: scenario.lists }),
    ...(scenario.startsTakeS === undefined ? {} : { startsTakeS: scenario.startsTakeS }),
    ...(scenario.bus === undefined ? {} : { bus: scenario.bus }),
    onApplied: checkWrite,
    onPublished: checkPublished,
    ...(other === undefined
      ? {}
      : { other: { workflows: workflowsOf(other.scenario, current), shareAt: other.shareAt } }),
    ...options,
  });
  world = created;
  const runId = created.startAt(0, scenario.name.replaceAll(' ', '-'), 'k');
  scenario.callers?.(created, runId);
  await created.run(() => {
    afterStep?.(created);
    return false;
  });
  await checkEnd(created, { baselineEndMs, slackS: scenario.slackS ?? 0 });
  return { world: created, runId, endedAtMs: lastEndMs(created) };
}

/** Returns when the last of all runs ended; undefined while one has not. */
function lastEndMs(world: World): number | undefined {
  const ends = world.runIds().map((runId) => Number(world.items.get(`run#${runId} a`)?.['endedAtMs'] ?? Number.NaN));
  const last = Math.max(...ends);
  return Number.isFinite(last) ? last : undefined;
}

const baselines = new Map<string, number>();

/** Returns when the scenario ends without faults. */
export async function baselineEndMs(scenario: Scenario): Promise<number> {
  const known = baselines.get(scenario.name);
  if (known !== undefined) return known;
  const { endedAtMs, world } = await simulate(scenario, { seed: 0 });
  if (world.violations.size > 0 || endedAtMs === undefined)
    throw new AssertionError({
      message: `expected scenario "${scenario.name}" to break no rule without faults: ${describe(world)}`,
    });
  baselines.set(scenario.name, endedAtMs);
  return endedAtMs;
}

/** Simulates a seed with a fault rate drawn from it, as the model does: up to 15 % of operations fail. */
export async function simulateSeed(scenario: Scenario, seed: number): Promise<Simulated> {
  const faultRate = seeded(seed * 7919 + 13)() * 0.15;
  return simulate(scenario, { seed, faultRate }, await baselineEndMs(scenario));
}

export function describe(world: World): string {
  return [...world.violations].map(([kind, detail]) => `${kind}: ${detail}`).join('; ');
}
