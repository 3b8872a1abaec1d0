import { describe, expect, it } from 'vitest';
import { startRetryDelayMs, stepRetryDelayMs } from '../../../lib/decide/retry.js';

describe('attempts to start a remote task (S0-10)', () => {
  it('are five, 1, 2, 4 and 8 s apart', () => {
    expect([1, 2, 3, 4, 5, 6].map((attempt) => startRetryDelayMs(attempt))).toEqual([
      1_000,
      2_000,
      4_000,
      8_000,
      undefined,
      undefined,
    ]);
  });

  it('are never sooner than the server asks', () => {
    expect(startRetryDelayMs(1, 30_000)).toBe(30_000);
    expect(startRetryDelayMs(4, 5_000)).toBe(8_000);
    expect(startRetryDelayMs(5, 30_000)).toBeUndefined();
  });
});

describe('attempts of a step', () => {
  const policy = { maxAttempts: 5, initialIntervalMs: 1_000, maxIntervalMs: 5_000, jitter: 0 };

  it('are each twice as far apart as the one before, up to the longest interval', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => stepRetryDelayMs(policy, attempt, 0))).toEqual([
      1_000,
      2_000,
      4_000,
      5_000,
      undefined,
    ]);
  });

  it('stay at the longest interval however many there are', () => {
    expect(stepRetryDelayMs({ ...policy, maxAttempts: 10_000 }, 9_999, 0)).toBe(5_000);
  });

  it('may follow one another at once', () => {
    expect(stepRetryDelayMs({ ...policy, initialIntervalMs: 0 }, 3, 0)).toBe(0);
  });

  it('are cut by a part left to chance, and never sooner than the error asks', () => {
    expect(stepRetryDelayMs({ ...policy, jitter: 0.5 }, 1, 0.5)).toBe(750);
    expect(stepRetryDelayMs({ ...policy, jitter: 1 }, 1, 0)).toBe(1_000);
    expect(stepRetryDelayMs(policy, 1, 0, 30_000)).toBe(30_000);
  });
});
