// Finds the tests that are near to a change, by imports.

import { dirname, join } from 'node:path';

/** The files that each file imports, by path from the root. */
export type Imports = ReadonlyMap<string, readonly string[]>;

export interface NearTests {
  /** The nearest first. */
  readonly near: readonly string[];
  /** Number of further tests that import a changed file, over however many files. */
  readonly furtherCount: number;
}

const aliases: ReadonlyMap<string, string> = new Map([
  ['outwait', 'lib/index.ts'],
  ['outwait/testing', 'lib/testing.ts'],
  ['outwait/cdk', 'cdk/index.ts'],
]);

/** Returns the files of this package that the text of a file imports, statically or dynamically. */
export function importsIn(path: string, text: string): readonly string[] {
  return [...text.matchAll(/(?:\bfrom |\bimport\(|\bimport )'([^']+)'/g)].flatMap(([, name = '']) => {
    const alias = aliases.get(name);
    if (alias !== undefined) return [alias];
    return name.startsWith('.') ? [join(dirname(path), name).replace(/\.js$/, '.ts')] : [];
  });
}

/**
 * Returns the tests that are changed or import a changed file over at most `stepsMax` files; the nearest `filesMax` of
 * them.
 */
export function nearTests(
  imports: Imports,
  changed: readonly string[],
  { stepsMax, filesMax }: { readonly stepsMax: number; readonly filesMax: number },
): NearTests {
  const importers = new Map<string, string[]>();
  for (const [path, imported] of imports)
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), path]);
  const stepsTo = new Map(changed.map((path) => [path, 0]));
  // A Map may grow during its iteration, and iterates in the order of steps.
  for (const [path, steps] of stepsTo)
    for (const importer of importers.get(path) ?? []) if (!stepsTo.has(importer)) stepsTo.set(importer, steps + 1);
  const tests = [...stepsTo].filter(([path, steps]) => imports.has(path) && isRunFor(path, steps));
  const near = tests.filter(([, steps]) => steps <= stepsMax).slice(0, filesMax);
  return { near: near.map(([path]) => path), furtherCount: tests.length - near.length };
}

/**
 * Returns whether a test is run. Tests with their own servers and packages take minutes, so they count only if they are
 * changed themselves.
 */
function isRunFor(path: string, steps: number): boolean {
  return path.endsWith('.test.ts') && (steps === 0 || !/^test\/(system|package)\//.test(path));
}
