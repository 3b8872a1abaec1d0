import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { a2aCaseIds, a2aServerCaseIds, featureIds, mcpCaseIds, mcpServerCaseIds, notDone } from './feature-ids.js';

const folder = fileURLToPath(new URL('.', import.meta.url));

/**
 * Returns the names of the tests of a file and of their groups, as they are written; those of a table include its rows.
 */
function testNames(path: string): readonly string[] {
  const names: string[] = [];
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    const [name] = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments : [];
    if (name !== undefined && (ts.isStringLiteralLike(name) || ts.isTemplateExpression(name)))
      names.push(name.getText());
    if (ts.isArrayLiteralExpression(node)) {
      const [first] = node.elements;
      if (first !== undefined && ts.isStringLiteralLike(first) && isInTable(node)) names.push(first.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** Returns true for a row of `it.each([…])`, or of a named list that may be such a table. */
function isInTable({ parent }: ts.Node): boolean {
  if (!ts.isArrayLiteralExpression(parent)) return false;
  const holder = ts.isAsExpression(parent.parent) ? parent.parent.parent : parent.parent;
  return (ts.isCallExpression(holder) && isTest(holder.expression)) || ts.isVariableDeclaration(holder);
}

/** Returns true for `it`, `it.each`, `it.each([…])` and the like. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) return isTest(callee.expression);
  return ts.isIdentifier(callee) && ['it', 'test', 'describe'].includes(callee.text);
}

const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && path !== 'features.test.ts')
  .flatMap((path) => testNames(join(folder, path)));

const ids = [...featureIds, ...mcpCaseIds, ...a2aCaseIds, ...a2aServerCaseIds, ...mcpServerCaseIds];

const isCited = (id: string): boolean => names.some((name) => new RegExp(`\\b${id}\\b`).test(name));

describe('the features and cases of the first release', () => {
  it('are read from many names', () => {
    expect(names.length).toBeGreaterThan(500);
    expect(isCited('S0-999')).toBe(false);
  });

  it.each(ids.filter((id) => notDone[id] === undefined))('%s is cited by a test', (id) => {
    expect(isCited(id), `no test has ${id} in its name`).toBe(true);
  });

  it.each(Object.keys(notDone))('%s, which is not done, is listed and cited nowhere', (id) => {
    expect(ids).toContain(id);
    expect(isCited(id), `${id} is cited, so it is done`).toBe(false);
  });
});
