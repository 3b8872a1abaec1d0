import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  claimUntilMs,
  nextPollAfterErrorMs,
  nextPollAtMs,
  pollHint,
  pollIntervalMs,
  type PolledToken,
} from '../../../lib/decide/poll.js';

function aToken(over: Partial<PolledToken> = {}): PolledToken {
  return { createdAtMs: 0, deadlineAtMs: 1_000_000_000, ...over };
}

describe('the interval between reads (S0-70)', () => {
  it.each([
    [0, 5_000],
    [49_999, 5_000],
    [60_000, 6_000],
    [3_600_000, 300_000],
    [86_400_000, 300_000],
    [-5_000, 5_000],
  ])('of a task of %i ms is %i ms', (ageMs, intervalMs) => {
    expect(pollIntervalMs(ageMs)).toBe(intervalMs);
  });

  it('is a tenth of the age between 5 s and 5 min', () => {
    fc.assert(
      fc.property(fc.integer({ min: 50_000, max: 3_000_000 }), (ageMs) => {
        expect(pollIntervalMs(ageMs)).toBe(ageMs / 10);
      }),
    );
  });
});

describe('a hint of the server', () => {
  it.each<[number | undefined, number]>([
    [undefined, 0],
    [0, 0],
    [-1, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0],
    [0.2, 1],
    [7_000, 7_000],
    [1e12, 3_600_000],
  ])('of %d is taken as %i ms', (given, hintMs) => {
    expect(pollHint(given)).toBe(hintMs);
  });
});

describe('the next read', () => {
  it('comes after the interval, on a whole second', () => {
    expect(nextPollAtMs(aToken(), 0)).toBe(5_000);
    expect(nextPollAtMs(aToken(), 100_001)).toBe(111_000);
  });

  it('never comes sooner than the server asks', () => {
    expect(nextPollAtMs(aToken(), 0, 30_000)).toBe(30_000);
    expect(nextPollAtMs(aToken(), 1, 30_000)).toBe(31_000);
    expect(nextPollAtMs(aToken(), 0, 1_000)).toBe(5_000);
  });

  it('never comes after the deadline, whatever the server asks', () => {
    expect(nextPollAtMs(aToken({ deadlineAtMs: 3_500 }), 0)).toBe(3_500);
    expect(nextPollAtMs(aToken({ deadlineAtMs: 60_000 }), 0, 1e12)).toBe(60_000);
  });

  it('is a number in the future for any clock and any hint', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000 }), fc.double(), (nowMs, hintMs) => {
        const atMs = nextPollAtMs(aToken(), nowMs, hintMs);
        expect(Number.isSafeInteger(atMs)).toBe(true);
        expect(atMs).toBeGreaterThanOrEqual(nowMs + 5_000);
        expect(atMs).toBeLessThanOrEqual(nowMs + 3_601_000);
      }),
    );
  });
});

describe('the read after failing ones (S0-74)', () => {
  it.each([
    [1, 10_000],
    [2, 20_000],
    [3, 40_000],
    [4, 80_000],
    [5, 160_000],
    [6, 300_000],
    [7, 300_000],
    [5_000, 300_000],
  ])('number %i comes after %i ms', (errors, waitMs) => {
    expect(nextPollAfterErrorMs(aToken(), 0, errors)).toBe(waitMs);
  });

  it('comes later when the server says so, and never after the deadline', () => {
    expect(nextPollAfterErrorMs(aToken(), 0, 1, 45_000)).toBe(45_000);
    expect(nextPollAfterErrorMs(aToken(), 0, 6, 45_000)).toBe(300_000);
    expect(nextPollAfterErrorMs(aToken({ deadlineAtMs: 7_000 }), 0, 6, 1e12)).toBe(7_000);
  });
});

describe('a claim', () => {
  it('lasts a minute, or until the next read where that is later', () => {
    expect(claimUntilMs(aToken(), 0)).toBe(60_000);
    expect(claimUntilMs(aToken(), 1_000_000)).toBe(1_100_000);
    expect(claimUntilMs(aToken({ pollHintMs: 90_000 }), 0)).toBe(90_000);
  });

  it('ends at the deadline at the latest', () => {
    expect(claimUntilMs(aToken({ deadlineAtMs: 10_000 }), 0)).toBe(10_000);
  });
});
