import { describe, expect, it } from 'vitest';
import { durationToMs, type Duration } from '../../../lib/base/time.js';

describe('durationToMs', () => {
  it.each<[Duration, number]>([
    [{ days: 1 }, 86_400_000],
    [{ hours: 1 }, 3_600_000],
    [{ minutes: 1 }, 60_000],
    [{ seconds: 1 }, 1_000],
    [{ milliseconds: 1 }, 1],
    [{ days: 2, hours: 3, minutes: 4, seconds: 5, milliseconds: 6 }, 183_845_006],
    [{ minutes: 0.5 }, 30_000],
    [{ seconds: 0 }, 0],
    [{ days: 3_650 }, 315_360_000_000],
  ])('%j is %i ms', (duration, ms) => {
    expect(durationToMs(duration, 'timeout')).toBe(ms);
  });

  it('rounds up to whole milliseconds', () => {
    expect(durationToMs({ milliseconds: 0.1 }, 'timeout')).toBe(1);
    expect(durationToMs({ seconds: 0.0011 }, 'timeout')).toBe(2);
  });

  it.each<[unknown, string]>([
    [{}, 'timeout must be a duration such as { minutes: 5 }, got {}'],
    [{ minutes: undefined }, 'timeout must be a duration such as { minutes: 5 }, got {}'],
    [null, 'timeout must be a duration such as { minutes: 5 }, got null'],
    [600, 'timeout must be a duration such as { minutes: 5 }, got 600'],
    ['1h', 'timeout must be a duration such as { minutes: 5 }, got "1h"'],
    [{ days: 3_650, milliseconds: 1 }, 'timeout must be at most 10 years (3,650 days)'],
    [{ days: 1e300 }, 'timeout must be at most 10 years (3,650 days)'],
    [{ weeks: 1 }, 'timeout must be a duration such as { minutes: 5 }, got the unit "weeks"'],
    [{ constructor: 1 }, 'timeout must be a duration such as { minutes: 5 }, got the unit "constructor"'],
    [{ minutes: -1 }, 'timeout.minutes must be a number of at least 0, got -1'],
    [{ minutes: '5' }, 'timeout.minutes must be a number of at least 0, got "5"'],
    [{ minutes: null }, 'timeout.minutes must be a number of at least 0, got null'],
    [{ minutes: Number.NaN }, 'timeout.minutes must be a number of at least 0, got null'],
    [{ minutes: Number.POSITIVE_INFINITY }, 'timeout.minutes must be a number of at least 0, got null'],
  ])('refuses %j and says why', (duration, message) => {
    expect(() => durationToMs(duration as Duration, 'timeout')).toThrow(new TypeError(message));
  });
});
