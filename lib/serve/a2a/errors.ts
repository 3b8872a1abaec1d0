// Errors of A2A, by the reason that both revisions give them, and how each of ours is told. Pure.

import { defined } from '../../base/defined.js';
import { type EngineErrorCode, isEngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue, toJsonAsFarAsItGoes } from '../../base/json.js';
import type { Log } from '../../base/log.js';
import type { A2aVersion } from './call.js';

interface Kind {
  /** Code of JSON-RPC. */
  readonly code: number;
  /** HTTP status of HTTP+JSON (the column of 1.0.1), and its status word. */
  readonly http: number;
  readonly status: string;
}

const kinds = {
  PARSE_ERROR: { code: -32700, http: 400, status: 'INVALID_ARGUMENT' },
  INVALID_REQUEST: { code: -32600, http: 400, status: 'INVALID_ARGUMENT' },
  METHOD_NOT_FOUND: { code: -32601, http: 404, status: 'NOT_FOUND' },
  METHOD_NOT_ALLOWED: { code: -32601, http: 405, status: 'UNIMPLEMENTED' },
  INVALID_PARAMS: { code: -32602, http: 400, status: 'INVALID_ARGUMENT' },
  REQUEST_TOO_LARGE: { code: -32600, http: 413, status: 'INVALID_ARGUMENT' },
  INTERNAL_ERROR: { code: -32603, http: 500, status: 'INTERNAL' },
  UNAVAILABLE: { code: -32603, http: 503, status: 'UNAVAILABLE' },
  TASK_NOT_FOUND: { code: -32001, http: 404, status: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { code: -32002, http: 400, status: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { code: -32003, http: 400, status: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { code: -32004, http: 400, status: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { code: -32005, http: 400, status: 'INVALID_ARGUMENT' },
  INVALID_AGENT_RESPONSE: { code: -32006, http: 500, status: 'INTERNAL' },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { code: -32007, http: 400, status: 'FAILED_PRECONDITION' },
  EXTENSION_SUPPORT_REQUIRED: { code: -32008, http: 400, status: 'FAILED_PRECONDITION' },
  VERSION_NOT_SUPPORTED: { code: -32009, http: 400, status: 'FAILED_PRECONDITION' },
  // The draft of 1.1 has this one.
  TASK_GENERATION_MISMATCH: { code: -32010, http: 409, status: 'ABORTED' },
  // Codes that the protocol leaves to servers.
  UNAUTHENTICATED: { code: -32050, http: 401, status: 'UNAUTHENTICATED' },
  RATE_LIMIT_EXCEEDED: { code: -32051, http: 429, status: 'RESOURCE_EXHAUSTED' },
  PERMISSION_DENIED: { code: -32052, http: 403, status: 'PERMISSION_DENIED' },
} as const satisfies Readonly<Record<string, Kind>>;

export type A2aReason = keyof typeof kinds;

/** An error of the protocol that no use case knows: thrown by doors. */
export class A2aError extends Error {
  override readonly name = 'A2aError';
  readonly reason: A2aReason;
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: A2aReason, message: string, retryAfterSeconds?: number) {
    super(message);
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What a request asked for, where that decides how its error is told. */
export type Asked = 'cancel' | 'other';

/** An error as it is told to the client. */
export interface A2aProblem extends Kind {
  readonly reason: A2aReason;
  readonly message: string;
  /** Code of the error of outwait, if it is one that the client may know. */
  readonly engineCode?: EngineErrorCode;
  /** What is wrong with which field. */
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
  /** Seconds after which the request may be repeated. */
  readonly retryAfterSeconds?: number;
  /** Methods of HTTP that the route takes. */
  readonly allow?: string;
}

/** Reasons of the errors that are told to clients; all others are our own fault. */
const reasons: Readonly<Partial<Record<EngineErrorCode, A2aReason>>> = {
  INPUT_INVALID: 'INVALID_PARAMS',
  SKILL_NOT_FOUND: 'INVALID_PARAMS',
  KEY_REUSED: 'INVALID_PARAMS',
  PAYLOAD_TOO_LARGE: 'REQUEST_TOO_LARGE',
  UNSUPPORTED_MEDIA_TYPE: 'CONTENT_TYPE_NOT_SUPPORTED',
  ROUTE_NOT_FOUND: 'METHOD_NOT_FOUND',
  METHOD_NOT_ALLOWED: 'METHOD_NOT_ALLOWED',
  UNAUTHORIZED: 'UNAUTHENTICATED',
  FORBIDDEN: 'PERMISSION_DENIED',
  TASK_NOT_FOUND: 'TASK_NOT_FOUND',
  TASK_ENDED: 'UNSUPPORTED_OPERATION',
  QUESTION_CLOSED: 'TASK_GENERATION_MISMATCH',
  TOO_MANY_REQUESTS: 'RATE_LIMIT_EXCEEDED',
  TENANT_LIMIT_REACHED: 'RATE_LIMIT_EXCEEDED',
  START_THROTTLED: 'RATE_LIMIT_EXCEEDED',
  STORE_UNAVAILABLE: 'UNAVAILABLE',
  STORE_RESULT_UNKNOWN: 'UNAVAILABLE',
};

/** Time after which a store that throttles has recovered. */
const storeRecoverySeconds = 2;

/**
 * Turns a thrown value into what the client is told. Faults of our own only go to the log, since they may hold what the
 * client must not see.
 */
export function a2aProblem(thrown: unknown, asked: Asked, log: Log): A2aProblem {
  if (thrown instanceof A2aError) {
    const { reason, message, retryAfterSeconds } = thrown;
    return { ...problemOf(reason, message), ...defined({ retryAfterSeconds }) };
  }
  const reason = isEngineError(thrown) ? reasons[thrown.code] : undefined;
  if (!isEngineError(thrown) || reason === undefined) {
    log.error('request failed', { error: thrown });
    return problemOf('INTERNAL_ERROR', 'the request could not be handled');
  }
  const { code: engineCode, message, details } = thrown;
  if (reason === 'UNAVAILABLE') {
    log.warn('store unavailable', { error: thrown });
    const text = 'the store did not answer; the request may be repeated';
    return { ...problemOf(reason, text), retryAfterSeconds: storeRecoverySeconds };
  }
  if (engineCode === 'TASK_ENDED' && asked === 'cancel') return problemOf('TASK_NOT_CANCELABLE', message);
  const { retryAfterMs: delayMs, allow } = details ?? {};
  return {
    ...problemOf(reason, message),
    engineCode,
    ...defined({
      issues: issuesIn(details),
      allow: typeof allow === 'string' ? allow : undefined,
      retryAfterSeconds: typeof delayMs === 'number' ? Math.max(1, Math.ceil(delayMs / 1_000)) : undefined,
    }),
  };
}

function problemOf(reason: A2aReason, message: string): A2aProblem {
  return { ...kinds[reason], reason, message };
}

function issuesIn(details: JsonObject | undefined): A2aProblem['issues'] {
  const issues = toJsonAsFarAsItGoes(details?.['issues']);
  if (!Array.isArray(issues)) return undefined;
  return (issues as readonly JsonValue[]).filter(isJsonObject).map(({ path, message }) => ({
    path: typeof path === 'string' ? path : '',
    message: typeof message === 'string' ? message : '',
  }));
}

/** Returns the member `error` of a JSON-RPC response. */
export function rpcError(problem: A2aProblem, version: A2aVersion): JsonObject {
  const { code, message, reason } = problem;
  // The data of 0.3 is an object, in no form of its own.
  const data = version === '1.0' ? detailsOf(problem) : { reason };
  return { code, message, data };
}

/** Returns the body of an error of HTTP+JSON. */
export function httpErrorBody(problem: A2aProblem): JsonObject {
  const { http, status, message } = problem;
  return { error: { code: http, status, message, details: detailsOf(problem) } };
}

function detailsOf({ reason, engineCode, issues = [] }: A2aProblem): readonly JsonObject[] {
  const info: JsonObject = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
    ...defined({ metadata: engineCode === undefined ? undefined : { code: engineCode } }),
  };
  if (issues.length === 0) return [info];
  const fieldViolations = issues.map(({ path, message }) => ({ field: path, description: message }));
  return [info, { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
}

/** Returns the headers of a response that tells an error. */
export function errorHeaders({ reason, retryAfterSeconds, allow }: A2aProblem): Readonly<Record<string, string>> {
  return defined({
    allow,
    'retry-after': retryAfterSeconds === undefined ? undefined : String(retryAfterSeconds),
    'www-authenticate': reason === 'UNAUTHENTICATED' ? 'Bearer' : undefined,
  });
}

/**
 * Returns the HTTP status of a JSON-RPC response with an error: 200, unless HTTP has a meaning of its own that gateways
 * and clients act on.
 */
export function rpcHttpStatus({ reason, http }: A2aProblem): number {
  return statusesOfHttp.has(reason) ? http : 200;
}

const statusesOfHttp: ReadonlySet<A2aReason> = new Set([
  ...(['REQUEST_TOO_LARGE', 'INTERNAL_ERROR', 'UNAVAILABLE', 'UNAUTHENTICATED'] as const),
  ...(['RATE_LIMIT_EXCEEDED', 'PERMISSION_DENIED', 'METHOD_NOT_ALLOWED'] as const),
]);
