import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pages, prose, read } from './pages.js';

const root = new URL('../../../', import.meta.url);

/** Returns the anchors that GitHub makes of the headings of a page. */
function anchorsOf(page: string): readonly string[] {
  return [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(pages)('every link of %s leads to a file that exists, and to a heading in it', (page) => {
  const links = [...prose(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  const broken = links.filter(([, path = '', anchor]) => {
    const target = path === '' ? page : new URL(path, new URL(page, root)).href.slice(root.href.length);
    if (!existsSync(new URL(target, root))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

test('the list of decisions has every record, with its title and its status', () => {
  const records = pages.filter((page) => /^docs\/decisions\/\d/.test(page)).sort();
  const rows = records.map((record) => {
    const [, number, title] = /^# (\d{4}): (.+)$/m.exec(read(record)) ?? [];
    const [, status] = /^Status: (\w+)/m.exec(read(record)) ?? [];
    return `| [${number}](${record.slice('docs/decisions/'.length)}) | ${title} | ${status}`;
  });
  expect(records.length).toBeGreaterThan(18);
  const listed = [...read('docs/decisions/README.md').matchAll(/^(\| \[.*?\| .*? \| \w+)/gm)].map(([row]) => row);
  expect(listed).toEqual(rows);
});
