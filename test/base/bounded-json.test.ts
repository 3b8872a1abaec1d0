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

  it.each(['{"a":"[[{{::"}', '{"a":"\\"[[{{::"}', '{"a":"\\\\","b":"[["}'])(
    'does not count what is inside the strings of %s',
    (text) => {
      expect(parseBoundedJson(text, { maxDepth: 1, maxKeys: 2 })).toBeTypeOf('object');
    },
  );

  it.each([
    '{"__proto__":{"admin":true}}',
    '{"\\u005f_proto__":{"admin":true}}',
    '{"constructor":{"prototype":{"x":1}}}',
  ])('drops the key of %s, which could reach a prototype', (text) => {
    expect(JSON.stringify(parseBoundedJson(`[${text}]`))).toBe('[{}]');
  });

  it.each(['1e999', '[1,-1e400]', '{"a":[{"n":1e309}]}', `1${'0'.repeat(309)}`])(
    'refuses %s, which would be stored as null',
    (text) => {
      expect(() => parseBoundedJson(text)).toThrow('JSON has a number that is too large');
    },
  );

  it('takes the largest number, and text that looks like a larger one', () => {
    expect(parseBoundedJson('[1.7976931348623157e308,"1e999",1e-999]')).toEqual([Number.MAX_VALUE, '1e999', 0]);
  });

  it('keeps the ordinary word "constructor"', () => {
    expect(parseBoundedJson('{"constructor":"Ferrari"}')).toEqual({ constructor: 'Ferrari' });
    expect(JSON.stringify(parseBoundedJson('{"constructor":{"name":"Ferrari"}}'))).toBe(
      '{"constructor":{"name":"Ferrari"}}',
    );
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
