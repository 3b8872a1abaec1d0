import { defined } from './defined.js';
import type { JsonObject } from './json.js';
import { cutUtf8, toJsonAsFarAsItGoes, utf8Bytes } from './json.js';
import { failureTextBytes } from './limits.js';

/**
 * Longest details of a run's error. If they are longer, only their size is kept: the commit needs room for other
 * events.
 */
export const errorDetailsMaxBytes = 3 * 1024 * 1024;

/**
 * Every code that an error of outwait can carry. A closed union: tables keyed by it do not compile until a new code is
 * added to them. docs/errors.md has a heading for each. Codes are stored, so they are never renamed.
 */
export const engineErrorCodes = [
  // Requests
  'INPUT_INVALID',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'WORKFLOW_NOT_FOUND',
  'RUN_NOT_FOUND',
  'REMOTE_TASK_NOT_FOUND',
  'INPUT_NOT_FOUND',
  'TASK_NOT_FOUND',
  'SKILL_NOT_FOUND',
  'SCHEDULE_NOT_FOUND',
  'NAMED_KEY_NOT_FOUND',
  'NAMED_KEY_EXISTS',
  'TENANT_LIMIT_REACHED',
  'RUN_ENDED',
  'TASK_ENDED',
  'QUESTION_CLOSED',
  'RUN_EXISTS',
  'CONCURRENCY_KEY_BUSY',
  'START_THROTTLED',
  'TOKEN_INVALID',
  'KEY_REUSED',
  'TOO_MANY_REQUESTS',
  // Configuration
  'CONFIG_INVALID',
  'SERVER_NOT_FOUND',
  // Engine
  'NONDETERMINISM',
  'WORKFLOW_STUCK',
  'HISTORY_FORMAT_UNKNOWN',
  'PAYLOAD_UNREADABLE',
  'STORE_UNAVAILABLE',
  'STORE_RESULT_UNKNOWN',
  'INTERNAL',
  // Failures of a run or of one of its waits
  'WORKFLOW_FAILED',
  'TASK_REJECTED',
  'STEP_FAILED',
  'STEP_TIMED_OUT',
  'STEP_HEARTBEAT_MISSED',
  'STEP_INTERRUPTED',
  'STEP_POISONED',
  'SIGNAL_TIMED_OUT',
  'EXTERNAL_FAILED',
  'EXTERNAL_TIMED_OUT',
  'INPUT_TIMED_OUT',
  'CHILD_FAILED',
  'CHILD_TIMED_OUT',
  'COMPENSATION_FAILED',
  'TOO_FEW_SUCCEEDED',
  'QUERY_NOT_FOUND',
  'QUERY_FAILED',
  'QUERY_TIMED_OUT',
  'RUN_TIMED_OUT',
  'RUN_CANCELLED',
  'RUN_TERMINATED',
  'REMOTE_TASK_FAILED',
  'REMOTE_TASK_REJECTED',
  'REMOTE_TASK_CANCELLED',
  'REMOTE_TASK_TIMED_OUT',
  'REMOTE_TASK_EXPIRED',
  'REMOTE_TASK_LOST',
  'REMOTE_RESULT_INVALID',
  'REMOTE_ANSWER_REFUSED',
  'REMOTE_START_REFUSED',
  'REMOTE_START_AMBIGUOUS',
  'REMOTE_START_FAILED',
  // Outbound calls
  'REMOTE_PROTOCOL_VIOLATION',
  'REMOTE_UNREACHABLE',
] as const;
export type EngineErrorCode = (typeof engineErrorCodes)[number];

/** The stored form of an error. Stacks are only logged. */
export interface StoredError {
  readonly code: EngineErrorCode;
  readonly message: string;
  /** Class name of the author's error, for display. */
  readonly name?: string;
  readonly details?: JsonObject;
}

/** Marks our errors. A registered symbol, so that two copies of the package share it. */
const brand = Symbol.for('outwait.EngineError');

/**
 * Base of every error of outwait. Compare `code`, not the class: `instanceof` fails between two copies of the package.
 */
export class EngineError extends Error {
  readonly code: EngineErrorCode;
  readonly details: JsonObject | undefined;

  constructor(code: EngineErrorCode, message: string, options: { details?: JsonObject; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Thrown by a step, or wrapped around an error, to prevent further attempts. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError';
  readonly nonRetryable = true;
}

/** A step failed: its attempts are used up, or its error is not retryable. */
export class StepFailed extends EngineError {}
/** The holder of a token settled it as failed. */
export class ExternalWaitFailed extends EngineError {}
/** A child run ended without a result; `details.status` is its status, `details.error` its error. */
export class ChildFailed extends EngineError {}
/** So many branches of `ctx.some` failed that the others are too few. `details.failures` has the index and message of each. */
export class TooFewSucceeded extends EngineError {
  /** What was thrown, in the order of the branches. Empty if it comes from storage. */
  readonly errors: readonly unknown[];

  constructor(
    code: EngineErrorCode,
    message: string,
    { errors = [], ...options }: { details?: JsonObject; errors?: readonly unknown[] } = {},
  ) {
    super(code, message, options);
    this.errors = errors;
  }
}
/** Cancellation of the run was requested; thrown at every open wait. */
export class RunCancelled extends EngineError {}

/**
 * A remote task ended without a result. `details` holds the server and, where known, the task's state in the server's
 * words, artifacts, and `phase`: `start` if the reply to the start said so, `run` if a later read of the task did.
 */
export class RemoteTaskError extends EngineError {}
/** MCP `failed`, A2A `TASK_STATE_FAILED`. */
export class RemoteTaskFailed extends RemoteTaskError {}
/** A2A `TASK_STATE_REJECTED`. */
export class RemoteTaskRejected extends RemoteTaskError {}
/** The remote task was cancelled, by its server or by another client. */
export class RemoteTaskCancelled extends RemoteTaskError {}
/** The deadline of the call passed before the task ended. */
export class RemoteTaskTimedOut extends RemoteTaskError {}
/** The server no longer has the task, and the time for which it promised to keep the task has passed. */
export class RemoteTaskExpired extends RemoteTaskError {}
/** The server repeatedly says that the task does not exist. */
export class RemoteTaskLost extends RemoteTaskError {}
/** The result does not match the schema of the call; `details.result` is the raw result. */
export class RemoteResultInvalid extends RemoteTaskError {}
/** The server refused to start the task. */
export class RemoteStartRefused extends RemoteTaskError {}
/** The start was sent without an answer, and a retry might start a second task. A task may be running. */
export class RemoteStartAmbiguous extends RemoteTaskError {}
/** Every attempt to start the task was rejected or never reached the server. */
export class RemoteStartFailed extends RemoteTaskError {}

const classes: Partial<Record<EngineErrorCode, typeof EngineError>> = {
  STEP_FAILED: StepFailed,
  STEP_TIMED_OUT: StepFailed,
  STEP_HEARTBEAT_MISSED: StepFailed,
  STEP_INTERRUPTED: StepFailed,
  STEP_POISONED: StepFailed,
  EXTERNAL_FAILED: ExternalWaitFailed,
  CHILD_FAILED: ChildFailed,
  RUN_CANCELLED: RunCancelled,
  REMOTE_TASK_FAILED: RemoteTaskFailed,
  REMOTE_TASK_REJECTED: RemoteTaskRejected,
  REMOTE_TASK_CANCELLED: RemoteTaskCancelled,
  REMOTE_TASK_TIMED_OUT: RemoteTaskTimedOut,
  REMOTE_TASK_EXPIRED: RemoteTaskExpired,
  REMOTE_TASK_LOST: RemoteTaskLost,
  REMOTE_RESULT_INVALID: RemoteResultInvalid,
  REMOTE_START_REFUSED: RemoteStartRefused,
  REMOTE_START_AMBIGUOUS: RemoteStartAmbiguous,
  REMOTE_START_FAILED: RemoteStartFailed,
};

/** Returns the error that a workflow sees for a stored one: the same class and code on every replay. */
export function fromStoredError(stored: StoredError): EngineError {
  const Class = classes[stored.code] ?? EngineError;
  return new Class(stored.code, stored.message, stored.details === undefined ? {} : { details: stored.details });
}

export function storedError(code: EngineErrorCode, message: string, details?: JsonObject): StoredError {
  return { code, message: cutUtf8(message, failureTextBytes), ...defined({ details }) };
}

/**
 * Returns the stored form of any thrown value. A foreign error gets the code `fallback` and keeps its class name. Never
 * throws: an author may throw a Proxy, or an error whose fields are not strings or not JSON.
 */
export function toStoredError(thrown: unknown, fallback: EngineErrorCode): StoredError {
  try {
    if (isEngineError(thrown)) return storedError(thrown.code, textOf(thrown.message), storableDetails(thrown.details));
    if (thrown instanceof Error)
      return { ...storedError(fallback, textOf(thrown.message)), name: cutUtf8(textOf(thrown.name), 128) };
    return storedError(fallback, typeof thrown === 'string' ? thrown : `a ${typeof thrown} was thrown`);
  } catch {
    return storedError(fallback, 'the thrown value cannot be read');
  }
}

/** Returns the thrown value, or another error if reading it throws: an author may throw a Proxy. */
export function readable(thrown: unknown): unknown {
  try {
    if (thrown instanceof Error) readAll(thrown);
    return thrown;
  } catch {
    return new Error('the thrown value cannot be read');
  }
}

/** Returns a property of a thrown value; undefined if it is missing, or if reading it throws. */
export function propertyOf(thrown: unknown, name: string): unknown {
  try {
    return (thrown as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** Reads every property that is ever read of an error. */
function readAll(error: Error): readonly unknown[] {
  return [error.name, error.message, error.cause, brand in error];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : `a ${typeof value}`;
}

function storableDetails(details: JsonObject | undefined): JsonObject | undefined {
  try {
    const json = toJsonAsFarAsItGoes(details) as JsonObject | undefined;
    const detailsBytes = json === undefined ? 0 : utf8Bytes(JSON.stringify(json));
    return detailsBytes <= errorDetailsMaxBytes ? json : { detailsBytes };
  } catch {
    return undefined;
  }
}

/** Returns true for an error of outwait, from any copy of the package; false for a foreign error with the same code. */
export function isEngineError(value: unknown): value is EngineError {
  return (
    value instanceof Error &&
    brand in value &&
    engineErrorCodes.includes((value as { code?: unknown }).code as EngineErrorCode)
  );
}

/** Returns true for an error of outwait with that code, from any copy of the package. */
export function hasCode<Code extends EngineErrorCode>(
  value: unknown,
  code: Code,
): value is EngineError & { readonly code: Code } {
  return isEngineError(value) && value.code === code;
}

/** Returns true if stored data cannot be decrypted or understood by this deployment. */
export function isUnreadable(
  value: unknown,
): value is EngineError & { readonly code: 'PAYLOAD_UNREADABLE' | 'HISTORY_FORMAT_UNKNOWN' } {
  return hasCode(value, 'PAYLOAD_UNREADABLE') || hasCode(value, 'HISTORY_FORMAT_UNKNOWN');
}
