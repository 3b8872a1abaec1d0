import { describe, expect, it } from 'vitest';
import { rules, search, type Rule, type Scenario } from './worker-starts.js';

// Each scenario runs with all rules, then without one: all rules are needed, and together they are enough.

const scenarios: readonly (Scenario & { readonly needs: readonly Rule[] })[] = [
  {
    name: 'a server that knows no repeat, and messages that are lost and doubled',
    server: 'neither',
    losses: 2,
    doubles: 1,
    refusals: 1,
    news: 1,
    needs: ['handOverMarked', 'claimOnce', 'cameMarked', 'turnDefers', 'nextOnlyAfterWord'],
  },
  {
    name: 'a server that knows no repeat, and workers that die or are taken for dead',
    server: 'neither',
    deaths: 1,
    freezes: 1,
    refusals: 1,
    needs: ['unknownFate', 'claimMarked', 'ambiguousOpen'],
  },
  {
    name: 'a server that is asked for its task, and workers that die or are taken for dead',
    server: 'finds',
    deaths: 1,
    freezes: 1,
    losses: 1,
    needs: ['unknownFate', 'claimMarked'],
  },
  {
    name: 'a server that dedupes, and all that can go wrong',
    server: 'dedupes',
    deaths: 1,
    losses: 1,
    refusals: 1,
    needs: ['claimMarked', 'cameMarked'],
  },
  ...(['dedupes', 'finds', 'neither'] as const).map((server) => ({
    name: `a wait that is closed during its start: the server ${server}`,
    server,
    freezes: 1,
    deaths: 1,
    closes: true,
    needs: [
      'claimOpen',
      'handleOpen',
      ...(server === 'finds' ? (['endWaitsForCall'] as const) : []),
      ...(server === 'dedupes' ? (['lookMarked', 'leftMarked'] as const) : []),
    ] satisfies readonly Rule[],
  })),
];

describe.each(scenarios)('starts of workers: $name', ({ needs, ...scenario }) => {
  it('F62 nothing that must hold is broken', () => {
    const { states, violation } = search(scenario);
    expect(violation).toBeUndefined();
    expect(states).toBeGreaterThan(50);
  });

  it.each(needs)('needs the rule %s', (rule) => {
    expect(search(scenario, [rule]).violation).toBeDefined();
  });
});

it('every rule of the model is needed by a scenario', () => {
  expect(new Set(scenarios.flatMap(({ needs }) => needs))).toEqual(new Set(Object.keys(rules)));
});
