// Checks of arguments that an author passes to the context. Each throws INPUT_INVALID.

import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { toJson, type JsonValue } from '../../base/json.js';
import { durationToMs, type Duration } from '../../base/time.js';

/** Returns a duration in milliseconds. */
export function toMs(duration: Duration, what: string): number {
  try {
    return durationToMs(duration, what);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : `${what} is not a duration`);
  }
}

export function json(value: unknown, what: string): JsonValue {
  try {
    return toJson(value) ?? null;
  } catch (error) {
    throw invalid(`${what} must be JSON${error instanceof TypeError ? `: ${error.message}` : ''}`);
  }
}

/** Returns the timeout of a wait, if the author gave one. */
export function timeoutOf(timeout: Duration | undefined, what: string): { readonly timeoutMs?: number } {
  return defined({ timeoutMs: timeout === undefined ? undefined : toMs(timeout, what) });
}

/** Checks a text that is sent to a remote server. */
export function text(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= 256 && value.isWellFormed()) return value;
  throw invalid(`${what} must be a string of 1 to 256 characters`);
}

export function invalid(message: string): EngineError {
  return new EngineError('INPUT_INVALID', message);
}

export function checkName(name: unknown, what: string): void {
  const fits = typeof name === 'string' && name !== '' && name.length <= 128 && name.isWellFormed();
  if (!fits) throw invalid(`${what} must be 1 to 128 characters`);
}
