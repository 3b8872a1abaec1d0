// Errors of MCP by their numbers, and how each of ours is told. Pure.

import { defined } from '../../base/defined.js';
import { type EngineErrorCode, isEngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, toJsonAsFarAsItGoes } from '../../base/json.js';
import type { Log } from '../../base/log.js';

export const parseError = -32700;
export const invalidRequest = -32600;
export const methodNotFound = -32601;
export const invalidParams = -32602;
export const internalError = -32603;
export const headerMismatch = -32020;
export const missingCapability = -32021;
export const unsupportedVersion = -32022;
/** Numbers of our own lie outside of what JSON-RPC and the protocol reserve. */
export const keyReused = 40901;
const unauthorized = 40101;
const forbidden = 40301;
const tooMany = 42901;

/** An error as the client is told it. */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly code: number;
  readonly data: JsonObject | undefined;
  /** HTTP status, where the protocol or HTTP gives it a meaning. Default 200. */
  readonly http: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: number, message: string, more: McpErrorDetails = {}) {
    super(message);
    this.code = code;
    this.data = more.data;
    this.http = more.http ?? 200;
    this.headers = more.headers ?? {};
  }
}

export interface McpErrorDetails {
  readonly data?: JsonObject;
  readonly http?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Creates the error for a request that is not one. */
export function badRequest(code: number, message: string, data?: JsonObject): McpError {
  return new McpError(code, message, { http: 400, ...defined({ data }) });
}

/** Creates the one error for a task that does not exist and for that of another caller. */
export function taskNotFound(): McpError {
  return new McpError(invalidParams, 'Task not found');
}

/** Creates the error for a client that has not declared what a request needs. */
export function needsCapability(requiredCapabilities: JsonObject, message: string): McpError {
  return badRequest(missingCapability, message, { requiredCapabilities });
}

const codes: Readonly<Partial<Record<EngineErrorCode, readonly [code: number, http: number]>>> = {
  INPUT_INVALID: [invalidParams, 200],
  SKILL_NOT_FOUND: [invalidParams, 200],
  TASK_ENDED: [invalidParams, 200],
  QUESTION_CLOSED: [invalidParams, 200],
  KEY_REUSED: [keyReused, 200],
  PAYLOAD_TOO_LARGE: [invalidRequest, 413],
  ROUTE_NOT_FOUND: [methodNotFound, 404],
  METHOD_NOT_ALLOWED: [invalidRequest, 405],
  UNAUTHORIZED: [unauthorized, 401],
  FORBIDDEN: [forbidden, 403],
  TOO_MANY_REQUESTS: [tooMany, 429],
  TENANT_LIMIT_REACHED: [tooMany, 429],
  START_THROTTLED: [tooMany, 429],
};

/** Errors of a start that a model can do something about: the tool answers them. */
const refusals: ReadonlySet<EngineErrorCode> = new Set([
  ...(['INPUT_INVALID', 'PAYLOAD_TOO_LARGE', 'TOO_MANY_REQUESTS'] as const),
  ...(['TENANT_LIMIT_REACHED', 'START_THROTTLED', 'TASK_ENDED', 'QUESTION_CLOSED'] as const),
]);

/** Returns the message of a refusal that a tool answers with, undefined for any other error. */
export function refusalText(thrown: unknown): string | undefined {
  if (!isEngineError(thrown) || !refusals.has(thrown.code)) return undefined;
  const { retryAfterMs } = thrown.details ?? {};
  const later = typeof retryAfterMs === 'number' ? ` Try again in ${Math.ceil(retryAfterMs / 1_000)} s.` : '';
  return `${thrown.message}.${later}`;
}

/**
 * Turns a thrown value into what the client is told. Faults of our own only go to the log, since they may hold what the
 * client must not see.
 */
export function mcpError(thrown: unknown, log: Log, challenge = 'Bearer'): McpError {
  if (thrown instanceof McpError) return thrown;
  if (!isEngineError(thrown)) {
    log.error('request failed', { error: thrown });
    return new McpError(internalError, 'the request could not be handled', { http: 500 });
  }
  const { code, message, details } = thrown;
  if (code === 'TASK_NOT_FOUND') return taskNotFound();
  if (code === 'STORE_UNAVAILABLE' || code === 'STORE_RESULT_UNKNOWN') {
    log.warn('store unavailable', { error: thrown });
    const text = 'the store did not answer; the request may be repeated';
    return new McpError(internalError, text, { http: 503, headers: { 'retry-after': '2' } });
  }
  const known = codes[code];
  if (known === undefined) {
    log.error('request failed', { error: thrown });
    return new McpError(internalError, 'the request could not be handled', { http: 500 });
  }
  const [number, http] = known;
  return new McpError(number, message, {
    http,
    data: dataOf(code, details),
    headers: headersOf(details, http, challenge),
  });
}

function dataOf(code: EngineErrorCode, details: JsonObject | undefined): JsonObject {
  const issues = toJsonAsFarAsItGoes(details?.['issues']);
  return { code, ...defined({ issues: Array.isArray(issues) ? issues.filter(isJsonObject) : undefined }) };
}

function headersOf(details: JsonObject | undefined, http: number, challenge: string): Readonly<Record<string, string>> {
  const { retryAfterMs, allow } = details ?? {};
  return defined({
    allow: typeof allow === 'string' ? allow : undefined,
    'retry-after': typeof retryAfterMs === 'number' ? String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) : undefined,
    'www-authenticate': http === 401 ? challenge : undefined,
  });
}

/** Returns the member `error` of a JSON-RPC response. */
export function rpcError({ code, message, data }: McpError): JsonObject {
  return { code, message, ...defined({ data }) };
}
