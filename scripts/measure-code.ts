// Measures how hard the code is to enter: `npx tsx scripts/measure-code.ts [folder…]`. The figures are not limits;
// binding limits are lint rules and arrows. Counts lib, functions and cdk unless folders are named.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

interface Source {
  readonly path: string;
  readonly file: ts.SourceFile;
  readonly lines: number;
}
interface Sized {
  readonly name: string;
  readonly size: number;
}

const folders = process.argv.length > 2 ? process.argv.slice(2) : ['lib', 'functions', 'cdk'];
const sources = folders.flatMap(filesIn).map(read);
const nodes = sources.flatMap(({ file, path }) => allNodes(file).map((node) => ({ node, file, path })));
const lines = sum(sources.map((source) => source.lines));
const comments = sources.flatMap(({ file }) => commentsOf(file));

const functions: Sized[] = [];
const classes: (Sized & { readonly methods: number })[] = [];
let wideFunctions = 0;
for (const { node, file, path } of nodes) {
  if (isFunction(node)) {
    functions.push({ name: `${path} ${nameOf(node)}`, size: height(file, node) });
    if (node.parameters.length > 4) wideFunctions++;
  }
  if (ts.isClassDeclaration(node))
    classes.push({
      name: `${path} ${node.name?.text ?? ''}`,
      size: height(file, node),
      methods: node.members.filter(isMethod).length,
    });
}
const perFolder = countBy(sources.map(({ path }) => dirname(path)));
const exported = nodes.filter(({ node }) => isExported(node));
const documented = exported.filter(({ node }) => ts.getJSDocCommentsAndTags(node).length > 0);
const thrown = nodes.filter(({ node }) => ts.isThrowStatement(node));
const thrownPlain = thrown.filter(({ node }) => node.getText().startsWith('throw new Error('));
const assertions = nodes.filter(({ node }) => ts.isAsExpression(node) && node.type.getText() !== 'const');
const doubleAssertions = nodes.filter(({ node }) => ts.isAsExpression(node) && ts.isAsExpression(node.expression));

const oddStart = /^(Of|One|Ones|Those|It|As|Else|Whoever|Who|What|Such)\b/;
const figures: readonly (readonly [string, string])[] = [
  ['files / lines', `${sources.length} / ${lines}`],
  ['file lines p50 / p95 / max', spread(sources.map(({ path, lines: size }) => ({ name: path, size })))],
  ['files over 350 lines', String(sources.filter((source) => source.lines > 350).length)],
  ['function lines p50 / p95 / p99 / max', spread(functions, 99)],
  ['functions over 60 lines', String(functions.filter(({ size }) => size > 60).length)],
  ['functions with more than 4 parameters', `${wideFunctions} of ${functions.length}`],
  ['largest class: lines, methods', describeClass(largest(classes))],
  ['classes with more than 20 methods', String(classes.filter(({ methods }) => methods > 20).length)],
  ['most files in one folder', describe(largest([...perFolder].map(([name, size]) => ({ name, size }))))],
  ['import cycles incl. types / at run time', `${cycles(true)} / ${cycles(false)}`],
  [
    'any · x! · TODO',
    [
      count((node) => node.kind === ts.SyntaxKind.AnyKeyword),
      count(ts.isNonNullExpression),
      comments.filter((comment) => /\b(TODO|FIXME|XXX)\b/.test(comment)).length,
    ].join(' · '),
  ],
  ['as per 1,000 lines (as unknown as)', `${per1000(assertions.length)} (${doubleAssertions.length})`],
  ['throw new Error of all throws', `${thrownPlain.length} / ${thrown.length}`],
  ['exported with a doc comment', percent(documented.length, exported.length)],
  ['comment lines', percent(sum(comments.map((comment) => comment.split('\n').length)), lines)],
  ['conditional spreads', String(count(isConditionalSpread))],
  ['comments that begin with Of, One, Those, It, As, …', startsOddly()],
  [
    'comments with whoever, somebody, nobody',
    String(comments.filter((c) => /\b(whoever|(some|no)body)\b/i.test(c)).length),
  ],
];
process.stdout.write(figures.map(([name, figure]) => `${name.padEnd(52)} ${figure}\n`).join(''));

function filesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return filesIn(path);
    return path.endsWith('.ts') && !path.endsWith('.d.ts') ? [path] : [];
  });
}

function read(path: string): Source {
  const text = readFileSync(path, 'utf8');
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return { path: relative('.', path), file, lines: text.split('\n').length - 1 };
}

function allNodes(node: ts.Node): ts.Node[] {
  const inner: ts.Node[] = [];
  node.forEachChild((child) => void inner.push(...allNodes(child)));
  return [node, ...inner];
}

function count(isCounted: (node: ts.Node) => boolean): number {
  return nodes.filter(({ node }) => isCounted(node)).length;
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return (
    (ts.isFunctionDeclaration(node) ||
      ts.isFunctionExpression(node) ||
      ts.isArrowFunction(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isConstructorDeclaration(node) ||
      ts.isAccessor(node)) &&
    node.body !== undefined
  );
}

/** Returns true for methods and accessors; the signatures of an overloaded method are one with it. */
function isMethod(member: ts.ClassElement): boolean {
  return (ts.isMethodDeclaration(member) || ts.isAccessor(member)) && member.body !== undefined;
}

function nameOf(node: ts.FunctionLikeDeclaration): string {
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return named?.getText() ?? 'anonymous';
}

function height(file: ts.SourceFile, node: ts.Node): number {
  const lineOf = (position: number): number => file.getLineAndCharacterOfPosition(position).line;
  return lineOf(node.end) - lineOf(node.getStart(file)) + 1;
}

function isExported(node: ts.Node): boolean {
  const isDeclaration =
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isVariableStatement(node);
  return isDeclaration && (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
}

/** Returns true for `...(x === undefined ? {} : { x })`, with any condition and in either order. */
function isConditionalSpread(node: ts.Node): boolean {
  if (!ts.isSpreadAssignment(node)) return false;
  const inner = ts.isParenthesizedExpression(node.expression) ? node.expression.expression : node.expression;
  return ts.isConditionalExpression(inner) && [inner.whenTrue, inner.whenFalse].some(isEmptyObject);
}

function isEmptyObject(node: ts.Node): boolean {
  return ts.isObjectLiteralExpression(node) && node.properties.length === 0;
}

/** Returns the comments of a file, without their marks; the lines of one comment stay together. */
function commentsOf(file: ts.SourceFile): string[] {
  const found: { readonly from: number; to: number; text: string }[] = [];
  const seen = new Set<number>();
  for (const node of allNodes(file)) {
    for (const range of ts.getLeadingCommentRanges(file.text, node.getFullStart()) ?? []) {
      if (seen.has(range.pos)) continue;
      seen.add(range.pos);
      const text = file.text
        .slice(range.pos, range.end)
        .replace(/^\/\*+|\*+\/$|^\/\/|^\s*\*(?!\/)/gm, '')
        .trim();
      const last = found.at(-1);
      const isNextLine = last !== undefined && /^\n?\s*$/.test(file.text.slice(last.to, range.pos));
      if (isNextLine && range.kind === ts.SyntaxKind.SingleLineCommentTrivia) {
        last.text += `\n${text}`;
        last.to = range.end;
      } else found.push({ from: range.pos, to: range.end, text });
    }
  }
  return found.map(({ text }) => text);
}

function startsOddly(): string {
  const odd = comments.filter((comment) => oddStart.test(comment));
  return `${odd.length} of ${comments.length}`;
}

/** Counts the groups of files that import each other. */
function cycles(withTypes: boolean): string {
  const known = new Set(sources.map(({ path }) => path));
  const importsOf = new Map(sources.map(({ path, file }) => [path, importedBy(path, file, withTypes)]));
  const groups = stronglyConnected([...known], (path) => (importsOf.get(path) ?? []).filter((to) => known.has(to)));
  const sizes = groups.map(({ length }) => length).filter((size) => size > 1);
  return sizes.length === 0 ? '0' : sizes.sort((a, b) => b - a).join(', ');
}

function importedBy(path: string, file: ts.SourceFile, withTypes: boolean): string[] {
  return file.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    if (!withTypes && isTypeOnly(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const { text } = moduleSpecifier;
    return text.startsWith('.') ? [relative('.', resolve(dirname(path), text.replace(/\.js$/, '.ts')))] : [];
  });
}

function isTypeOnly(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly;
  const clause = statement.importClause;
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const { namedBindings } = clause;
  return (
    clause.name === undefined &&
    namedBindings !== undefined &&
    ts.isNamedImports(namedBindings) &&
    namedBindings.elements.every(({ isTypeOnly: isType }) => isType)
  );
}

/** Finds the strongly connected components by Tarjan's algorithm. */
function stronglyConnected(all: readonly string[], next: (path: string) => readonly string[]): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (path: string): void => {
    const own = index.size;
    index.set(path, own);
    let lowest = own;
    low.set(path, own);
    stack.push(path);
    for (const to of next(path)) {
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) lowest = Math.min(lowest, low.get(to) ?? own);
    }
    low.set(path, lowest);
    if (lowest === own) groups.push(stack.splice(stack.indexOf(path)));
  };
  for (const path of all) if (!index.has(path)) visit(path);
  return groups;
}

function spread(sized: readonly Sized[], third?: number): string {
  const sizes = sized.map(({ size }) => size).sort((a, b) => a - b);
  const at = (share: number): number =>
    sizes[Math.min(sizes.length - 1, Math.floor((sizes.length * share) / 100))] ?? 0;
  const shares = [50, 95, ...(third === undefined ? [] : [third])].map(at);
  return `${shares.join(' / ')} / ${describe(largest(sized))}`;
}

function largest<One extends Sized>(sized: readonly One[]): One | undefined {
  return [...sized].sort((a, b) => b.size - a.size)[0];
}

function describe(one: Sized | undefined): string {
  return one === undefined ? 'none' : `${one.size} (${one.name})`;
}

function describeClass(one: (Sized & { readonly methods: number }) | undefined): string {
  return one === undefined ? 'none' : `${one.size}, ${one.methods} (${one.name})`;
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function per1000(found: number): string {
  return ((found / lines) * 1_000).toFixed(1);
}

function percent(part: number, whole: number): string {
  return `${Math.round((part / whole) * 100)} %`;
}
