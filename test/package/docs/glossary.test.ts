import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pages, prose } from './pages.js';

const architecture = prose('ARCHITECTURE.md');
const [before = '', rest = ''] = architecture.split('\n## Glossary\n');
const [glossary = ''] = rest.split('\n## ');
const outside = before + rest.slice(glossary.length);

const rows = [...glossary.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].filter(
  ([, term = '']) => term !== 'term' && !term.startsWith('-'),
);
const terms = rows.map(([, term = '']) => term);

/**
 * Returns whether a page uses a term or one of its forms: plural, participle and so on of its last word or its verb.
 */
function isUsed(term: string, text: string): boolean {
  const [first = '', ...others] = term.split(' ');
  const stem = (word: string): string => (word.length > 4 ? word.replace(/(e|y)$/, '') : word);
  const pattern = [first, ...others].map((word) => `${stem(word)}\\w*`).join('\\s+(?:\\w+\\s+)?');
  return new RegExp(`\\b${pattern}`, 'i').test(text);
}

it('defines no term twice', () => {
  expect(terms.length).toBeGreaterThan(60);
  expect(terms.filter((term, at) => terms.indexOf(term) !== at)).toEqual([]);
});

it.each(terms)('has a term that the pages use outside of it: %s', (term) => {
  const docs = pages.filter((page) => page.startsWith('docs/')).map(prose);
  expect(isUsed(term, [outside, ...docs].join('\n'))).toBe(true);
});

it('keeps each of its tables in the order of the alphabet', () => {
  const tables = glossary
    .split(/\n{2,}/)
    .filter((block) => block.startsWith('| term |'))
    .map((block) => terms.filter((term) => block.includes(`\n| ${term} |`)));
  expect(tables.length).toBe(5);
  expect(tables).toEqual(tables.map((table) => [...table].sort()));
});

it('names files and folders that exist', () => {
  const paths = rows.flatMap(([, , , code = '']) =>
    [...code.matchAll(/`([\w.-]+(?:\/[\w.-]+)+)`/g)].map(([, path = '']) => path),
  );
  const root = new URL('../../../', import.meta.url);
  const isThere = (path: string): boolean =>
    ['', 'lib/'].some((folder) => ['', '.ts'].some((ending) => existsSync(new URL(`${folder}${path}${ending}`, root))));
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
});
