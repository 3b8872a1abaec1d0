// Converts JSON Schema to a TypeScript type. Pure. The schema is untrusted: all of its text in the output is quoted,
// and nothing is fetched. What TypeScript cannot express becomes a wider type: valid arguments are never rejected,
// except for names that the schema does not declare.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { docComment, nameText, quoted } from './text.js';

/** Most schemas within one schema, each counted as often as it is referenced. */
const partsMax = 2_000;
const depthMax = 24;
const enumMax = 200;
/** Longest name or string literal in a type; longer ones are left out. */
const literalMaxChars = 256;
const typeMaxChars = 32_768;

export interface TypeOptions {
  /** Arguments come from the author, the output from the server. */
  readonly of: 'arguments' | 'output';
  /** Indentation of the line in which the type begins. */
  readonly indent: number;
}

export interface SchemaType {
  readonly text: string;
  /** Whether the schema allows anything, or cannot be expressed as a type. */
  readonly isAnything: boolean;
}

interface Walk extends TypeOptions {
  readonly root: JsonValue;
  readonly budget: { parts: number };
  /** References that are being resolved. */
  readonly open: ReadonlySet<string>;
  readonly depth: number;
}

/** `level`: the operator of the text, which needs brackets inside an operator that binds tighter. */
interface Piece extends SchemaType {
  readonly level: 'one' | 'array' | 'and' | 'or';
}

class TooLarge extends Error {}

/**
 * Returns the type of values that match `schema`; any value, with a comment that says so, if the schema is too large.
 */
export function schemaType(schema: JsonValue, options: TypeOptions): SchemaType {
  const walk: Walk = { ...options, root: schema, budget: { parts: partsMax }, open: new Set(), depth: 0 };
  try {
    const { text, isAnything } = pieceOf(schema, walk);
    if (text.length <= typeMaxChars) return { text, isAnything };
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
  }
  return anything(walk, 'its schema is too large');
}

function pieceOf(schema: JsonValue | undefined, walk: Walk): Piece {
  if (--walk.budget.parts < 0) throw new TooLarge();
  if (schema === false) return one('never');
  if (!isJsonObject(schema)) return anything(walk);
  if (walk.depth > depthMax) return anything(walk, 'its schema is too deep');
  const inner = { ...walk, depth: walk.depth + 1 };
  const at = (part: JsonValue): Piece => pieceOf(part, inner);
  const { $ref: ref, allOf, anyOf, oneOf, nullable } = schema;
  const pieces = [
    ...(typeof ref === 'string' ? [referred(ref, inner)] : []),
    ownPiece(schema, inner),
    ...list(allOf).map(at),
    ...[anyOf, oneOf].filter((choice) => Array.isArray(choice)).map((choice) => union(list(choice).map(at), walk)),
  ];
  const all = intersection(pieces, walk);
  return nullable === true && !all.isAnything ? union([all, one('null')], walk) : all;
}

/** Resolves a reference within the schema. External references are not followed, recursive ones only once. */
function referred(ref: string, walk: Walk): Piece {
  const target = ref.startsWith('#') ? pointedAt(walk.root, ref.slice(1)) : undefined;
  if (target === undefined) return anything(walk, 'a reference that is not followed');
  if (walk.open.has(ref)) return anything(walk, 'refers to itself');
  return pieceOf(target, { ...walk, open: new Set([...walk.open, ref]) });
}

function pointedAt(root: JsonValue, pointer: string): JsonValue | undefined {
  if (pointer === '') return root;
  if (!pointer.startsWith('/')) return undefined;
  let at: JsonValue | undefined = root;
  for (const step of pointer.slice(1).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, JsonValue>>)[name];
  }
  return at;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the type of the schema's own keywords, without references and choices. */
function ownPiece(schema: JsonObject, walk: Walk): Piece {
  if (schema['const'] !== undefined) return literal(schema['const'], walk);
  const values = list(schema['enum']);
  if (values.length > 0 && values.length <= enumMax) {
    walk.budget.parts -= values.length;
    return union(
      values.map((value) => literal(value, walk)),
      walk,
    );
  }
  const types = typesIn(schema);
  return types.length === 0
    ? anything(walk)
    : union(
        types.map((type) => pieceByType(type, schema, walk)),
        walk,
      );
}

function typesIn(schema: JsonObject): readonly JsonValue[] {
  const { type } = schema;
  if (Array.isArray(type)) return (type as readonly JsonValue[]).slice(0, 8);
  if (type !== undefined) return [type];
  const has = (names: readonly string[]): boolean => names.some((name) => Object.hasOwn(schema, name));
  if (has(['properties', 'required', 'additionalProperties', 'patternProperties'])) return ['object'];
  return has(['items', 'prefixItems']) ? ['array'] : [];
}

function pieceByType(type: JsonValue, schema: JsonObject, walk: Walk): Piece {
  switch (type as string) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return one(type as string);
    case 'integer':
      return one('number');
    case 'array':
      return arrayPiece(schema, walk);
    case 'object':
      return objectPiece(schema, walk);
    default:
      return anything(walk);
  }
}

function arrayPiece({ items, prefixItems, minItems, maxItems }: JsonObject, walk: Walk): Piece {
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? undefined : items;
  const each = grouped(pieceOf(rest, walk), ['array', 'and', 'or']);
  if (first.length === 0) return { text: `readonly ${each}[]`, level: 'array', isAnything: false };
  const least = typeof minItems === 'number' ? minItems : 0;
  const elements = (first as readonly JsonValue[]).map((part, index) => {
    const piece = pieceOf(part, walk);
    return index < least ? piece.text : `${grouped(piece, ['array', 'and', 'or'])}?`;
  });
  const isFull = rest === false || (typeof maxItems === 'number' && maxItems <= first.length);
  const more = isFull ? [] : [`...${each}[]`];
  return { text: `readonly [${[...elements, ...more].join(', ')}]`, level: 'array', isAnything: false };
}

function objectPiece(schema: JsonObject, walk: Walk): Piece {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : undefined;
  const required = new Set(list(schema['required']).filter((name) => typeof name === 'string'));
  const names = [...new Set([...Object.keys(properties ?? {}), ...required])].filter(isShort).sort();
  if (names.length === 0) return mapPiece(schema, properties !== undefined, walk);
  const inner = { ...walk, indent: walk.indent + 2 };
  const pad = ' '.repeat(inner.indent);
  const lines = names.flatMap((name) => {
    const part = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const { text } = pieceOf(part, inner);
    const doc = docComment(isJsonObject(part) ? part['description'] : undefined);
    const member = `${pad}${nameText(name)}${required.has(name) ? '' : '?'}: ${text};`;
    return doc === undefined ? [member] : [`${pad}${doc}`, member];
  });
  const { additionalProperties: more = false, patternProperties } = schema;
  // `unknown`, because an index signature must hold for the named members too.
  if (more !== false || patternProperties !== undefined) lines.push(`${pad}[name: string]: unknown;`);
  return one(`{\n${lines.join('\n')}\n${' '.repeat(walk.indent)}}`);
}

/** Returns the type of an object without named members. */
function mapPiece(schema: JsonObject, isNamed: boolean, walk: Walk): Piece {
  const { additionalProperties: more, patternProperties } = schema;
  const isClosed = patternProperties === undefined && (more === false || (more === undefined && isNamed));
  // Only at the top, for a tool without arguments: deeper it would conflict with other parts.
  if (isClosed && walk.of === 'arguments' && walk.depth === 1) return one('Record<string, never>');
  const each = more === undefined || isClosed || patternProperties !== undefined ? anything(walk) : pieceOf(more, walk);
  return one(`{ [name: string]: ${each.text} }`);
}

function literal(value: JsonValue, walk: Walk): Piece {
  if (value === null || typeof value === 'boolean') return one(String(value));
  if (typeof value === 'number') return one(Number.isFinite(value) ? String(value) : 'number');
  if (typeof value === 'string') return one(isShort(value) ? quoted(value) : 'string');
  return anything(walk);
}

function union(pieces: readonly Piece[], walk: Walk): Piece {
  const any = pieces.find(({ isAnything }) => isAnything);
  if (any !== undefined || pieces.length === 0) return any ?? anything(walk);
  return joined(pieces, 'or');
}

function intersection(pieces: readonly Piece[], walk: Walk): Piece {
  const bare = `{ [name: string]: ${anything(walk).text} }`;
  const all = pieces.filter(({ isAnything }) => !isAnything);
  const some = all.filter(({ text }) => text !== bare && text !== 'Record<string, never>');
  const said = some.length > 0 ? some : all;
  // Prefers a piece that says why.
  if (said.length === 0) return pieces.find(({ text }) => text.includes('/*')) ?? anything(walk);
  return joined(said, 'and');
}

function joined(pieces: readonly Piece[], level: 'and' | 'or'): Piece {
  const texts = [...new Set(pieces.map((piece) => grouped(piece, level === 'and' ? ['or'] : [])))];
  if (texts.length === 1 && pieces[0] !== undefined) return pieces[0];
  return { text: texts.join(level === 'and' ? ' & ' : ' | '), level, isAnything: false };
}

function grouped({ text, level }: Piece, loose: readonly Piece['level'][]): string {
  return loose.includes(level) ? `(${text})` : text;
}

function one(text: string): Piece {
  return { text, level: 'one', isAnything: false };
}

/** Returns the type of any value. `why` must be our own text, not the server's. */
function anything({ of }: TypeOptions, why?: string): Piece {
  const text = of === 'arguments' ? 'unknown' : 'JsonValue';
  return { text: why === undefined ? text : `${text} /* ${why} */`, level: 'one', isAnything: true };
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function isShort(text: string): boolean {
  return text.length <= literalMaxChars;
}
