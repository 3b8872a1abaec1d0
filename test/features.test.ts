import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { featureIds, notDone } from './feature-ids.js';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** The names of the tests of a file, and of the groups that they are in, as they are written. */
function testNames(path: string): readonly string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const [name] = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments : [];
    if (name !== undefined && (ts.isStringLiteralLike(name) || ts.isTemplateExpression(name)))
      names.push(name.getText());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  return names;
}

/** `it`, `it.each`, `it.each([…])` and the like. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) return isTest(callee.expression);
  return ts.isIdentifier(callee) && ['it', 'test', 'describe'].includes(callee.text);
}

const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && path !== 'features.test.ts')
  .flatMap((path) => testNames(join(folder, path)));

const isCited = (id: string): boolean => names.some((name) => new RegExp(`\\b${id}\\b`).test(name));

describe('the features of the first release', () => {
  it('are read from many names', () => {
    expect(names.length).toBeGreaterThan(500);
    expect(isCited('S0-999')).toBe(false);
  });

  it.each(featureIds.filter((id) => notDone[id] === undefined))('%s is cited by a test', (id) => {
    expect(isCited(id), `no test has ${id} in its name`).toBe(true);
  });

  it.each(Object.keys(notDone))('%s, which is not done, is listed and cited nowhere', (id) => {
    expect(featureIds).toContain(id);
    expect(isCited(id), `${id} is cited, so it is done`).toBe(false);
  });
});
