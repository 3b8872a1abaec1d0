import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../lib/remote/http/retry-after.js';
import { nowMs } from './loopback.js';

describe('retryAfterMs at 2026-11-29T10:00:00Z', () => {
  it.each([
    ['120', 120_000],
    [' 5 ', 5_000],
    ['0', 0],
    ['Sun, 29 Nov 2026 10:02:00 GMT', 120_000],
    ['Sun, 29 Nov 2026 09:00:00 GMT', 0],
    ['999999999', 3_600_000],
    ['Mon, 30 Nov 2026 10:00:00 GMT', 3_600_000],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['Sunday', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('reads %j as %j', (header, expected) => {
    expect(retryAfterMs(header, nowMs)).toBe(expected);
  });
});
