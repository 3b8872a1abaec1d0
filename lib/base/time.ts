/** An instant: milliseconds since the Unix epoch. */
export type EpochMs = number;

/** A length of time, as the sum of its fields. Public options take this form, never a bare number. */
export interface Duration {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

/** Where code gets the time from; handed in, so that a simulator can drive it. */
export interface Clock {
  nowMs(): EpochMs;
}

/** 10 years of 365 days: a longer one is a mistake, or is meant to be no limit. */
export const durationMaxMs = 3_650 * 86_400_000;

const unitsMs = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, milliseconds: 1 } as const;
type Unit = keyof typeof unitsMs;

/**
 * `duration` in whole milliseconds, rounded up. Throws a TypeError that names `what` when a field is unknown, negative
 * or not a finite number, when no field has a value, or when the sum is more than 10 years.
 */
export function durationToMs(duration: Duration, what: string): number {
  // A field without a value counts as one that is not there.
  const fields = Object.entries(duration as Record<string, unknown>).filter(([, value]) => value !== undefined);
  if (fields.length === 0) throw new TypeError(`${what} must be a duration such as { minutes: 5 }, got {}`);
  let totalMs = 0;
  for (const [unit, value] of fields) {
    if (!Object.hasOwn(unitsMs, unit))
      throw new TypeError(`${what} must be a duration such as { minutes: 5 }, got the unit "${unit}"`);
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
      throw new TypeError(`${what}.${unit} must be a number of at least 0, got ${JSON.stringify(value)}`);
    }
    totalMs += value * unitsMs[unit as Unit];
  }
  if (totalMs > durationMaxMs) throw new TypeError(`${what} must be at most 10 years (3,650 days)`);
  return Math.ceil(totalMs);
}
