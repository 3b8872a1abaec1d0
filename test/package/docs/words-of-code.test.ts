import ts from 'typescript';
import { expect, it } from 'vitest';
import { filesIn, read } from './pages.js';

/** Words with which a sentence begins only if its subject is left out or stands elsewhere. */
const unclear = /^(Of|One|Those|Else|Whoever)\b/i;

const folders = ['lib', 'functions', 'cdk', 'bin', 'bench', 'scripts', 'examples', 'test'];
const files = folders
  .flatMap((folder) => [...filesIn(folder, '.ts'), ...filesIn(folder, '.js')])
  .filter((file) => !file.includes('/fixtures/') && !file.includes('/recordings/') && !file.endsWith('.d.ts'));

interface Words {
  readonly at: string;
  readonly text: string;
}

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
}

/** Comments with their markers removed; lines of `//` that follow each other are one comment. */
function commentsOf(file: string): readonly Words[] {
  const source = parse(file);
  const ranges = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node): void => {
    for (const range of [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ])
      ranges.set(range.pos, range);
    node.getChildren(source).forEach(visit);
  };
  visit(source);
  let lineAfter = -1;
  return [...ranges.values()]
    .sort((one, other) => one.pos - other.pos)
    .flatMap(({ pos, end, kind }) => {
      const { line } = source.getLineAndCharacterOfPosition(pos);
      const continues = kind === ts.SyntaxKind.SingleLineCommentTrivia && line === lineAfter;
      lineAfter = kind === ts.SyntaxKind.SingleLineCommentTrivia ? line + 1 : -1;
      const text = source.text.slice(pos, end).replace(/^(\/\*+|\/\/+)\s*(\*\s*)?/, '');
      return continues ? [] : [{ at: `${file}:${line + 1}`, text }];
    });
}

function isError(node: ts.Node): boolean {
  if (ts.isNewExpression(node)) return node.expression.getText().endsWith('Error');
  return ts.isCallExpression(node) && /[eE]rror$|^(refuse|invalid|fail)$/.test(node.expression.getText());
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateExpression(node) ? node.head.text : undefined;
}

/** Texts of `new …Error('…')`, of calls that make errors, and of properties and constants named `message`. */
function errorTextsOf(file: string): readonly Words[] {
  const source = parse(file);
  const found: Words[] = [];
  const take = (node: ts.Node | undefined): void => {
    const text = node === undefined ? undefined : textOf(node);
    if (node === undefined || text === undefined) return;
    found.push({ at: `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`, text });
  };
  const visit = (node: ts.Node): void => {
    if (isError(node)) (node as ts.NewExpression | ts.CallExpression).arguments?.forEach(take);
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'message') take(node.initializer);
    if (ts.isVariableDeclaration(node) && node.name.getText() === 'message') take(node.initializer);
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

const begin = ({ at, text }: Words): string => `${at} ${text.slice(0, 80).replaceAll(/\s+/g, ' ')}`;

it('no comment of the code begins with a word that refers to nothing', () => {
  const comments = files.flatMap(commentsOf);
  expect(comments.length).toBeGreaterThan(2_000);
  expect(comments.filter(({ text }) => unclear.test(text)).map(begin)).toEqual([]);
});

it('no error text of the code begins with a word that refers to nothing', () => {
  const texts = files.filter((file) => !file.startsWith('test/')).flatMap(errorTextsOf);
  expect(texts.length).toBeGreaterThan(200);
  expect(texts.filter(({ text }) => unclear.test(text)).map(begin)).toEqual([]);
});
