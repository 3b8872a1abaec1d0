import { breakerOpenMaxMs } from '../base/limits.js';
import { durationToMs, type Duration } from '../base/time.js';

const breakerFailuresDefault = 10;
const breakerOpenDefaultMs = 30_000;
const serverConcurrencyMax = 256;

/** How much is asked of a remote server, by all workers and runs together. */
export interface ServerLimits {
  /** Starts and reads at a time, at most 256. Default: no limit across workers; each has at most 8 starts and 8 reads. */
  readonly concurrency?: number;
  /** Starts and reads in each minute of the clock. Default: no limit. */
  readonly perMinute?: number;
  /**
   * After `failures` requests in a row without a usable answer (default 10) the server is left alone for `openFor` (default
   * `{ seconds: 30 }`, doubled after each probe that fails, up to 5 minutes); then one request tries. `false`: never.
   */
  readonly breaker?: { readonly failures?: number; readonly openFor?: Duration } | false;
}

/** The same with defaults. `breaker` undefined: there is none. */
export interface EffectiveLimits {
  readonly concurrency: number | undefined;
  readonly perMinute: number | undefined;
  readonly breaker: { readonly failures: number; readonly openForMs: number } | undefined;
}

export function effectiveLimits({ concurrency, perMinute, breaker = {} }: ServerLimits = {}): EffectiveLimits {
  if (breaker === false) return { concurrency, perMinute, breaker: undefined };
  const { failures = breakerFailuresDefault, openFor } = breaker;
  const openForMs = openFor === undefined ? breakerOpenDefaultMs : durationToMs(openFor, 'limits.breaker.openFor');
  return { concurrency, perMinute, breaker: { failures, openForMs } };
}

/** What is wrong with limits, if anything: the field, what was expected and what came. */
export function problemWithLimits(limits: ServerLimits): string | undefined {
  const { concurrency, perMinute, breaker } = limits;
  if (!isWhole(concurrency, serverConcurrencyMax))
    return `limits.concurrency must be a whole number from 1 to ${serverConcurrencyMax}, got ${String(concurrency)}`;
  if (!isWhole(perMinute, Number.MAX_SAFE_INTEGER))
    return `limits.perMinute must be a whole number from 1, got ${String(perMinute)}`;
  if (breaker === undefined || breaker === false) return undefined;
  if (!isWhole(breaker.failures, 10_000))
    return `limits.breaker.failures must be a whole number from 1 to 10000, got ${String(breaker.failures)}`;
  if (breaker.openFor === undefined) return undefined;
  try {
    const ms = durationToMs(breaker.openFor, 'limits.breaker.openFor');
    if (ms >= 1_000 && ms <= breakerOpenMaxMs) return undefined;
    return `limits.breaker.openFor must be from 1 second to ${breakerOpenMaxMs / 60_000} minutes`;
  } catch (error) {
    return error instanceof Error ? error.message : 'limits.breaker.openFor must be a duration';
  }
}

function isWhole(value: unknown, max: number): boolean {
  return value === undefined || (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max);
}
