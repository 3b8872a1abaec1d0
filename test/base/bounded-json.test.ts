import { describe, expect, it } from 'vitest';
import { parseBoundedJson } from '../../lib/base/bounded-json.js';

describe('parseBoundedJson', () => {
  it.each([
    ['{"a":[1,"x",null,true]}', { a: [1, 'x', null, true] }],
    ['"a \\" {[:"', 'a " {[:'],
    ['  12 ', 12],
  ])('reads %s', (text, expected) => {
    expect(parseBoundedJson(text)).toEqual(expected);
  });

  it('takes depth 64 and refuses depth 65', () => {
    expect(parseBoundedJson('['.repeat(64) + ']'.repeat(64))).toBeInstanceOf(Array);
    expect(() => parseBoundedJson('['.repeat(65) + ']'.repeat(65))).toThrow('JSON is nested deeper than 64 levels');
  });

  it('refuses 100,000 levels without building them', () => {
    expect(() => parseBoundedJson('{"a":'.repeat(100_000))).toThrow('JSON is nested deeper than 64 levels');
  });

  it('counts the keys of all objects together', () => {
    const limits = { maxDepth: 64, maxKeys: 3 };
    expect(parseBoundedJson('{"a":{"b":1},"c":2}', limits)).toEqual({ a: { b: 1 }, c: 2 });
    expect(() => parseBoundedJson('[{"a":1,"b":2},{"a":1,"b":2}]', limits)).toThrow('JSON has more than 3 keys');
  });

  it('does not count brackets and colons inside strings', () => {
    const text = JSON.stringify({ a: '[[[[{{{{::::"\\' });
    expect(parseBoundedJson(text, { maxDepth: 1, maxKeys: 1 })).toEqual({ a: '[[[[{{{{::::"\\' });
  });

  it('drops keys that could reach a prototype, also when written in escapes', () => {
    const text = '{"__proto__":{"admin":true},"\\u005f_proto__":1,"in":{"constructor":{"prototype":{"x":1}}},"ok":1}';
    const value = parseBoundedJson(text);
    expect(JSON.stringify(value)).toBe('{"in":{},"ok":1}');
  });

  it('keeps the ordinary word "constructor"', () => {
    expect(parseBoundedJson('{"constructor":"Ferrari"}')).toEqual({ constructor: 'Ferrari' });
  });

  it('refuses what is not JSON with INPUT_INVALID and without quoting it', () => {
    let thrown: unknown;
    try {
      parseBoundedJson('{"secret-canary": ');
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'INPUT_INVALID', message: 'not valid JSON' });
  });
});
