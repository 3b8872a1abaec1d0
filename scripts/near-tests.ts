// Which tests are near to what has changed, by imports.

import { dirname, join } from 'node:path';

/** The files that each file imports, by path from the root. */
export type Imports = ReadonlyMap<string, readonly string[]>;

export interface NearTests {
  /** The nearest first. */
  readonly near: readonly string[];
  /** How many more there are that import something changed, over however many files. */
  readonly furtherCount: number;
}

const aliases: ReadonlyMap<string, string> = new Map([
  ['outwait', 'lib/index.ts'],
  ['outwait/testing', 'lib/testing.ts'],
  ['outwait/cdk', 'cdk/index.ts'],
]);

/** The files of this package that the text of a file imports, at once or late. */
export function importsIn(path: string, text: string): readonly string[] {
  return [...text.matchAll(/(?:\bfrom |\bimport\(|\bimport )'([^']+)'/g)].flatMap(([, name = '']) => {
    const alias = aliases.get(name);
    if (alias !== undefined) return [alias];
    return name.startsWith('.') ? [join(dirname(path), name).replace(/\.js$/, '.ts')] : [];
  });
}

/** Tests that are changed, or that import what is changed over at most `stepsMax` files; the nearest `filesMax` of them. */
export function nearTests(
  imports: Imports,
  changed: readonly string[],
  { stepsMax, filesMax }: { readonly stepsMax: number; readonly filesMax: number },
): NearTests {
  const importers = new Map<string, string[]>();
  for (const [path, imported] of imports)
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), path]);
  const stepsTo = new Map(changed.map((path) => [path, 0]));
  // A Map may grow while it is walked, and does so in the order of steps.
  for (const [path, steps] of stepsTo)
    for (const importer of importers.get(path) ?? []) if (!stepsTo.has(importer)) stepsTo.set(importer, steps + 1);
  const tests = [...stepsTo].filter(([path, steps]) => imports.has(path) && isRunFor(path, steps));
  const near = tests.filter(([, steps]) => steps <= stepsMax).slice(0, filesMax);
  return { near: near.map(([path]) => path), furtherCount: tests.length - near.length };
}

/** Tests with servers and packages of their own take minutes, so they count only when they are changed themselves. */
function isRunFor(path: string, steps: number): boolean {
  return path.endsWith('.test.ts') && (steps === 0 || !/^test\/(system|package)\//.test(path));
}
