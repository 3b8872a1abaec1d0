import { stepTimeoutMaxMs } from '../base/limits.js';
import type { RetryPolicy, StepOptions } from '../workflow/context.js';
import { invalid, toMs } from './arguments.js';
import type { StepPolicy } from './command.js';

const defaults = { maxAttempts: 5, initialIntervalMs: 1_000, maxIntervalMs: 300_000 };

/** The options of a step with their defaults. @throws EngineError `INPUT_INVALID` */
export function stepPolicy(name: string, options: StepOptions): StepPolicy {
  const retry: RetryPolicy = options.retry ?? {};
  const what = (option: string): string => `step "${name}": ${option}`;
  const maxAttempts = options.atMostOnce === true ? 1 : (retry.maxAttempts ?? defaults.maxAttempts);
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw invalid(`${what('retry.maxAttempts')} must be a whole number of at least 1, got ${maxAttempts}`);
  const jitter = retry.jitter ?? 0;
  if (!(jitter >= 0 && jitter <= 1)) throw invalid(`${what('retry.jitter')} must be from 0 to 1, got ${jitter}`);
  const timeoutMs = options.timeout === undefined ? stepTimeoutMaxMs : toMs(options.timeout, what('timeout'));
  if (timeoutMs < 1 || timeoutMs > stepTimeoutMaxMs)
    throw invalid(`${what('timeout')} must be from 1 ms to ${stepTimeoutMaxMs / 1000} s`);
  const { initialInterval, maxInterval } = retry;
  return {
    maxAttempts,
    initialIntervalMs:
      initialInterval === undefined ? defaults.initialIntervalMs : toMs(initialInterval, what('retry.initialInterval')),
    maxIntervalMs: maxInterval === undefined ? defaults.maxIntervalMs : toMs(maxInterval, what('retry.maxInterval')),
    jitter,
    timeoutMs,
    ...(options.deadline === undefined ? {} : { deadlineMs: toMs(options.deadline, what('deadline')) }),
    atMostOnce: options.atMostOnce === true,
    isRetryable: (error) => !isNonRetryable(error) && !matches(retry.nonRetryable, error),
  };
}

/** By a property, not a class: two copies of the package must agree. */
function isNonRetryable(error: unknown): boolean {
  return (error as { nonRetryable?: unknown } | undefined)?.nonRetryable === true;
}

function matches(nonRetryable: RetryPolicy['nonRetryable'], error: unknown): boolean {
  if (nonRetryable === undefined) return false;
  if (typeof nonRetryable === 'function') {
    try {
      return nonRetryable(error);
    } catch {
      // It says nothing about the error then.
      return false;
    }
  }
  return error instanceof Error && nonRetryable.includes(error.name);
}
