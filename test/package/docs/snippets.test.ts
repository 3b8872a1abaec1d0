import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/workflows.md',
  'docs/serving.md',
  'docs/deploy.md',
  'docs/operations.md',
];
const features = readdirSync(new URL('examples/features/', root)).map((name) => `examples/features/${name}`);

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

const snippets = documents.flatMap((document) =>
  [...read(document).matchAll(/<!-- from (\S+) -->\n```ts\n([\s\S]*?)```/g)].map((match) => ({
    document,
    file: match[1] ?? '',
    code: match[2] ?? '',
  })),
);

test('there are snippets to compare, one of each feature', () => {
  expect(snippets.map(({ file }) => file).sort()).toEqual(
    [
      'examples/monthly-report/workflow.ts',
      'examples/monthly-report/workflow.test.ts',
      'examples/outwait.config.ts',
      'test/package/cdk/own-app.ts',
      'test/package/cdk/failed-runs.ts',
      ...features,
    ].sort(),
  );
});

test.each(snippets)('the snippet of $file in $document is in that file', ({ file, code }) => {
  expect(read(file)).toContain(code);
});

test.each(documents)('every file that %s links to is there', (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? '');
  expect(links.length).toBeGreaterThan(0);
  for (const link of links)
    expect(() => readFileSync(new URL(link, new URL(document, root))), `${document} → ${link}`).not.toThrow(/ENOENT/);
});
