import { describe, expect, it } from 'vitest';
import { allRules, type Policy, type Rules, search, type World } from './named-starts.js';

const policies = (...callers: readonly Policy[]): readonly Policy[] => callers;

const worlds: readonly [what: string, world: World][] = [
  [
    'three that replace, one run that goes on',
    { callers: policies('terminate', 'terminate', 'terminate'), continues: 1, finish: false },
  ],
  [
    'two that replace, runs that go on and end',
    { callers: policies('terminate', 'terminate'), continues: 2, finish: true },
  ],
  [
    'one that replaces and two that do not',
    { callers: policies('terminate', 'useExisting', 'useExisting'), continues: 1, finish: true },
  ],
];

describe('F13 a model of starts under one id', () => {
  it.each(worlds)('has one run under way at every instant, and none that rests for ever: %s', (_, world) => {
    const { states, violation, path } = search(world, allRules);
    expect(violation, path.join('\n')).toBeUndefined();
    expect(states).toBeGreaterThan(500);
  });

  it.each([
    ['startFollowsChain', 'two under way'],
    ['comingCounts', 'two under way'],
    ['generation', 'two under way'],
    ['rests', 'two under way'],
    ['lookFollowsChain', 'two under way'],
    ['asksAgain', 'rests for ever'],
    ['terminateWaits', 'two under way'],
  ] as const)('does not without the rule %s: %s', (rule: keyof Rules, expected) => {
    const violations = worlds.map(([, world]) => search(world, { ...allRules, [rule]: false }).violation);
    expect(violations).toContain(expected);
  });
});
