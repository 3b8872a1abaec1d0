import type { EpochMs } from '../../base/time.js';
import type { RequestKind, ServerRate } from '../../history/server-rate.js';

const minuteMs = 60_000;

/** Request of one kind to a server that allows `perMinute`. */
interface Asked {
  readonly kind: RequestKind;
  readonly perMinute: number;
  readonly nowMs: EpochMs;
}

/**
 * Returns the minute whose permits a worker may lease: that of its own clock, or that of a clock which is ahead and has
 * begun a later one.
 */
export function minuteOf({ minute }: ServerRate, nowMs: EpochMs): number {
  return Math.max(minute, Math.floor(nowMs / minuteMs));
}

export function minuteEndMs(nowMs: EpochMs): EpochMs {
  return (Math.floor(nowMs / minuteMs) + 1) * minuteMs;
}

/** Returns the share of a kind: reads a third or more, starts the rest. Fewer than three permits have no shares. */
export function shareOf(kind: RequestKind, perMinute: number): number {
  if (perMinute < 3) return perMinute;
  const reads = Math.ceil(perMinute / 3);
  return kind === 'reads' ? reads : perMinute - reads;
}

/**
 * Returns the most permits that a kind may have leased by now in the current minute. What the other kind leaves unused
 * is lent, unless calls of it wait: to reads at once, to starts bit by bit over the minute, since their tasks are read.
 */
export function allowance(rate: ServerRate, { kind, perMinute, nowMs }: Asked): number {
  const minute = minuteOf(rate, nowMs);
  const own = shareOf(kind, perMinute);
  const { isWaiting, used } = other(rate, kind, nowMs);
  if (isWaiting) return own;
  const passed = kind === 'reads' ? 1 : (nowMs % minuteMs) / minuteMs;
  return own + Math.max(0, Math.round((perMinute - own) * passed) - (rate.minute === minute ? used : 0));
}

/** Returns how many permits are left for a kind. */
export function permitsLeft(rate: ServerRate, asked: Asked): number {
  const isCurrent = rate.minute === minuteOf(rate, asked.nowMs);
  const left = allowance(rate, asked) - (isCurrent ? rate[asked.kind] : 0);
  return Math.max(0, Math.min(left, asked.perMinute - (isCurrent ? rate.requests : 0)));
}

/**
 * Returns the time between two places in a line at `afterMs`: as many places as the kind has permits, so that each call
 * comes about when it is admitted. While the other kind waits, or may soon, its share is not counted on.
 */
export function placeSpaceMs(rate: ServerRate, { kind, perMinute, nowMs }: Asked, afterMs: EpochMs): number {
  const { isWaiting, used, untilMs } = other(rate, kind, nowMs);
  const theirs = perMinute >= 3 ? shareOf(kind === 'reads' ? 'starts' : 'reads', perMinute) : perMinute / 2;
  // Counts on reads after starts until a minute has shown otherwise.
  const expected = kind === 'reads' ? used : Math.max(used, rate.readsBefore ?? Infinity);
  const contended = isWaiting && afterMs < untilMs ? theirs : Math.min(theirs, isWaiting ? 0 : expected);
  // Tries a few reads more than fit, so that their third is used though some do not come: tasks end, processes die.
  const tries = kind === 'reads' && contended > 0 ? 1.15 : 1;
  return Math.ceil(minuteMs / (perMinute - contended) / tries);
}

function other(rate: ServerRate, kind: RequestKind, nowMs: EpochMs) {
  const isRead = kind === 'reads';
  const untilMs = isRead ? rate.startsUntilMs : rate.readsUntilMs;
  return { isWaiting: untilMs > nowMs, untilMs, used: isRead ? rate.starts : rate.reads };
}
