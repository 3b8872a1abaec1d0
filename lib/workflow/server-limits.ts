import { breakerOpenMaxMs } from '../base/limits.js';
import { durationToMs, type Duration } from '../base/time.js';

const breakerFailuresDefault = 10;
const breakerOpenDefaultMs = 30_000;
const serverConcurrencyMax = 256;

/** Limits on the requests to a remote server, across all workers and runs. */
export interface ServerLimits {
  /**
   * Concurrent starts and reads, at most 256. Default: no limit across workers; each worker makes at most 8 starts and
   * 8 reads.
   */
  readonly concurrency?: number;
  /** Starts and reads per minute of the clock. Default: no limit. */
  readonly perMinute?: number;
  /**
   * Circuit breaker: after `failures` consecutive requests without a usable answer (default 10) nothing is sent to the
   * server for `openFor` (default `{ seconds: 30 }`); then one request probes it. Each failed probe doubles the pause,
   * up to 5 minutes. `false` turns the breaker off.
   */
  readonly breaker?: { readonly failures?: number; readonly openFor?: Duration } | false;
}

/** Limits with their defaults. `breaker` is undefined if it is turned off. */
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

/** Returns what is wrong with the limits, if anything: the field, what was expected and what was given. */
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
