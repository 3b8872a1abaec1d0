import ts from 'typescript';
import type { Finding, LintRule } from './finding.js';
import { lintRules } from './finding.js';
import { dateUse, outsideUse } from './outside-world.js';
import { outsideName, parseSource, type Source, symbolOf } from './source.js';
import { functionOf, isFunction, parameterSymbol, workflowFunctions, type FunctionNode } from './workflow-code.js';

/** Methods of the context that start something and return a promise of its end. */
const waitingMethods: ReadonlySet<string> = new Set([
  'callRemoteTask',
  'step',
  'map',
  'sleep',
  'sleepUntil',
  'signal',
  'externalToken',
  'promise',
  'child',
  'startRun',
  'signalRun',
  'race',
  'some',
  'scope',
  'shield',
  'saga',
  'continueAsNew',
]);
/** Methods whose callbacks receive a context of their own. */
const scopingMethods: ReadonlySet<string> = new Set(['race', 'some', 'scope', 'shield']);

/**
 * Finds what the workflows of a file could do differently on replay. Checks the functions given as `run` to
 * `defineWorkflow` and those that take a `WorkflowContext`, including everything inside them except the work of steps
 * and compensations. Functions that they merely call are not followed. The line after `// outwait-disable-next-line
 * <rule>` is exempt from that rule.
 */
export function lintSource(fileName: string, text: string): readonly Finding[] {
  const source = parseSource(fileName, text);
  const findings: Finding[] = source.mistakes.map(({ start, messageText }) => ({
    rule: 'syntax',
    ...placeOf(source, start),
    message: ts.flattenDiagnosticMessageText(messageText, ' '),
  }));
  const walk = new Walk(source, (node, rule, message) => {
    findings.push({ rule, ...placeOf(source, node.getStart(source.file)), message });
  });
  const functions = workflowFunctions(source);
  for (const { context } of functions) walk.addContext(context);
  for (const { node } of functions) walk.enter(node);
  const lines = text.split(/\r\n|\r|\n/);
  return findings
    .filter(({ rule, line }) => !isDisabled(lines[line - 2], rule))
    .sort((a, b) => a.line - b.line || a.column - b.column);
}

function placeOf({ file }: Source, position: number): Pick<Finding, 'line' | 'column'> {
  const { line, character } = file.getLineAndCharacterOfPosition(position);
  return { line: line + 1, column: character + 1 };
}

function isDisabled(lineBefore: string | undefined, rule: LintRule): boolean {
  const named = /\/\/\s*outwait-disable-next-line\s+([a-z-]+)/.exec(lineBefore ?? '')?.[1];
  return rule !== 'syntax' && named === rule && lintRules.some((known) => known === named);
}

type Report = (node: ts.Node, rule: LintRule, message: string) => void;

/** Visits each function that is replayed once. */
class Walk {
  readonly #source: Source;
  readonly #report: Report;
  readonly #contexts = new Set<ts.Symbol>();
  /** Functions that were visited, or are the work of a step. */
  readonly #done = new Set<FunctionNode>();

  constructor(source: Source, report: Report) {
    this.#source = source;
    this.#report = report;
    this.#leaveOutNamedWork(source.file);
  }

  addContext(context: ts.Symbol | undefined): void {
    if (context !== undefined) this.#contexts.add(context);
  }

  enter(node: FunctionNode): void {
    if (this.#done.has(node)) return;
    this.#done.add(node);
    ts.forEachChild(node, this.#visit);
  }

  /** Exempts work that is declared apart from the call: `const load = () => fetch(…); await ctx.step('load', load)`. */
  #leaveOutNamedWork(node: ts.Node): void {
    const work = ts.isCallExpression(node) ? workOf(node) : undefined;
    const named = work !== undefined && ts.isIdentifier(work) ? functionOf(this.#source, work) : undefined;
    if (named !== undefined) this.#done.add(named);
    ts.forEachChild(node, (child) => {
      this.#leaveOutNamedWork(child);
    });
  }

  readonly #visit = (node: ts.Node): void => {
    if (isFunction(node)) {
      this.enter(node);
      return;
    }
    if (ts.isTypeNode(node)) return;
    if (ts.isExpressionStatement(node)) this.#checkStatement(node.expression);
    if (ts.isCallExpression(node)) {
      this.#visitCall(node);
      return;
    }
    if (ts.isNewExpression(node) && this.#isDate(node.expression) && (node.arguments ?? []).length === 0) {
      this.#report(node, dateUse.rule, `new Date() differs on replay; ${dateUse.instead}`);
      return;
    }
    if (ts.isExpression(node) && this.#checkOutside(node)) return;
    ts.forEachChild(node, this.#visit);
  };

  #visitCall(call: ts.CallExpression): void {
    if (this.#isDate(call.expression)) {
      // Date ignores its arguments when called as a function.
      this.#report(call, dateUse.rule, `Date() differs on replay; ${dateUse.instead}`);
      return;
    }
    const method = this.#methodOf(call);
    const work = workOf(call);
    const isWork = work !== undefined && (method === 'step' || isCompensation(call));
    if (method !== undefined && scopingMethods.has(method)) this.#addContextsOf(call);
    this.#visit(call.expression);
    for (const argument of call.arguments) if (!(isWork && argument === work)) this.#visit(argument);
  }

  /** Callbacks come last, or in a list that does. */
  #addContextsOf({ arguments: given }: ts.CallExpression): void {
    const last = given.at(-1);
    const branches = last !== undefined && ts.isArrayLiteralExpression(last) ? last.elements : [last];
    for (const branch of branches)
      this.addContext(parameterSymbol(this.#source, functionOf(this.#source, branch)?.parameters[0]));
  }

  /** Reports `node` if it names something of the outside world. Returns true if it did: the parts need no visit. */
  #checkOutside(node: ts.Expression): boolean {
    const isName = ts.isIdentifier(node) || ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
    if (!isName || (ts.isIdentifier(node) && !isRead(node))) return false;
    const name = outsideName(this.#source, node);
    const use = name === undefined ? undefined : outsideUse(name);
    if (use === undefined) return false;
    this.#report(node, use.rule, `${node.getText(this.#source.file)} differs on replay; ${use.instead}`);
    return true;
  }

  /** Reports waits that a statement starts and drops. A `void` in front says that this is intended. */
  #checkStatement(expression: ts.Expression): void {
    if (ts.isParenthesizedExpression(expression)) {
      this.#checkStatement(expression.expression);
    } else if (ts.isConditionalExpression(expression)) {
      this.#checkStatement(expression.whenTrue);
      this.#checkStatement(expression.whenFalse);
    } else if (ts.isBinaryExpression(expression)) {
      const isComma = expression.operatorToken.kind === ts.SyntaxKind.CommaToken;
      if (isComma) this.#checkStatement(expression.left);
      if (isComma || isShortCircuit(expression.operatorToken.kind)) this.#checkStatement(expression.right);
    } else if (ts.isCallExpression(expression)) {
      const wait = this.#waitUnder(expression);
      if (wait !== undefined) {
        const text = wait.expression.getText(this.#source.file);
        this.#report(
          expression,
          'no-floating-wait',
          `the promise of ${text}(…) is dropped; await it, or write void before it`,
        );
      }
    }
  }

  /** Returns the call of a waiting method: `call`, or the one that it chains `then`, `catch` or `finally` to. */
  #waitUnder(call: ts.CallExpression): ts.CallExpression | undefined {
    const method = this.#methodOf(call);
    if (method !== undefined) return waitingMethods.has(method) ? call : undefined;
    const { expression } = call;
    if (!ts.isPropertyAccessExpression(expression) || !/^(then|catch|finally)$/.test(expression.name.text))
      return undefined;
    return ts.isCallExpression(expression.expression) ? this.#waitUnder(expression.expression) : undefined;
  }

  /** Returns the name of the called method if its object is a context. */
  #methodOf({ expression }: ts.CallExpression): string | undefined {
    if (!ts.isPropertyAccessExpression(expression) || !ts.isIdentifier(expression.expression)) return undefined;
    const owner = symbolOf(this.#source, expression.expression);
    return owner !== undefined && this.#contexts.has(owner) ? expression.name.text : undefined;
  }

  #isDate(expression: ts.Expression): boolean {
    return outsideName(this.#source, expression) === 'Date';
  }
}

/** Returns the second argument of a call of a method named `step` or `compensate`. */
function workOf(call: ts.CallExpression): ts.Expression | undefined {
  const { expression } = call;
  const isNamed = ts.isPropertyAccessExpression(expression) && /^(step|compensate)$/.test(expression.name.text);
  return isNamed ? call.arguments[1] : undefined;
}

function isCompensation({ expression }: ts.CallExpression): boolean {
  return ts.isPropertyAccessExpression(expression) && expression.name.text === 'compensate';
}

function isShortCircuit(kind: ts.SyntaxKind): boolean {
  return (
    kind === ts.SyntaxKind.AmpersandAmpersandToken ||
    kind === ts.SyntaxKind.BarBarToken ||
    kind === ts.SyntaxKind.QuestionQuestionToken
  );
}

/** Returns false for a declared name, a key or a label: they have no value of their own. */
function isRead(name: ts.Identifier): boolean {
  const { parent } = name;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === name;
  if (ts.isBindingElement(parent)) return parent.initializer === name;
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent)) return parent.initializer === name;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === name;
  return !ts.isLabeledStatement(parent) && !ts.isBreakOrContinueStatement(parent);
}
