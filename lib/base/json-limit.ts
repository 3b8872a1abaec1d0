import { fromStoredError, storedError, type StoredError } from './errors.js';
import { utf8Bytes, type JsonValue } from './json.js';
import { payloadMaxBytes } from './limits.js';

/** Returns the length of the JSON text of `value` in UTF-8 bytes; 0 for undefined. */
export function jsonBytes(value: JsonValue | undefined): number {
  return value === undefined ? 0 : utf8Bytes(JSON.stringify(value));
}

/**
 * Returns the error `PAYLOAD_TOO_LARGE` for JSON over its limit, with `sizeBytes` and `limitBytes` in its details;
 * undefined if it fits. `subject` begins the message and includes the verb: `the input is`.
 */
export function jsonOverLimit(
  subject: string,
  sizeBytes: number,
  limitBytes: number = payloadMaxBytes,
): StoredError | undefined {
  if (sizeBytes <= limitBytes) return undefined;
  const message = `${subject} ${sizeBytes} bytes of JSON, the limit is ${limitBytes}`;
  return storedError('PAYLOAD_TOO_LARGE', message, { sizeBytes, limitBytes });
}

/** Throws the error of `jsonOverLimit`, if any. @throws EngineError `PAYLOAD_TOO_LARGE` */
export function checkJsonBytes(subject: string, sizeBytes: number, limitBytes?: number): void {
  const error = jsonOverLimit(subject, sizeBytes, limitBytes);
  if (error !== undefined) throw fromStoredError(error);
}
