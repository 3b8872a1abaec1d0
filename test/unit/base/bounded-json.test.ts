import { describe, expect, it } from 'vitest';
import { parseBoundedJson, parseReplyJson } from '../../../lib/base/bounded-json.js';

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

  it('counts the values of all arrays and objects together, if they are limited', () => {
    const limits = { maxDepth: 64, maxValues: 5 };
    expect(parseBoundedJson('{"a":[1,[]],"b":",,,,,,"}', limits)).toEqual({ a: [1, []], b: ',,,,,,' });
    expect(() => parseBoundedJson('[[1,2,3],4,5,{"a":6}]', limits)).toThrow('JSON has more than 5 values');
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

describe('F84 what is counted before parsing', () => {
  const tooMany = 'JSON has more than 200000 keys, objects and arrays';

  it.each([
    ['objects', `[${'{},'.repeat(199_999)}0]`, `[${'{},'.repeat(200_000)}0]`],
    ['arrays', `[${'[],'.repeat(199_999)}0]`, `[${'[],'.repeat(200_000)}0]`],
    ['objects with a key', `[${'{"a":0},'.repeat(99_999)}0]`, `[${'{"a":0},'.repeat(100_000)}0]`],
    ['keys', `{${'"a":0,'.repeat(199_998)}"b":0}`, `{${'"a":0,'.repeat(199_999)}"b":0}`],
  ])('%s count', (_what, fits, doesNot) => {
    expect(parseReplyJson(fits).value).toBeTypeOf('object');
    expect(() => parseReplyJson(doesNot)).toThrow(tooMany);
  });

  it('F84 empty objects count in requests too', () => {
    expect(() => parseBoundedJson(`[${'{},'.repeat(200_000)}0]`)).toThrow(tooMany);
  });

  it.each([
    ['numbers', `[${'12.5,'.repeat(500_000)}0]`],
    ['texts', `[${'"a",'.repeat(500_000)}0]`],
    ['words', `[${'true,'.repeat(500_000)}0]`],
  ])('%s are free: a table of 500,000 is honest', (_what, text) => {
    expect(parseReplyJson(text).value).toHaveLength(500_001);
    expect(parseBoundedJson(text)).toHaveLength(500_001);
  });
});

describe('F10 a reply with a number that JavaScript does not hold', () => {
  const long = `-1${'0'.repeat(309)}`;
  it.each([
    ['1e400', '', '1e400'],
    ['{"a":[1,{"b c":[0,-1E+999]}]}', 'a[1]["b c"][1]', '-1E+999'],
    ['{"a":{},"b":[[],{"x":"1e400","n":1.5e309}]}', 'b[1].n', '1.5e309'],
    [`[${long}]`, '[0]', long.slice(0, 128)],
    ['{"\\"1e400,":2,"n":1e400}', 'n', '1e400'],
  ])('says where it stands, and how it was written: %s', (text, path, number) => {
    expect(parseReplyJson(text).overflow).toEqual({ path, number });
  });

  it.each(['1e308', '["1e400"]', '{"1e400":0}', '[1e-400]', `[0.${'1'.repeat(400)}]`, '{"n":1e400,"n":1}'])(
    'is not one with %s',
    (text) => {
      expect(parseReplyJson(text)).toEqual({ value: JSON.parse(text) as unknown });
    },
  );
});

it('F10 a reply keeps keys that have a meaning elsewhere, as keys of their own', () => {
  const { value } = parseReplyJson('{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}');
  expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}');
  expect([(value as { admin?: unknown }).admin, Object.getPrototypeOf(value)]).toEqual([undefined, Object.prototype]);
});
