import ts from 'typescript';

/** A file with its names resolved. Names that it does not declare are global and have no symbol. */
export interface Source {
  readonly file: ts.SourceFile;
  readonly checker: ts.TypeChecker;
  readonly mistakes: readonly ts.DiagnosticWithLocation[];
}

/** Parses `text` and binds its names. Reads nothing else: no imports, libraries or configuration. */
export function parseSource(fileName: string, text: string): Source {
  const file = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  const host: ts.CompilerHost = {
    getSourceFile: (name) => (name === fileName ? file : undefined),
    fileExists: (name) => name === fileName,
    readFile: () => undefined,
    getDefaultLibFileName: () => 'none',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
    useCaseSensitiveFileNames: () => true,
    writeFile: () => undefined,
  };
  const options: ts.CompilerOptions = {
    noLib: true,
    noResolve: true,
    allowJs: true,
    types: [],
    target: ts.ScriptTarget.Latest,
  };
  const program = ts.createProgram({ rootNames: [fileName], options, host });
  return { file, checker: program.getTypeChecker(), mistakes: program.getSyntacticDiagnostics(file) };
}

/** Returns the symbol of a name that the file declares or imports. */
export function symbolOf({ checker }: Source, name: ts.Identifier): ts.Symbol | undefined {
  const { parent } = name;
  const symbol =
    ts.isShorthandPropertyAssignment(parent) && parent.name === name
      ? checker.getShorthandAssignmentValueSymbol(parent)
      : checker.getSymbolAtLocation(name);
  return (symbol?.declarations ?? []).length === 0 ? undefined : symbol;
}

/**
 * Returns what an expression names outside this file: `Date.now`, `fetch`, `node:crypto#randomUUID`. Members of
 * `globalThis` count as global, and a missing `node:` is added. Returns undefined for everything else.
 */
export function outsideName(source: Source, expression: ts.Expression): string | undefined {
  if (ts.isParenthesizedExpression(expression) || ts.isNonNullExpression(expression))
    return outsideName(source, expression.expression);
  if (ts.isIdentifier(expression)) {
    const symbol = symbolOf(source, expression);
    return symbol === undefined ? expression.text : importedName(symbol);
  }
  const member = memberName(expression);
  if (member === undefined) return undefined;
  const owner = outsideName(source, member.owner);
  if (owner === undefined) return undefined;
  if (owner === 'globalThis') return member.name;
  return owner.endsWith('#') ? owner + member.name : `${owner}.${member.name}`;
}

/** Splits `a.b`, `a?.b` and `a['b']`. */
function memberName(expression: ts.Expression): { readonly owner: ts.Expression; readonly name: string } | undefined {
  if (ts.isPropertyAccessExpression(expression)) return { owner: expression.expression, name: expression.name.text };
  if (ts.isElementAccessExpression(expression) && ts.isStringLiteralLike(expression.argumentExpression))
    return { owner: expression.expression, name: expression.argumentExpression.text };
  return undefined;
}

/** Returns `module#name` of an import; `module#` for the whole module or its default, which Node's modules equal. */
function importedName(symbol: ts.Symbol): string | undefined {
  for (const declaration of symbol.declarations ?? []) {
    if (ts.isImportSpecifier(declaration)) {
      const name = (declaration.propertyName ?? declaration.name).text;
      return `${moduleOf(declaration.parent.parent.parent)}#${name === 'default' ? '' : name}`;
    }
    if (ts.isNamespaceImport(declaration)) return `${moduleOf(declaration.parent.parent)}#`;
    if (ts.isImportClause(declaration)) return `${moduleOf(declaration.parent)}#`;
  }
  return undefined;
}

const nodeModules = new Set(['crypto', 'timers', 'timers/promises', 'process', 'http', 'https', 'perf_hooks']);

function moduleOf(declaration: ts.ImportDeclaration | ts.JSDocImportTag): string {
  const name = ts.isStringLiteral(declaration.moduleSpecifier) ? declaration.moduleSpecifier.text : '';
  return nodeModules.has(name) ? `node:${name}` : name;
}
