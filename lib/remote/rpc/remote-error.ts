import { defined } from '../../base/defined.js';
import type { EngineErrorCode, StoredError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';

/**
 * Returns an error with text from a remote. Not cut yet: a secret cut in two would not be found (`redacted` does both).
 */
export function remoteError(code: EngineErrorCode, message: string, details?: JsonObject): StoredError {
  return { code, message, ...defined({ details }) };
}

/** Returns the error for a reply that breaks the protocol, or is not for this request and this task. */
export function violationError(problem: string): StoredError {
  return remoteError('REMOTE_PROTOCOL_VIOLATION', `the server broke the protocol: ${problem}`);
}

/** Reply to a start that broke the protocol: a task may be running. */
export function unknown(problem: string): { readonly kind: 'unknown'; readonly error: StoredError } {
  return { kind: 'unknown', error: violationError(problem) };
}

/** Reply to a read that broke the protocol: nothing is learned. */
export function unreadable(problem: string): { readonly kind: 'unreadable'; readonly error: StoredError } {
  return { kind: 'unreadable', error: violationError(problem) };
}
