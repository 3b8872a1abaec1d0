import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, cutUtf8, toJson, utf8Bytes, type JsonValue } from '../../../lib/base/json.js';

describe('canonicalJson', () => {
  it('sorts keys at every depth and keeps the order of lists', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }, 1], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1},1]}');
  });

  // Digests of these texts are stored, so none of them may ever change.
  it.each([
    [{ '10': 1, '9': 2, b: 3, B: 4, '': 5 }, '{"":5,"10":1,"9":2,"B":4,"b":3}'],
    [{ '\u{1F600}': 1, '\uFFFF': 2, é: 3, z: 4 }, '{"z":4,"é":3,"\u{1F600}":1,"\uFFFF":2}'],
    [JSON.parse('{"b":1,"__proto__":{"d":1,"c":2}}'), '{"__proto__":{"c":2,"d":1},"b":1}'],
    [{ '"\n': '\ud800\u2028"\\' }, '{"\\"\\n":"\\ud800\u2028\\"\\\\"}'],
    [[-0, 1e21, 1e-7, 5e-324, Number.NaN], '[0,1e+21,1e-7,5e-324,null]'],
    [{ gone: undefined, list: [undefined, [], {}] }, '{"list":[null,[],{}]}'],
    ['text', '"text"'],
  ] as readonly (readonly [JsonValue, string])[])('gives for %j the text that it has always given', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('gives the same text for equal values, whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse());
        expect(canonicalJson(turned as JsonValue)).toBe(canonicalJson(value as JsonValue));
      }),
    );
  });

  it('is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.parse(JSON.stringify(value)) as JsonValue;
        expect(JSON.parse(canonicalJson(json))).toEqual(json);
      }),
    );
  });
});

describe('toJson', () => {
  it('gives the form that JSON keeps', () => {
    expect(toJson({ at: new Date(0), gone: undefined, list: [undefined] })).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      list: [null],
    });
    expect(toJson(undefined)).toBeUndefined();
  });

  it('gives a copy', () => {
    const value = { rows: [1] };
    const copy = toJson(value) as { rows: number[] };
    copy.rows.push(2);
    expect(value).toEqual({ rows: [1] });
  });

  it('refuses what JSON cannot hold', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const value of [() => 1, Symbol('s'), 1n, circle]) expect(() => toJson(value)).toThrow(TypeError);
  });

  it.each([
    ['NaN at total', { total: Number.NaN }],
    ['-Infinity at rows.1', { rows: [1, -Infinity] }],
    ['a function at rows.0.of', { rows: [{ of: () => 1 }] }],
    ['a bigint', 1n],
    ['a Map at seen', { seen: new Map([[1, 2]]) }],
    ['a Set', new Set([1])],
    ['an Error at cause', { cause: new RangeError('far') }],
    ['a Promise at later', { later: Promise.resolve(1) }],
    ['an ArrayBuffer at bytes', { bytes: new ArrayBuffer(1) }],
    ['a Uint8Array at bytes', { bytes: new Uint8Array([1]) }],
  ])('names %s, which JSON would lose without a word', (named, value) => {
    expect(() => toJson(value)).toThrow(new TypeError(`${named} cannot be stored as JSON`));
  });

  it('takes what says itself how it is written', () => {
    const price = { cents: 5, toJSON: () => '0.05' };
    expect(toJson({ price, url: new URL('https://a.example/'), text: Buffer.from('a').toString() })).toEqual({
      price: '0.05',
      url: 'https://a.example/',
      text: 'a',
    });
  });
});

describe('cutUtf8 (S0-96)', () => {
  it('never cuts inside a character', () => {
    expect(cutUtf8('éé', 3)).toBe('é');
    expect(cutUtf8('é', 1)).toBe('');
    expect(cutUtf8('€', 2)).toBe('');
    expect(cutUtf8('a😀', 4)).toBe('a');
    expect(cutUtf8('a😀', 5)).toBe('a😀');
  });

  it('cuts 4096 times é to 2048 of them at 4096 bytes', () => {
    expect(cutUtf8('é'.repeat(4_096), 4_096)).toBe('é'.repeat(2_048));
    expect(cutUtf8(`a${'é'.repeat(4_096)}`, 4_096)).toBe(`a${'é'.repeat(2_047)}`);
  });

  it('is the longest whole beginning that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, maxBytes) => {
        const cut = cutUtf8(text, maxBytes);
        expect(text.startsWith(cut)).toBe(true);
        expect(utf8Bytes(cut)).toBeLessThanOrEqual(maxBytes);
        const [next] = text.slice(cut.length);
        if (next !== undefined) expect(utf8Bytes(cut + next)).toBeGreaterThan(maxBytes);
      }),
    );
  });
});

it('utf8Bytes counts bytes, not characters', () => {
  expect(['a', 'é', '€', '😀'].map(utf8Bytes)).toEqual([1, 2, 3, 4]);
});
