import { describe, expect, it } from 'vitest';
import { headerParamsOf, paramHeaders } from '../../../lib/remote/mcp/param-headers.js';

const on = (type: string, name: unknown = 'Region') => ({ type, 'x-mcp-header': name });
const object = (properties: object) => ({ type: 'object', properties });
const region = on('string');

describe('x-mcp-header', () => {
  it.each([
    ['no schema', undefined],
    ['no annotation', object({ a: { type: 'number' } })],
    ['string, integer and boolean', object({ a: on('string', 'A'), b: on('integer', 'B'), c: on('boolean', 'C') })],
    ['a nested property', object({ a: object({ b: region }) })],
    ['every character of a token', object({ a: on('string', "!#$%&'*+-.^_`|~09azAZ") })],
    [
      'a value that looks like an annotation',
      object({ a: { type: 'object', default: region, enum: [region], const: region, examples: [region] } }),
    ],
    ['a property that is called so', object({ 'x-mcp-header': { type: 'string' } })],
  ])('MCP-20: a schema with %s is taken', (_name, schema) => {
    expect(headerParamsOf(schema as never).kind).toBe('usable');
  });

  const broken: readonly (readonly [name: string, schema: object, problem: string])[] = [
    ['an empty name', object({ a: on('string', '') }), 'an x-mcp-header that is not a token'],
    ['a name with a space', object({ a: on('string', 'a b') }), 'an x-mcp-header that is not a token'],
    ['a name with a line break', object({ a: on('string', 'a\n') }), 'an x-mcp-header that is not a token'],
    ['a name that is no text', object({ a: on('string', 1) }), 'an x-mcp-header that is not a token'],
    [
      'a number',
      object({ a: on('number') }),
      'the x-mcp-header "Region" on a property that is not a string, integer or boolean',
    ],
    [
      'an object',
      object({ a: on('object') }),
      'the x-mcp-header "Region" on a property that is not a string, integer or boolean',
    ],
    [
      'no type',
      object({ a: { 'x-mcp-header': 'Region' } }),
      'the x-mcp-header "Region" on a property that is not a string, integer or boolean',
    ],
    [
      'two names that differ in case',
      object({ a: on('string', 'Region'), b: on('string', 'REGION') }),
      'two properties with the x-mcp-header "REGION"',
    ],
    [
      'two equal names at different depths',
      object({ a: region, b: object({ a: region }) }),
      'two properties with the x-mcp-header "Region"',
    ],
    [
      'the root',
      { ...region, properties: {} },
      'the x-mcp-header "Region" on something that is not a property of an object',
    ],
    ...['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains'].map(
      (keyword): readonly [string, object, string] => [
        keyword,
        object({ a: { type: 'array', [keyword]: object({ b: region }) } }),
        'the x-mcp-header "Region" on something that is not a property of an object',
      ],
    ),
    ...['oneOf', 'anyOf', 'allOf', 'prefixItems'].map((keyword): readonly [string, object, string] => [
      keyword,
      object({ a: { [keyword]: [object({ b: region })] } }),
      'the x-mcp-header "Region" on something that is not a property of an object',
    ]),
    [
      '$defs',
      { ...object({}), $defs: { r: region } },
      'the x-mcp-header "Region" on something that is not a property of an object',
    ],
  ];
  it.each(broken)('MCP-20: a schema with an annotation on %s is excluded', (_name, schema, problem) => {
    expect(headerParamsOf(schema as never)).toEqual({ kind: 'excluded', problem });
  });

  const params = headerParamsOf(
    object({
      s: on('string', 'S'),
      i: on('integer', 'I'),
      b: on('boolean', 'B'),
      o: object({ p: on('string', 'P') }),
    }) as never,
  );
  it.each([
    [
      { s: 'eu', i: 7, b: false, o: { p: 'x' } },
      { s: 'eu', i: '7', b: 'false', p: 'x' },
    ],
    [{ s: '日本', o: {} }, { s: '=?base64?5pel5pys?=' }],
    [
      { s: ' eu', i: -3 },
      { s: '=?base64?IGV1?=', i: '-3' },
    ],
    [{ s: null, i: null, b: null, o: null }, {}],
    [{}, {}],
    [{ i: 9_007_199_254_740_991 }, { i: '9007199254740991' }],
    [{ i: 9_007_199_254_740_992 }, {}],
    [{ i: 1.5 }, {}],
    [{ s: ['a'], o: 'x' }, {}],
  ])('MCP-21: the arguments %j are sent as %j', (args, expected) => {
    if (params.kind !== 'usable') throw new Error(params.problem);
    const named = Object.entries(expected).map(([name, value]) => [`mcp-param-${name}`, value]);
    expect(paramHeaders(params.params, args as never)).toEqual(Object.fromEntries(named));
  });
});
