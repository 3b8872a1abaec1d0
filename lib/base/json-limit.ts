import { fromStoredError, storedError, type StoredError } from './errors.js';
import { utf8Bytes, type JsonValue } from './json.js';
import { payloadMaxBytes } from './limits.js';

/** Length of the JSON text of `value` in UTF-8 bytes; 0 for nothing. */
export function jsonBytes(value: JsonValue | undefined): number {
  return value === undefined ? 0 : utf8Bytes(JSON.stringify(value));
}

/**
 * The `PAYLOAD_TOO_LARGE` of JSON over its limit, with `sizeBytes` and `limitBytes` in its details; undefined for JSON
 * that fits. `subject` begins the message and comes with its verb: `the input is`.
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

/** @throws EngineError `PAYLOAD_TOO_LARGE`, see jsonOverLimit */
export function checkJsonBytes(subject: string, sizeBytes: number, limitBytes?: number): void {
  const error = jsonOverLimit(subject, sizeBytes, limitBytes);
  if (error !== undefined) throw fromStoredError(error);
}
