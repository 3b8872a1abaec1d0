/** An instant: milliseconds since the Unix epoch. */
export type EpochMs = number;

/** A length of time, the sum of its fields. Public options take durations, never a bare number. */
export interface Duration {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

/** Source of the time; injected, so that a simulator can drive it. */
export interface Clock {
  nowMs(): EpochMs;
}

/** 10 years of 365 days: a longer duration is a mistake, or means "no limit". */
export const durationMaxMs = 3_650 * 86_400_000;

const unitsMs = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, milliseconds: 1 } as const;
type Unit = keyof typeof unitsMs;

/**
 * Returns `duration` in whole milliseconds, rounded up.
 * @throws TypeError that names `what` if it is no object, if a field is unknown, negative or not a finite number, if no
 * field has a value, or if the sum is more than 10 years
 */
export function durationToMs(duration: Duration, what: string): number {
  // Plain JavaScript may pass anything.
  const given: unknown = duration;
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`${what} must be a duration such as { minutes: 5 }, got ${JSON.stringify(given)}`);
  // An undefined field counts as missing.
  const fields = Object.entries(given as Record<string, unknown>).filter(([, value]) => value !== undefined);
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
