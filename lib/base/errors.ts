import { defined } from './defined.js';
import type { JsonObject } from './json.js';
import { cutUtf8, toJsonAsFarAsItGoes, utf8Bytes } from './json.js';
import { failureTextBytes } from './limits.js';

/** Details of an error of a run; of larger ones only the size is kept, since a commit also holds what led to it. */
export const errorDetailsMaxBytes = 3 * 1024 * 1024;

/**
 * Every code an error of outwait can carry. A closed union: tables keyed by it do not compile until a new code is
 * placed. docs/errors.md has a heading for each. Codes are stored, so they are never renamed.
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
  'SCHEDULE_NOT_FOUND',
  'RUN_ENDED',
  'RUN_EXISTS',
  'TOKEN_INVALID',
  'KEY_REUSED',
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
  // How a run or a wait of it can fail
  'WORKFLOW_FAILED',
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

/** How an error crosses storage. Stacks stay in logs. */
export interface StoredError {
  readonly code: EngineErrorCode;
  readonly message: string;
  /** Class name of the author's error, for display. */
  readonly name?: string;
  readonly details?: JsonObject;
}

/** Marks our errors. Registered, so that two copies of the package have the same one. */
const brand = Symbol.for('outwait.EngineError');

/** Base of every error of outwait. Compare `code`: two copies of the package must agree, so `instanceof` is not enough. */
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

/** Thrown by a step, or wrapped around an error, to say that another attempt is of no use. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError';
  readonly nonRetryable = true;
}

/** A step ended without a result: its attempts are used up or its error is not retryable. */
export class StepFailed extends EngineError {}
/** The holder of a token settled it as failed. */
export class ExternalWaitFailed extends EngineError {}
/** A child run ended without a result; `details.error` is its error, `details.status` how it ended. */
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
/** The run was asked to cancel; thrown at every open wait. */
export class RunCancelled extends EngineError {}

/**
 * A remote task ended without an outcome. `details` holds the server and, where they are known, the state in its words,
 * artifacts, and `phase`: `start` for what the reply to the start said, `run` for what a read of the task found.
 */
export class RemoteTaskError extends EngineError {}
/** MCP `failed`, A2A `TASK_STATE_FAILED`. */
export class RemoteTaskFailed extends RemoteTaskError {}
/** A2A `TASK_STATE_REJECTED`. */
export class RemoteTaskRejected extends RemoteTaskError {}
/** The remote task was cancelled by its server or by somebody else. */
export class RemoteTaskCancelled extends RemoteTaskError {}
/** The deadline of the call passed first. */
export class RemoteTaskTimedOut extends RemoteTaskError {}
/** The server no longer has the task, and the time for which it promised to keep it has passed. */
export class RemoteTaskExpired extends RemoteTaskError {}
/** The server says again and again that it knows no such task. */
export class RemoteTaskLost extends RemoteTaskError {}
/** The result does not fit the schema of the call; `details.result` is the raw one. */
export class RemoteResultInvalid extends RemoteTaskError {}
/** The server answered that it will not start the task. */
export class RemoteStartRefused extends RemoteTaskError {}
/** The start was sent, no answer came, and a repeat might start a second task. A task may or may not be running. */
export class RemoteStartAmbiguous extends RemoteTaskError {}
/** Every attempt to start the task was turned away or never reached the server. */
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

/** The error a workflow sees for a stored one: the same class and code on every replay. */
export function fromStoredError(stored: StoredError): EngineError {
  const Class = classes[stored.code] ?? EngineError;
  return new Class(stored.code, stored.message, stored.details === undefined ? {} : { details: stored.details });
}

export function storedError(code: EngineErrorCode, message: string, details?: JsonObject): StoredError {
  return { code, message: cutUtf8(message, failureTextBytes), ...defined({ details }) };
}

/**
 * The stored form of whatever was thrown; a foreign error gets `fallback` as its code and keeps its class name. Never
 * throws: what an author throws may be a Proxy, or an error whose fields are no strings and no JSON.
 */
export function toStoredError(thrown: unknown, fallback: EngineErrorCode): StoredError {
  try {
    if (isEngineError(thrown)) return storedError(thrown.code, textOf(thrown.message), storableDetails(thrown.details));
    if (thrown instanceof Error)
      return { ...storedError(fallback, textOf(thrown.message)), name: cutUtf8(textOf(thrown.name), 128) };
    return storedError(fallback, typeof thrown === 'string' ? thrown : `a ${typeof thrown} was thrown`);
  } catch {
    return storedError(fallback, 'what was thrown cannot be read');
  }
}

/** What was thrown, or an error in its place if it throws when it is looked at: an author may throw a Proxy. */
export function readable(thrown: unknown): unknown {
  try {
    if (thrown instanceof Error) readAll(thrown);
    return thrown;
  } catch {
    return new Error('what was thrown cannot be read');
  }
}

/** A property of what was thrown; undefined if there is none, or if it throws when it is looked at. */
export function propertyOf(thrown: unknown, name: string): unknown {
  try {
    return (thrown as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** Whatever is ever read of an error. */
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

/** True for an error of outwait, whichever copy of the package threw it; false for another library's with such a code. */
export function isEngineError(value: unknown): value is EngineError {
  return (
    value instanceof Error &&
    brand in value &&
    engineErrorCodes.includes((value as { code?: unknown }).code as EngineErrorCode)
  );
}

/** True for an error of that code, whichever copy of the package threw it. */
export function hasCode<Code extends EngineErrorCode>(
  value: unknown,
  code: Code,
): value is EngineError & { readonly code: Code } {
  return isEngineError(value) && value.code === code;
}

/** True for an error of what is stored: it cannot be opened, or not understood, by this deployment. */
export function isUnreadable(
  value: unknown,
): value is EngineError & { readonly code: 'PAYLOAD_UNREADABLE' | 'HISTORY_FORMAT_UNKNOWN' } {
  return hasCode(value, 'PAYLOAD_UNREADABLE') || hasCode(value, 'HISTORY_FORMAT_UNKNOWN');
}
