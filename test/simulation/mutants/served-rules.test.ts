import { expect, test } from 'vitest';
import { mutants } from './mutants.js';
import { servedRules } from './served-rules.js';

test.each(Object.entries(servedRules))(
  '%s has a mutant, or a reason to have none',
  (_, { mutants: names, otherwise }) => {
    expect(names ?? otherwise).toBeDefined();
    const known = new Set(mutants.map(({ name }) => name));
    expect((names ?? []).filter((name) => !known.has(name))).toEqual([]);
  },
);

test('each rule of the model of serving is named', () => {
  expect(Object.keys(servedRules)).toHaveLength(37);
});
