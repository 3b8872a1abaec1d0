import { EngineError } from '../base/errors.js';
import { durationToMs, type Duration } from '../base/time.js';

// How the starts of a workflow are limited: its options, and their checks.

/** What happens to a start if a run with the same concurrency key is under way, or waits. */
export type WhenBusy = 'queue' | 'replace' | 'refuse';
/** What happens to a start beyond the limit of a throttle. */
export type WhenExceeded = 'delay' | 'refuse';

/**
 * Returns a key of a start, 1 to 255 bytes, or undefined if the start is not limited. Called with the input as the
 * workflow sees it; must depend on nothing else.
 */
export type KeyOf<Input> = (input: Input) => string | undefined;

/** Which runs of a workflow must not be under way at the same time. */
export interface Concurrency<Input = unknown> {
  /** At most one run of the workflow with the same key is under way at a time. */
  readonly key: KeyOf<Input>;
  /**
   * Default `queue`: the run waits until all runs with its key that were accepted before have ended, and then begins.
   * `replace`: the same, and they are cancelled: the newest run wins. `refuse`: the start is refused with
   * `CONCURRENCY_KEY_BUSY`.
   */
  readonly whenBusy?: WhenBusy;
}

/** How many runs of a workflow begin in a period, for each tenant. */
export interface Throttle<Input = unknown> {
  /** Starts with the same key share the limit. Default: all starts of the workflow share it. */
  readonly key?: KeyOf<Input>;
  /** Runs that begin in any period of that length, 1 to 100. */
  readonly limit: number;
  /** 1 second to 31 days. */
  readonly period: Duration;
  /**
   * Default `delay`: the run exists at once and begins when the limit allows it, in the order of the starts. `refuse`:
   * the start is refused with `START_THROTTLED`.
   */
  readonly whenExceeded?: WhenExceeded;
}

/** Which starts of a workflow become one run: those that follow one another quickly. */
export interface Debounce<Input = unknown> {
  /** Starts with the same key become one run. Default: all starts of the workflow do. */
  readonly key?: KeyOf<Input>;
  /** The run begins when no start has come for that long, with the input of the last one. 1 second to 31 days. */
  readonly period: Duration;
  /** Longest time from the first start until the run begins. Default: ten periods. */
  readonly maxWait?: Duration;
}

/** Options of a workflow that limit its starts. */
export interface FlowControl<Input = unknown> {
  /** Which runs must not be under way at the same time. Default: all may. */
  readonly concurrency?: Concurrency<Input>;
  /** How many runs begin in a period. Default: no limit. Excludes `debounce`. */
  readonly throttle?: Throttle<Input>;
  /** Which starts become one run. Default: none. */
  readonly debounce?: Debounce<Input>;
}

const throttleLimitMax = 100;
const periodMinMs = 1_000;
const periodMaxMs = 31 * 86_400_000;

/** Checks the options. @throws EngineError `CONFIG_INVALID` */
export function checkFlowControl<Input>(
  workflow: string,
  { concurrency, throttle, debounce }: FlowControl<Input>,
): void {
  const check = (isValid: boolean, what: string): void => {
    if (!isValid) throw new EngineError('CONFIG_INVALID', `workflow "${workflow}": ${what}`);
  };
  const isKey = (key: unknown): boolean => key === undefined || typeof key === 'function';
  const isPeriod = (period: Duration): boolean => {
    const ms = periodMs(period);
    return ms >= periodMinMs && ms <= periodMaxMs;
  };
  if (concurrency !== undefined) {
    check(typeof concurrency.key === 'function', 'concurrency.key must be a function of the input');
    const { whenBusy = 'queue' } = concurrency;
    check(/^(queue|replace|refuse)$/.test(whenBusy), 'concurrency.whenBusy must be queue, replace or refuse');
  }
  if (throttle !== undefined) {
    const { key, limit, period, whenExceeded = 'delay' } = throttle;
    check(isKey(key), 'throttle.key must be a function of the input');
    check(
      Number.isInteger(limit) && limit >= 1 && limit <= throttleLimitMax,
      `throttle.limit must be a whole number from 1 to ${throttleLimitMax}`,
    );
    check(isPeriod(period), 'throttle.period must be from 1 second to 31 days');
    check(/^(delay|refuse)$/.test(whenExceeded), 'throttle.whenExceeded must be delay or refuse');
  }
  if (debounce === undefined) return;
  check(throttle === undefined, 'debounce and throttle exclude one another');
  const { key, period, maxWait = period } = debounce;
  check(isKey(key), 'debounce.key must be a function of the input');
  check(isPeriod(period), 'debounce.period must be from 1 second to 31 days');
  check(periodMs(maxWait) >= periodMs(period), 'debounce.maxWait must be at least the period');
}

/** Returns a checked period in milliseconds; NaN if it is not a duration. */
export function periodMs(period: Duration): number {
  try {
    return durationToMs(period, 'period');
  } catch {
    return Number.NaN;
  }
}
