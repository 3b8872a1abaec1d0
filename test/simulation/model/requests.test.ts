import { describe, expect, it } from 'vitest';
import { rules, search, type Rule, type Scenario } from './requests.js';

// Each scenario runs with all rules, then without one: all rules are needed, and together they are enough.

const scenarios: readonly (Scenario & { readonly needs: readonly Rule[] })[] = [
  {
    name: 'a pause, then a resume by a replica whose clock is behind',
    calls: [
      { kind: 'pause', offMs: 50 },
      { kind: 'resume', offMs: -50, after: 0 },
    ],
    reads: 1,
    runs: 1,
    needs: ['position'],
  },
  {
    name: 'a pause, then a signal',
    calls: [{ kind: 'pause' }, { kind: 'signal', after: 0 }],
    reads: 1,
    runs: 1,
    needs: ['pauseHolds'],
  },
  {
    name: 'signals at once, of which the last run reads one',
    calls: [{ kind: 'signal' }, { kind: 'signal' }],
    reads: 1,
    runs: 1,
    needs: ['oneTransaction', 'inboxCount', 'takesAll'],
  },
  {
    name: 'two owners, and a signal that is sent twice',
    calls: [{ kind: 'signal', repeats: true }, { kind: 'signal' }],
    reads: 3,
    runs: 1,
    needs: ['commitOnce', 'sameId'],
  },
  {
    name: 'a cancel beside the signal that a run goes on with as another',
    calls: [{ kind: 'signal' }, { kind: 'cancel' }],
    reads: 1,
    runs: 2,
    needs: ['handsOnUnheard', 'followsNext', 'waitsForNext'],
  },
  {
    name: 'a cancel that is caught, before the run goes on as another',
    calls: [{ kind: 'cancel' }, { kind: 'signal', after: 0 }],
    reads: 1,
    runs: 2,
    catches: true,
    needs: ['keepsHeard'],
  },
  {
    name: 'signals that are handed on, and one that comes later',
    calls: [{ kind: 'signal' }, { kind: 'signal', after: 0 }, { kind: 'signal', after: 1 }],
    reads: 1,
    runs: 2,
    needs: ['handsOnFirst', 'handsOnInOrder'],
  },
  {
    name: 'a terminate beside the signal that a run goes on with as another',
    calls: [{ kind: 'signal' }, { kind: 'terminate' }],
    reads: 1,
    runs: 2,
    needs: ['terminateFirst'],
  },
];

describe.each(scenarios)('requests: $name', ({ needs, ...scenario }) => {
  it('F09 F89 nothing that must hold is broken', () => {
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
