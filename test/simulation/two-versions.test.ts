import { describe, expect, test } from 'vitest';
import { call, type Scenario } from './scenarios.js';
import { describe as describeWorld, simulate } from './simulate.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const seeds = Number(process.env['SIM_SEEDS'] ?? 40);

/** Steps, a remote task, a timer and a signal, with a change after each kind of wait. */
const scenario = (change: (name: string) => Scenario['run']): Scenario => ({
  name: 'two versions',
  tools: { r1: 60 },
  run: async (ctx, step, more) => {
    const at = (name: string): Promise<unknown> => change(name)(ctx, step, more);
    return [
      await step('s1'),
      await at('after a step'),
      (await call(ctx, 'r1')).result,
      await at('after a remote task'),
      await ctx.sleep({ seconds: 100 }).then(() => 'slept'),
      await at('after a timer'),
      await ctx.signal('go'),
      await at('after a signal'),
      await step('s2'),
    ];
  },
  callers: (world, runId) => {
    world.signalAt(350, runId, 'go', null, 'g1');
  },
});

const former = scenario((name) => (_, step) => step(`old ${name}`));
const patched = scenario((name) => (ctx, step) => (ctx.patched(name) ? step(`new ${name}`) : step(`old ${name}`)));
const unpatched = scenario((name) => (_, step) => step(`new ${name}`));

interface Shift {
  readonly to: Scenario;
  /** Share of the invocations that still get the former code. */
  readonly formerAt: (seconds: number) => number;
  readonly endS: number;
}

interface Ended {
  /** The steps that it made at its changes. */
  readonly path: string;
  readonly endS: number;
  readonly newlyBlocked: { readonly app: number; readonly otherApp: number };
}

/** Returns how runs end under faults, one for each seed; checks that every one has ended and no rule was broken. */
async function endsOf({ to, formerAt, endS }: Shift): Promise<readonly Ended[]> {
  const ends: Ended[] = [];
  for (let seed = first; seed < first + seeds; seed++) {
    const other = { scenario: former, shareAt: formerAt };
    const options = { seed, other, endS, faultRate: 0.03, faultsEndS: 700, callersAskAgain: true };
    // Lateness is not checked here, since a blocked run is retried less and less often.
    const { world, runId, endedAtMs = Number.NaN } = await simulate(to, options, Infinity);
    expect(describeWorld(world), `seed ${seed}\n${world.trace.join('\n')}`).toBe('');
    const names = world.log(runId).flatMap((event) => (event.type === 'StepRequested' ? [event.name] : []));
    const path = names.flatMap((name) => /^(old|new) /.exec(name)?.[1] ?? []).join(' ');
    ends.push({ path, endS: world.secondsOf(endedAtMs), newlyBlocked: world.newlyBlocked });
  }
  return ends;
}

describe('a run that turns of two versions of its code take on in turn', { timeout: 600_000 }, () => {
  test('ends with the newer one when each change asks for its patch, whoever was first at which (EN-14)', async () => {
    const formerAt = (seconds: number): number => (seconds < 600 ? 0.5 : 0);
    const paths = (await endsOf({ to: patched, formerAt, endS: 6_000 })).map(({ path }) => path);
    expect(paths).toContain('old old old old');
    expect(paths).toContain('new new new new');
    expect(paths.filter((path) => /old .*new/.test(path))).not.toEqual([]);
  });

  test('waits through a rollback for the code that was first at a change', async () => {
    const formerAt = (seconds: number): number => (seconds < 90 ? 0.5 : seconds < 2_000 ? 1 : 0);
    const ends = await endsOf({ to: patched, formerAt, endS: 8_000 });
    const early = ends.filter(({ endS }) => endS < 2_000);
    expect(new Set(early.map(({ path }) => path))).toEqual(new Set(['old old old old']));
    expect(ends.length - early.length).toBeGreaterThan(seeds / 4);
  });

  test.each([
    // A canary that is rolled back when its own version blocks a run therefore accepts patches, and nothing else.
    ['with patches not once', patched, 0],
    ['without patches again and again', unpatched, expect.toSatisfy((count: number) => count > 0) as number],
  ])('is blocked by the newer version, which gets a tenth of the turns, %s', async (_, to, byNewer) => {
    const ends = await endsOf({ to, formerAt: (seconds) => (seconds < 600 ? 0.9 : 0), endS: 8_000 });
    const sum = (version: 'app' | 'otherApp') => ends.reduce((count, end) => count + end.newlyBlocked[version], 0);
    expect(sum('app')).toEqual(byNewer);
    // The former version meets what the newer one reached first.
    expect(sum('otherApp')).toBeGreaterThan(0);
  });

  test('keeps to the version that was first at the first change when nothing asks for a patch', async () => {
    // Both versions stay: one continues the runs at which the other is blocked.
    const ends = await endsOf({ to: unpatched, formerAt: () => 0.5, endS: 80_000 });
    expect([...new Set(ends.map(({ path }) => path))].sort()).toEqual(['new new new new', 'old old old old']);
  });
});
