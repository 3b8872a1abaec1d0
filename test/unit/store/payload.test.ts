import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import { decodePayload, encodePayload } from '../../../lib/store/items/payload.js';

it('gives back every JSON value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const json = JSON.parse(JSON.stringify(value)) as JsonValue;
      expect(decodePayload(encodePayload(json))).toEqual(json);
    }),
  );
});

it('stores a small payload as readable JSON', () => {
  expect(encodePayload({ month: '2026-11', n: [1, null] })).toBe('1j:{"month":"2026-11","n":[1,null]}');
});

it('stores up to 1 KiB of JSON plain and more of it compressed', () => {
  expect(encodePayload('x'.repeat(1022))).toBe(`1j:"${'x'.repeat(1022)}"`);
  const packed = encodePayload('x'.repeat(1023));
  expect(packed).toMatch(/^1z:[A-Za-z0-9+/]+=*$/);
  expect(packed.length).toBeLessThan(100);
  expect(decodePayload(packed)).toBe('x'.repeat(1023));
});

it('stores what does not get shorter as plain JSON', () => {
  // A linear congruential generator: text without patterns, the same in each run.
  let state = 1;
  const noise = Array.from({ length: 3_000 }, () =>
    String.fromCharCode(33 + ((state = (state * 48_271) % 2_147_483_647) % 94)),
  );
  const value = noise.join('').replace(/["\\]/g, 'x');
  expect(encodePayload(value).slice(0, 3)).toBe('1j:');
});

it('reads what an earlier release has written', () => {
  expect(decodePayload('1j:{"a":1}')).toEqual({ a: 1 });
  expect(decodePayload('1z:H4sIAAAAAAAAA6tWSlSyMtRRSlKyUiopKk1VqgUAceT0wxIAAAA=')).toEqual({ a: 1, b: 'true' });
});

it.each([
  ['2j:{}', '2j:'],
  ['{"a":1}', '{"a'],
  ['', ''],
])('refuses the unknown format of %j and names it', (text, format) => {
  expect(() => decodePayload(text)).toThrow(
    expect.objectContaining({
      code: 'HISTORY_FORMAT_UNKNOWN',
      message: `a stored payload has the unknown format "${format}"; known formats: 1j:, 1z:`,
    }),
  );
});

it.each(['1j:{"secret":', '1z:AAAA', '1z:', `1z:${gzipSync('{"secret":').toString('base64')}`])(
  'refuses the damaged %j without quoting it',
  (text) => {
    expect(() => decodePayload(text)).toThrow(
      expect.objectContaining({ code: 'HISTORY_FORMAT_UNKNOWN', message: 'a stored payload is damaged' }),
    );
  },
);

it('does not inflate a small text to more than 8 MiB', () => {
  const bomb = gzipSync(`"${'x'.repeat(9 * 1024 * 1024)}"`).toString('base64');
  expect(bomb.length).toBeLessThan(20_000);
  expect(() => decodePayload(`1z:${bomb}`)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
});

it('refuses to store what it would not read', () => {
  expect(() => encodePayload('x'.repeat(8 * 1024 * 1024))).toThrow(
    expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
  );
  const largest = 'x'.repeat(8 * 1024 * 1024 - 2);
  expect(decodePayload(encodePayload(largest))).toBe(largest);
});
