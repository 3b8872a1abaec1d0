import { defined } from '../base/defined.js';
import { type EngineErrorCode, isEngineError } from '../base/errors.js';
import { type JsonObject, toJson } from '../base/json.js';
import type { Log } from '../base/log.js';

/** HTTP status of each code. Codes that only a workflow sees count as our own fault: the outcome of a run is data. */
export const statusOf: Readonly<Record<EngineErrorCode, ProblemStatus>> = {
  INPUT_INVALID: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  // From outside, a forged, a malformed and a forgotten token look the same.
  TOKEN_INVALID: 404,
  RUN_NOT_FOUND: 404,
  REMOTE_TASK_NOT_FOUND: 404,
  INPUT_NOT_FOUND: 404,
  TASK_NOT_FOUND: 404,
  SKILL_NOT_FOUND: 404,
  WORKFLOW_NOT_FOUND: 404,
  SCHEDULE_NOT_FOUND: 404,
  NAMED_KEY_NOT_FOUND: 404,
  NAMED_KEY_EXISTS: 409,
  TENANT_LIMIT_REACHED: 429,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  QUERY_NOT_FOUND: 404,
  KEY_REUSED: 409,
  TASK_ENDED: 409,
  QUESTION_CLOSED: 409,
  TOO_MANY_REQUESTS: 429,
  RUN_ENDED: 409,
  RUN_EXISTS: 409,
  CONCURRENCY_KEY_BUSY: 409,
  START_THROTTLED: 429,
  QUERY_FAILED: 422,
  QUERY_TIMED_OUT: 504,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  STORE_UNAVAILABLE: 503,
  STORE_RESULT_UNKNOWN: 503,
  CONFIG_INVALID: 500,
  SERVER_NOT_FOUND: 500,
  NONDETERMINISM: 500,
  WORKFLOW_STUCK: 500,
  HISTORY_FORMAT_UNKNOWN: 500,
  PAYLOAD_UNREADABLE: 500,
  INTERNAL: 500,
  WORKFLOW_FAILED: 500,
  TASK_REJECTED: 500,
  STEP_FAILED: 500,
  STEP_TIMED_OUT: 500,
  STEP_HEARTBEAT_MISSED: 500,
  STEP_INTERRUPTED: 500,
  STEP_POISONED: 500,
  SIGNAL_TIMED_OUT: 500,
  EXTERNAL_FAILED: 500,
  EXTERNAL_TIMED_OUT: 500,
  INPUT_TIMED_OUT: 500,
  CHILD_FAILED: 500,
  CHILD_TIMED_OUT: 500,
  COMPENSATION_FAILED: 500,
  TOO_FEW_SUCCEEDED: 500,
  RUN_TIMED_OUT: 500,
  REMOTE_RESULT_INVALID: 500,
  REMOTE_ANSWER_REFUSED: 500,
  RUN_CANCELLED: 500,
  RUN_TERMINATED: 500,
  REMOTE_TASK_FAILED: 500,
  REMOTE_TASK_REJECTED: 500,
  REMOTE_TASK_CANCELLED: 500,
  REMOTE_TASK_TIMED_OUT: 500,
  REMOTE_TASK_EXPIRED: 500,
  REMOTE_TASK_LOST: 500,
  REMOTE_START_REFUSED: 500,
  REMOTE_START_AMBIGUOUS: 500,
  REMOTE_START_FAILED: 500,
  REMOTE_PROTOCOL_VIOLATION: 500,
  REMOTE_UNREACHABLE: 500,
};

export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 422 | 429 | 500 | 503 | 504;

/** Body of every error response. */
export interface Problem {
  readonly error: { readonly code: EngineErrorCode; readonly message: string; readonly details?: JsonObject };
}

/** `retry-after` in seconds: a store that throttles recovers within seconds. */
const headersOf: Readonly<Partial<Record<ProblemStatus, Readonly<Record<string, string>>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  503: { 'retry-after': '2' },
};

export interface ProblemAnswer {
  readonly status: ProblemStatus;
  readonly body: Problem;
}

/** Turns an error into a response. */
export function problemResponse(thrown: unknown, log: Log): Response {
  const { status, body } = problemAnswer(thrown, log);
  return json(status, body, { ...headersOf[status], ...retryAfter(body) });
}

/** Returns the header that says when a start or signal that was refused may be repeated. */
function retryAfter({ error: { code, details } }: Problem): Readonly<Record<string, string>> {
  const delayMs = details?.['retryAfterMs'];
  const isKnown = (code === 'START_THROTTLED' || code === 'TENANT_LIMIT_REACHED') && typeof delayMs === 'number';
  return isKnown ? { 'retry-after': String(Math.ceil(delayMs / 1_000)) } : {};
}

/**
 * Turns an error into status and body of a response. The details of a 5xx only go to the log, since they may hold what
 * the caller must not see.
 */
export function problemAnswer(thrown: unknown, log: Log): ProblemAnswer {
  const code = isEngineError(thrown) ? thrown.code : 'INTERNAL';
  const status = statusOf[code];
  if (status === 500) {
    log.error('request failed', { error: thrown });
    return answered(500, 'INTERNAL', 'the request could not be handled; the log has the reason');
  }
  if (status === 503) {
    log.warn('store unavailable', { error: thrown });
    return answered(503, code, 'the store did not answer; the request may be repeated');
  }
  return { status, body: problemOf(thrown as ThrownProblem) };
}

function answered(status: ProblemStatus, code: EngineErrorCode, message: string): ProblemAnswer {
  return { status, body: { error: { code, message } } };
}

interface ThrownProblem {
  readonly code: EngineErrorCode;
  readonly message: string;
  readonly details?: JsonObject | undefined;
}

function problemOf({ code, message, details }: ThrownProblem): Problem {
  return {
    error: {
      code,
      message,
      ...defined({ details: details === undefined ? undefined : (toJson(details) as JsonObject) }),
    },
  };
}

/** Creates a JSON response that is not cached and whose type browsers do not guess. */
export function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  });
}
