import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { engineErrorCodes } from '../../lib/base/errors.js';

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');

interface Section {
  readonly code: string;
  readonly text: string;
}

const sections: readonly Section[] = page
  .split(/^### /m)
  .slice(1)
  .map((section) => {
    const [code = '', ...lines] = section.split('\n');
    return { code: code.trim(), text: lines.join('\n') };
  });

it('docs/errors.md has one heading for each code, in the order of the list, and no other', () => {
  expect(sections.map(({ code }) => code)).toEqual([...engineErrorCodes]);
});

it.each(sections)('$code says what it means, who sees it and what to do', ({ text }) => {
  const [meaning = ''] = text.split('Seen by:');
  expect(meaning.trim().length).toBeGreaterThan(20);
  expect(text).toMatch(/^Seen by: \S/m);
  expect(text).toMatch(/^What to do: \S/m);
});
