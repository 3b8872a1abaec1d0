import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/base/json.js';
import { account } from './account.js';

/** Names that a template may refer to. Each function throws for an unknown name. */
export interface Names {
  ref(logicalId: string): string;
  attribute(logicalId: string, attribute: string): string;
}

const pseudoParameters: ReadonlyMap<string, string> = new Map([
  ['AWS::AccountId', account.id],
  ['AWS::Partition', account.partition],
  ['AWS::Region', account.region],
  ['AWS::URLSuffix', 'amazonaws.com'],
]);

/**
 * Resolves a part of a template as CloudFormation does.
 * @throws Error that names a function, a pseudo parameter or a form of it that is not supported here
 */
export function resolve(value: JsonValue, names: Names): JsonValue {
  if (isList(value)) return value.map((inner) => resolve(inner, names));
  if (!isJsonObject(value)) return value;
  const [only, ...others] = Object.entries(value);
  if (only !== undefined && others.length === 0 && isFunction(only[0])) return call(only[0], only[1], names);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, resolve(inner, names)]));
}

/** Resolves a part of a template that is a text. */
export function resolveText(value: JsonValue, names: Names): string {
  return textOf('a text', resolve(value, names));
}

function isFunction(name: string): boolean {
  return name === 'Ref' || name === 'Condition' || name.startsWith('Fn::');
}

function call(name: string, argument: JsonValue, names: Names): JsonValue {
  switch (name) {
    case 'Ref':
      return refer(textOf(name, argument), names);
    case 'Fn::GetAtt': {
      const [logicalId = '', attribute = ''] =
        typeof argument === 'string' ? argument.split('.') : textsOf(name, argument);
      return names.attribute(logicalId, attribute);
    }
    case 'Fn::Join': {
      const [delimiter, parts] = listOf(name, resolve(argument, names));
      return textsOf(name, parts).join(textOf(name, delimiter));
    }
    case 'Fn::Split': {
      const [delimiter, text] = listOf(name, resolve(argument, names));
      return textOf(name, text).split(textOf(name, delimiter));
    }
    case 'Fn::Select': {
      const [at, values] = listOf(name, resolve(argument, names));
      const chosen = listOf(name, values)[Number(at)];
      if (chosen === undefined) throw malformed(name, argument);
      return chosen;
    }
    case 'Fn::Sub': {
      const [text, own] = isList(argument) ? argument : [argument, {}];
      return substitute(textOf(name, text), resolve(own ?? {}, names) as JsonObject, names);
    }
    default:
      throw new Error(`the function ${name} is not known here`);
  }
}

function refer(name: string, names: Names): string {
  if (!name.startsWith('AWS::')) return names.ref(name);
  const value = pseudoParameters.get(name);
  if (value === undefined) throw new Error(`the pseudo parameter ${name} is not known here`);
  return value;
}

/** Substitutes `${Name}` and `${Name.Attribute}`; `${!Literal}` stays as it is. */
function substitute(text: string, own: JsonObject, names: Names): string {
  return text.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name.startsWith('!')) return `\${${name.slice(1)}}`;
    if (Object.hasOwn(own, name)) return textOf('Fn::Sub', own[name]);
    const dot = name.indexOf('.');
    return dot < 0 ? refer(name, names) : names.attribute(name.slice(0, dot), name.slice(dot + 1));
  });
}

function textOf(name: string, value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw malformed(name, value);
  return value;
}

function listOf(name: string, value: JsonValue | undefined): readonly JsonValue[] {
  if (!isList(value)) throw malformed(name, value);
  return value;
}

function textsOf(name: string, value: JsonValue | undefined): readonly string[] {
  return listOf(name, value).map((inner) => textOf(name, inner));
}

/** Narrows the type; `Array.isArray` would turn a readonly list into `any[]`. */
function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function malformed(name: string, value: JsonValue | undefined): Error {
  return new Error(`${name} of this form is not known here: ${JSON.stringify(value)}`);
}
