import type { EpochMs } from '../base/time.js';
import type { Screen } from './screen.js';

// Times for a person: relative to now on a terminal, ISO elsewhere.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
/** From here on a date says more than a number of days. */
const relativeMaxMs = 60 * day;

const units = [
  ['d', day],
  ['h', hour],
  ['m', minute],
  ['s', second],
] as const;

/** Returns an ISO time, or `unknown` for an invalid one: a remote engine may send anything. */
export function isoTime(atMs: EpochMs): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString();
}

/** Returns a length of time in its `parts` largest units, such as `2h 5m`. */
export function lengthOf(ms: number, parts = 2): string {
  const whole = Math.max(0, Math.floor(ms / second)) * second;
  const first = units.findIndex(([, unitMs]) => whole >= unitMs);
  if (first === -1) return '0s';
  let rest = whole;
  const texts: string[] = [];
  for (const [name, unitMs] of units.slice(first, first + parts)) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) texts.push(`${count}${name}`);
  }
  return texts.join(' ');
}

/** Returns an instant: `3m ago`, `in 2h 5m`, or the ISO time. */
export function time(atMs: EpochMs, screen: Screen, parts = 2): string {
  const distanceMs = distance(atMs, screen);
  if (distanceMs === undefined) return isoTime(atMs);
  if (Math.abs(distanceMs) < second) return 'now';
  return distanceMs < 0 ? `${lengthOf(-distanceMs, parts)} ago` : `in ${lengthOf(distanceMs, parts)}`;
}

/** Returns an instant in a narrow column. */
export function shortTime(atMs: EpochMs, screen: Screen): string {
  return distance(atMs, screen) === undefined && screen.width !== undefined
    ? isoTime(atMs).slice(0, 10)
    : time(atMs, screen, 1);
}

/** Returns an instant in a sentence: `in 2h 5m`, or `at` and the ISO time. */
export function at(atMs: EpochMs, screen: Screen): string {
  return distance(atMs, screen) === undefined ? `at ${isoTime(atMs)}` : time(atMs, screen);
}

/** Returns since when: `for 3m`, or `since` and the ISO time. */
export function since(atMs: EpochMs, screen: Screen): string {
  const distanceMs = distance(atMs, screen);
  return distanceMs === undefined ? `since ${isoTime(atMs)}` : `for ${lengthOf(-distanceMs)}`;
}

/** Returns when something began: `begun 3m ago`, or `since` and the ISO time. */
export function begun(atMs: EpochMs, screen: Screen): string {
  return distance(atMs, screen) === undefined ? `since ${isoTime(atMs)}` : `begun ${time(atMs, screen)}`;
}

/** Returns until when: `for another 5m`, or `until` and the ISO time. */
export function until(atMs: EpochMs, screen: Screen): string {
  const distanceMs = distance(atMs, screen);
  return distanceMs === undefined ? `until ${isoTime(atMs)}` : `for another ${lengthOf(distanceMs)}`;
}

function distance(atMs: EpochMs, { width, nowMs }: Screen): number | undefined {
  if (width === undefined || !Number.isFinite(new Date(atMs).getTime())) return undefined;
  return Math.abs(atMs - nowMs) > relativeMaxMs ? undefined : atMs - nowMs;
}
