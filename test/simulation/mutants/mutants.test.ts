import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mutate } from './apply.js';
import { mutants } from './mutants.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

// `npm run mutants` tells whether each is caught.

test.each(mutants)('mutant $name still finds what it takes away', (mutant) => {
  const source = read(mutant.file);
  expect(mutate(source, mutant)).not.toBe(source);
});

test.each(mutants)('mutant $name names a test that exists', ({ caughtBy }) => {
  if (caughtBy.kind === 'rules') {
    const source = read(caughtBy.file);
    // The full name of a test begins with that of its group.
    const groups = [...source.matchAll(/\bdescribe\('([^']+)'/g)].map(([, group]) => `${group ?? ''} `);
    const group = groups.find((one) => caughtBy.test.startsWith(one)) ?? '';
    const name = caughtBy.test.slice(group.length);
    if (!titlesWithRows(source).some((start) => name.startsWith(start))) expect(source).toContain(`('${name}`);
  }
  if (caughtBy.kind === 'simulation')
    expect(read('test/simulation/scenarios.ts')).toContain(`name: '${caughtBy.scenario}'`);
});

/** Returns the beginnings of the titles of `each` that are the same in every row. */
function titlesWithRows(source: string): readonly string[] {
  return [...source.matchAll(/\)\(\s*'([^'%$]{8,})[%$]/g)].map(([, start]) => start ?? '');
}

test('no two mutants have one name', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});
