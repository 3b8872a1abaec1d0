import { EngineError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { checkName } from '../../base/name.js';

/**
 * Returns the key that a limit of a workflow computes from an input; undefined if the input has none. An input without a
 * schema may be anything, so a function that fails on it, or returns no text, is the mistake of who sent it.
 * @throws EngineError `INPUT_INVALID`
 */
export function limitKeyOf(
  keyOf: (input: JsonValue | undefined) => unknown,
  input: JsonValue | undefined,
  what: string,
): string | undefined {
  let key: unknown;
  try {
    key = keyOf(input);
  } catch (error) {
    throw new EngineError('INPUT_INVALID', `${what} cannot be computed from this input`, { cause: error });
  }
  if (key === undefined) return undefined;
  if (typeof key !== 'string') throw new EngineError('INPUT_INVALID', `${what} must be text`);
  checkName(key, what, { maxBytes: idempotencyKeyMaxBytes });
  return key;
}
