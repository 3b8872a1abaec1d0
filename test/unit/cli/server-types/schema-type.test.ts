import { expect, it } from 'vitest';
import type { JsonValue } from '../../../../lib/base/json.js';
import { schemaType } from '../../../../lib/cli/server-types/schema-type.js';

const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');
const given = (schema: JsonValue): string => flat(schemaType(schema, { of: 'arguments', indent: 0 }).text);
const output = (schema: JsonValue): string => flat(schemaType(schema, { of: 'output', indent: 0 }).text);

const tree: JsonValue = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, kids: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name'],
    },
  },
};
const doubled: JsonValue = {
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [
      `d${n}`,
      { type: 'object', properties: { a: { $ref: `#/$defs/d${n + 1}` }, b: { $ref: `#/$defs/d${n + 1}` } } },
    ]),
  ),
};
const deep = (levels: number): JsonValue =>
  levels === 0 ? { type: 'string' } : { type: 'array', items: deep(levels - 1) };

it.each<[string, JsonValue, string]>([
  ['a text', { type: 'string', format: 'date' }, 'string'],
  ['a whole number', { type: 'integer' }, 'number'],
  ['several types', { type: ['string', 'null'] }, 'string | null'],
  ['null beside a type', { type: 'string', nullable: true }, 'string | null'],
  ['literals', { enum: ['a', 1, null, true] }, '"a" | 1 | null | true'],
  ['one literal', { const: 'a' }, '"a"'],
  ['a literal that is no primitive', { const: { a: 1 } }, 'unknown'],
  ['a list', { type: 'array', items: { type: ['string', 'number'] } }, 'readonly (string | number)[]'],
  ['a list of lists', deep(2), 'readonly (readonly string[])[]'],
  ['a list of anything', { type: 'array' }, 'readonly unknown[]'],
  [
    'a list with first elements',
    { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 1 },
    'readonly [string, number?]',
  ],
  ['first elements and no others', { prefixItems: [{}], minItems: 1, maxItems: 1 }, 'readonly [unknown]'],
  ['the same in an older draft', { items: [{ type: 'string' }] }, 'readonly [string?, ...unknown[]]'],
  [
    'members, sorted, with what is said of them',
    {
      type: 'object',
      properties: { b: { type: 'string' }, a: { type: 'number', description: 'The a.' } },
      required: ['b'],
    },
    '{ /** The a. */ a?: number; b: string; }',
  ],
  ['a member of which nothing is said', { type: 'object', required: ['a'] }, '{ a: unknown; }'],
  ['no members', { type: 'object', properties: {} }, 'Record<string, never>'],
  ['members that may not be there', { type: 'object', additionalProperties: false }, 'Record<string, never>'],
  ['an object of any kind', { type: 'object' }, '{ [name: string]: unknown }'],
  ['a map', { type: 'object', additionalProperties: { type: 'number' } }, '{ [name: string]: number }'],
  [
    'members and more',
    { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } },
    '{ a?: string; [name: string]: unknown; }',
  ],
  ['alternatives', { anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
  ['alternatives of which one is anything', { oneOf: [{ type: 'string' }, {}] }, 'unknown'],
  [
    'parts, with alternatives',
    { allOf: [{ required: ['a'] }, { anyOf: [{ required: ['b'] }, { required: ['c'] }] }] },
    '{ a: unknown; } & ({ b: unknown; } | { c: unknown; })',
  ],
  ['parts of which one says nothing', { type: 'object', allOf: [{ required: ['a'] }] }, '{ a: unknown; }'],
  ['parts of which one has no members', { allOf: [{ required: ['a'] }, { properties: {} }] }, '{ a: unknown; }'],
  ['true', true, 'unknown'],
  ['false', false, 'never'],
  ['what is no schema', 'string', 'unknown'],
  ['a type that there is not', { type: 'file' }, 'unknown'],
  ['a reference', { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'string' } } }, 'string'],
  [
    'a reference that comes back to itself, once',
    tree,
    '{ kids?: readonly unknown /* refers to itself */[]; name: string; }',
  ],
  [
    'a reference to the whole',
    { properties: { a: { $ref: '#' } } },
    '{ a?: { a?: unknown /* refers to itself */; }; }',
  ],
  ['a reference to a file', { $ref: 'file:///etc/passwd' }, 'unknown /* a reference that is not followed */'],
  ['a reference to the network', { $ref: 'http://127.0.0.1/' }, 'unknown /* a reference that is not followed */'],
  ['a reference to what is inherited', { $ref: '#/constructor' }, 'unknown /* a reference that is not followed */'],
  ['a reference that cannot be read', { $ref: '#/%zz' }, 'unknown /* a reference that is not followed */'],
  ['references that double at each step', doubled, 'unknown /* its schema is too large */'],
  [
    'an endless depth',
    deep(40),
    `${'readonly ('.repeat(24)}readonly unknown /* its schema is too deep */[]${')[]'.repeat(24)}`,
  ],
  [
    'more members than are read',
    { properties: Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`m${n}`, {}])) },
    'unknown /* its schema is too large */',
  ],
  ['more literals than are read', { type: 'string', enum: Array.from({ length: 300 }, (_, n) => `v${n}`) }, 'string'],
  ['a literal that is too long', { enum: ['x'.repeat(300)] }, 'string'],
])('the type of %s', (_, schema, type) => {
  expect(given(schema)).toBe(type);
});

it('of a result, any value is JSON, and a member that nobody named may be there', () => {
  expect(output({ properties: { a: {} }, required: ['a'] })).toBe('{ a: JsonValue; }');
  expect(output({ type: 'object', properties: {} })).toBe('{ [name: string]: JsonValue }');
});

it.each<[string, JsonValue]>([
  ['a name', { properties: { 'a"; } evil(); {\n': { type: 'string' } } }],
  ['a literal', { enum: ['"; evil(); "', '\u2028evil()', '\u202e'] }],
  ['a description', { properties: { a: { description: '*/ evil(); /* \n// \u2029 evil() */' } } }],
  ['a description that would be a directive', { properties: { a: { description: '@ts-expect-error' } } }],
  ['keywords of a generator', { tsType: 'evil()', properties: { a: { enum: ['x'], tsEnumNames: ['evil()'] } } }],
  ['a type', { type: 'string; evil()' }],
  ['a reference', { $ref: '*/ evil() /*' }],
])('kept inside of its quotes: %s', (_, schema) => {
  const { text } = schemaType(schema, { of: 'arguments', indent: 0 });
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\/\*.*?\*\//g, '');
  expect(bare).not.toMatch(/evil|@ts-|\*\//);
  expect(text).not.toMatch(/[\u2028\u2029\u202e]|@ts-/);
});
