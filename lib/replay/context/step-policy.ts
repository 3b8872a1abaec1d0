import { defined } from '../../base/defined.js';
import { propertyOf } from '../../base/errors.js';
import { stepTimeoutMaxMs } from '../../base/limits.js';
import type { RetryPolicy, StepOptions } from '../../workflow/step-options.js';
import { invalid, toMs } from './arguments.js';
import type { StepPolicy } from '../command.js';

export const longStepTimeoutMaxMs = 840_000;

const defaults = { maxAttempts: 5, initialIntervalMs: 1_000, maxIntervalMs: 300_000 };

/** Checks the options of a step, and adds their defaults. @throws EngineError `INPUT_INVALID` */
export function stepPolicy(name: string, options: StepOptions): StepPolicy {
  const retry: RetryPolicy = options.retry ?? {};
  const what = (option: string): string => `step "${name}": ${option}`;
  const maxAttempts = options.atMostOnce === true ? 1 : (retry.maxAttempts ?? defaults.maxAttempts);
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw invalid(`${what('retry.maxAttempts')} must be a whole number of at least 1, got ${maxAttempts}`);
  const jitter = retry.jitter ?? 0;
  if (!(jitter >= 0 && jitter <= 1)) throw invalid(`${what('retry.jitter')} must be from 0 to 1, got ${jitter}`);
  const long = options.long === true;
  const timeoutMaxMs = long ? longStepTimeoutMaxMs : stepTimeoutMaxMs;
  const timeoutMs = options.timeout === undefined ? timeoutMaxMs : toMs(options.timeout, what('timeout'));
  if (timeoutMs < 1 || timeoutMs > timeoutMaxMs)
    throw invalid(
      `${what('timeout')} must be from 1 ms to ${timeoutMaxMs / 1000} s${long ? '' : ' (840 s with long: true)'}, got ${timeoutMs / 1000} s`,
    );
  const heartbeatTimeoutMs =
    options.heartbeatTimeout === undefined ? undefined : toMs(options.heartbeatTimeout, what('heartbeatTimeout'));
  if (heartbeatTimeoutMs !== undefined && heartbeatTimeoutMs < 1)
    throw invalid(`${what('heartbeatTimeout')} must be at least 1 ms`);
  const { initialInterval, maxInterval } = retry;
  return {
    maxAttempts,
    initialIntervalMs:
      initialInterval === undefined ? defaults.initialIntervalMs : toMs(initialInterval, what('retry.initialInterval')),
    maxIntervalMs: maxInterval === undefined ? defaults.maxIntervalMs : toMs(maxInterval, what('retry.maxInterval')),
    jitter,
    long,
    timeoutMs,
    ...defined({
      heartbeatTimeoutMs,
      deadlineMs: options.deadline === undefined ? undefined : toMs(options.deadline, what('deadline')),
    }),
    atMostOnce: options.atMostOnce === true,
    isRetryable: (error) => !isNonRetryable(error) && !matches(retry.nonRetryable, error),
  };
}

/** Recognizes a NonRetryableError by a property, since its class may come from another copy of the package. */
function isNonRetryable(error: unknown): boolean {
  return propertyOf(error, 'nonRetryable') === true;
}

function matches(nonRetryable: RetryPolicy['nonRetryable'], error: unknown): boolean {
  if (nonRetryable === undefined) return false;
  if (typeof nonRetryable === 'function') {
    try {
      return nonRetryable(error);
    } catch {
      // A predicate that throws says nothing about the error.
      return false;
    }
  }
  const name = error instanceof Error ? propertyOf(error, 'name') : undefined;
  return typeof name === 'string' && nonRetryable.includes(name);
}
