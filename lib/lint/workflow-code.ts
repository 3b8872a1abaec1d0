import ts from 'typescript';
import { outsideName, type Source, symbolOf } from './source.js';

export type FunctionNode = ts.FunctionDeclaration | ts.FunctionExpression | ts.ArrowFunction | ts.MethodDeclaration;

/** A function that is replayed, and the symbol of its context, if it takes one. */
export interface WorkflowFunction {
  readonly node: FunctionNode;
  readonly context: ts.Symbol | undefined;
}

/** Returns the functions given as `run` to `defineWorkflow` and those that take a `WorkflowContext`, in file order. */
export function workflowFunctions(source: Source): readonly WorkflowFunction[] {
  const found = new Map<FunctionNode, WorkflowFunction>();
  const add = (node: FunctionNode | undefined, parameter: ts.ParameterDeclaration | undefined): void => {
    if (node !== undefined && !found.has(node)) found.set(node, { node, context: parameterSymbol(source, parameter) });
  };
  const visit = (node: ts.Node): void => {
    if (isFunction(node)) {
      const parameter = node.parameters.find(({ type }) => isContextType(source, type));
      if (parameter !== undefined) add(node, parameter);
    }
    const run = ts.isCallExpression(node) ? runOf(source, node) : undefined;
    add(run, run?.parameters[0]);
    ts.forEachChild(node, visit);
  };
  visit(source.file);
  return [...found.values()].sort((a, b) => a.node.pos - b.node.pos);
}

export function isFunction(node: ts.Node): node is FunctionNode {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node)
  );
}

export function parameterSymbol(source: Source, parameter: ts.ParameterDeclaration | undefined): ts.Symbol | undefined {
  return parameter !== undefined && ts.isIdentifier(parameter.name) ? symbolOf(source, parameter.name) : undefined;
}

/** Returns the function that an expression is, or that it names in this file. */
export function functionOf(source: Source, expression: ts.Expression | undefined): FunctionNode | undefined {
  if (expression === undefined) return undefined;
  if (ts.isParenthesizedExpression(expression)) return functionOf(source, expression.expression);
  if (isFunction(expression)) return expression;
  if (!ts.isIdentifier(expression)) return undefined;
  const declaration = symbolOf(source, expression)?.valueDeclaration;
  if (declaration === undefined) return undefined;
  if (isFunction(declaration)) return declaration;
  const initializer = ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  return initializer !== undefined && isFunction(initializer) ? initializer : undefined;
}

/** Returns `run` of a call of `defineWorkflow({ … })`. */
function runOf(source: Source, call: ts.CallExpression): FunctionNode | undefined {
  const name = outsideName(source, call.expression);
  if (name === undefined || !/(^|[#.])defineWorkflow$/.test(name)) return undefined;
  const [options] = call.arguments;
  if (options === undefined || !ts.isObjectLiteralExpression(options)) return undefined;
  for (const property of options.properties) {
    if (property.name === undefined || !ts.isIdentifier(property.name) || property.name.text !== 'run') continue;
    if (ts.isMethodDeclaration(property)) return property;
    if (ts.isPropertyAssignment(property)) return functionOf(source, property.initializer);
    if (ts.isShorthandPropertyAssignment(property)) return functionOf(source, property.name);
  }
  return undefined;
}

function isContextType(source: Source, type: ts.TypeNode | undefined): boolean {
  if (type === undefined || !ts.isTypeReferenceNode(type)) return false;
  const name = ts.isQualifiedName(type.typeName) ? type.typeName.right : type.typeName;
  if (name.text === 'WorkflowContext') return true;
  const [declaration] = symbolOf(source, name)?.declarations ?? [];
  return (
    declaration !== undefined &&
    ts.isImportSpecifier(declaration) &&
    declaration.propertyName?.text === 'WorkflowContext'
  );
}
