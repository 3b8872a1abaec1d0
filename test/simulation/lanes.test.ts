import { expect, it, test } from 'vitest';
import { toCommit } from '../../lib/store/items/commit.js';
import { toHead } from '../../lib/store/items/head.js';
import type { Item } from '../../lib/store/table.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { seeded } from './random.js';
import { World, type Deviation, type WorldOptions } from './world.js';

/** What the lane of the one concurrency key is seen to do. */
interface Seen {
  /** Runs in the order in which the store accepted them. */
  readonly accepted: string[];
  /** Runs in the order in which their code began. */
  readonly begun: string[];
  readonly world: World;
}

type Direct = NonNullable<WorldOptions['direct']>;

/**
 * Simulates runs with one concurrency key that are started within a few seconds, and checks at each write that no two
 * are under way.
 */
async function simulateLane(
  count: number,
  options: Partial<WorldOptions> & { readonly seed: number; readonly cancels?: boolean },
): Promise<Seen> {
  const accepted: string[] = [];
  const begun: string[] = [];
  const underWay = new Set<string>();
  const onApplied = (items: readonly Item[], world: World): void => {
    for (const item of items) {
      const runId = item.pk.slice(item.pk.indexOf('#') + 1);
      if (item.pk.startsWith('lane#') && accepted.at(-1) !== item['runId']) accepted.push(String(item['runId']));
      if (item.sk.startsWith('h#') && toCommit(item).events.some(({ type }) => type === 'RunStarted')) {
        if (underWay.size > 0)
          world.fail('two-under-way', `${runId} began while ${[...underWay].join()} was under way`);
        underWay.add(runId);
        begun.push(runId);
      }
      if (item.pk.startsWith('run#') && item.sk === 'a' && toHead(item).endedAtMs !== undefined) underWay.delete(runId);
    }
  };
  const order = defineWorkflow({
    name: 'order',
    concurrency: { key: () => 'k' },
    run: async (ctx) => {
      await ctx.step('first', () => 1);
      await ctx.sleep({ seconds: 2 });
      return ctx.step('last', () => 2);
    },
  });
  const { cancels = false, ...worldOptions } = options;
  const world = new World({
    faultRate: 0,
    endS: 200_000,
    faultsEndS: 100_000,
    callersAskAgain: true,
    workflows: [order],
    onApplied,
    ...worldOptions,
  });
  const random = seeded(options.seed + 1);
  const runs = Array.from({ length: count }, (_, n) => world.startAt(random() * 3, 'order', `key ${n}`));
  if (cancels)
    for (const [n, runId] of runs.entries())
      if (random() < 0.3) world.stopAt(random() * 40, runId, random() < 0.5 ? 'cancel' : 'terminate', `stop ${n}`);
  const isOver = (): boolean =>
    accepted.length === count && runs.every((runId) => world.items.get(`run#${runId} a`)?.['endedAtMs'] !== undefined);
  await world.run(isOver);
  expect([...world.violations]).toEqual([]);
  expect(new Set(accepted)).toEqual(new Set(runs));
  expect(runs.filter((runId) => world.items.get(`run#${runId} a`)?.['endedAtMs'] === undefined)).toEqual([]);
  const statuses = new Set(runs.map((runId) => world.items.get(`run#${runId} a`)?.['status']));
  if (!cancels) expect([...statuses]).toEqual(['completed']);
  // In the order of acceptance; without cancels nobody is left out.
  expect(begun).toEqual(accepted.filter((runId) => !cancels || begun.includes(runId)));
  return { accepted, begun, world };
}

const isWrite = (alternatives: readonly Deviation[]): boolean => alternatives.includes('lateApply');

const mayApply = (fault: Deviation, alternatives: readonly Deviation[]): boolean =>
  fault === 'crashAfter' || alternatives.includes(fault);

/** Applies a fault to the first write of each kind in each run, and to every other write of a start. */
function everyWriteOnce(fault: Deviation): Partial<WorldOptions> & { readonly faults: () => number } {
  const runs = new Map<string, string | undefined>();
  const seen = new Set<string>();
  let starts = 0;
  return {
    observer: { onSpawned: ({ name, runId }) => runs.set(name, runId) },
    direct: (tag, process, alternatives) => {
      if (!isWrite(alternatives) || !mayApply(fault, alternatives)) return 'ok';
      if (process.startsWith('start')) return starts++ % 2 === 0 ? fault : 'ok';
      const place = `${runs.get(process)} ${tag}`;
      if (!process.startsWith('turn') || seen.has(place)) return 'ok';
      seen.add(place);
      return fault;
    },
    faults: () => seen.size + starts / 2,
  };
}

/** Applies a fault to the write of that number. */
function nthWrite(nth: number, fault: Deviation): Partial<WorldOptions> & { readonly writes: () => number } {
  let writes = 0;
  return {
    direct: (_tag, process, alternatives) => {
      if (!isWrite(alternatives) || !/^(turn|start)/.test(process)) return 'ok';
      return ++writes === nth && mayApply(fault, alternatives) ? fault : 'ok';
    },
    writes: () => writes,
  };
}

const faults: readonly Deviation[] = [
  'crash',
  'crashAfter',
  'crashAndMessageLost',
  'lostAck',
  'lateApply',
  'freeze100',
];

test('100 runs of one concurrency key begin in the order of acceptance, and none waits for a look', async () => {
  const { world, begun } = await simulateLane(100, { seed: 1 });
  expect(begun).toHaveLength(100);
  // Two seconds each, and the latencies.
  expect(world.seconds).toBeLessThan(100 * 2.5);
}, 60_000);

it.each(faults)(
  '100 runs of one concurrency key, with %s at each write',
  async (fault) => {
    const { faults, ...options } = everyWriteOnce(fault);
    await simulateLane(100, { seed: 2, ...options });
    expect(faults()).toBeGreaterThan(fault === 'crashAndMessageLost' ? 500 : 550);
  },
  120_000,
);

it.each(faults)(
  '4 runs of one concurrency key, with %s at one write, for each write',
  async (fault) => {
    const { writes, ...options } = nthWrite(0, fault);
    await simulateLane(4, { seed: 3, ...options });
    expect(writes()).toBeGreaterThan(30);
    for (let nth = 1; nth <= writes(); nth++) {
      const { direct } = nthWrite(nth, fault);
      await simulateLane(4, { seed: 3, ...(direct === undefined ? {} : { direct }) });
    }
  },
  240_000,
);

it.each(Array.from({ length: 12 }, (_, n) => n + 1))(
  'runs of one concurrency key, some of them cancelled, with faults of seed %i',
  async (seed) => {
    await simulateLane(20, { seed, faultRate: 0.01 * seed, cancels: true });
  },
  60_000,
);

test('100 runs of one concurrency key, with messages late, doubled and out of order', async () => {
  await simulateLane(100, { seed: 4, chaoticQueues: { lateS: 30 } });
}, 60_000);

test('30 runs of one concurrency key, if only sweeps are heard of, continue within two sweeps each', async () => {
  const direct: Direct = (tag, process) => (tag.startsWith('wake') && !process.startsWith('sweep') ? 'drop' : 'ok');
  const { world } = await simulateLane(30, { seed: 5, direct });
  // A sweep begins the run, and another one ends its sleep.
  expect(world.seconds).toBeLessThan(31 * 2 * 60);
}, 60_000);
