// Checks of an author's call to a remote server.

import { defined } from '../../base/defined.js';
import { utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import type { Duration } from '../../base/time.js';
import type { RemoteClosePolicy } from '../../history/event.js';
import type { AttachCall, RemoteCall } from '../../workflow/context.js';
import type { AttachRequest, RemoteRequest } from '../../workflow/remote-request.js';
import { invalid, json, text, toMs } from './arguments.js';

/** Default of the `timeout` of a remote call. */
const remoteTimeoutDefaultMs = 24 * 3_600_000;
/** Limit of the author's idempotency key of a remote call: leaves room for the number of a restart. */
const remoteKeyMaxChars = 200;

interface UncheckedCall {
  readonly tool?: unknown;
  readonly skill?: unknown;
  readonly message?: { readonly parts?: unknown };
  readonly arguments?: unknown;
}

/** Returns the request of a call. @throws EngineError `INPUT_INVALID` */
export function toRemoteRequest(call: RemoteCall): RemoteRequest {
  text(call.server, 'the name of a server');
  // Code in JavaScript may name several of them.
  const { tool, skill, message, arguments: given = {} } = call as UncheckedCall;
  const named = [tool, skill, message].filter((field) => field !== undefined).length;
  if (named !== 1) throw invalid(`callRemoteTask needs exactly one of tool, skill and message, got ${named}`);
  if (tool !== undefined) {
    return { kind: 'tool', tool: text(tool, 'tool'), arguments: json(given, 'arguments') as JsonObject };
  }
  if (skill !== undefined) {
    return { kind: 'skill', skill: text(skill, 'skill'), arguments: json(given, 'arguments') };
  }
  const parts = json(message?.parts, 'message.parts');
  if (!Array.isArray(parts) || parts.length === 0) throw invalid('message.parts must be a list of at least one part');
  return { kind: 'message', parts: parts as readonly JsonObject[] };
}

/** Returns the task that a call attaches to. @throws EngineError `INPUT_INVALID` */
export function toAttachRequest({ server, taskId, contextId }: AttachCall): AttachRequest {
  text(server, 'the name of a server');
  return {
    kind: 'attach',
    taskId: remoteId(taskId, 'taskId'),
    ...defined({ contextId: contextId === undefined ? undefined : remoteId(contextId, 'contextId') }),
  };
}

/** Returns the name of a call in messages and views: its tool, its skill, `message` or `attach`. */
export function nameOf(request: RemoteRequest | AttachRequest): string {
  switch (request.kind) {
    case 'tool':
      return request.tool;
    case 'skill':
      return request.skill;
    case 'message':
    case 'attach':
      return request.kind;
  }
}

/** Returns the arguments of a call, for readers of the history. */
export function argumentsOf(request: RemoteRequest | AttachRequest): JsonValue {
  switch (request.kind) {
    case 'tool':
    case 'skill':
      return request.arguments;
    case 'message':
      return request.parts;
    case 'attach': {
      const { taskId, contextId } = request;
      return { taskId, ...defined({ contextId }) };
    }
  }
}

/** Checks a close policy. @throws EngineError `INPUT_INVALID` */
export function closePolicy(policy: unknown, what: string): RemoteClosePolicy | undefined {
  if (policy === undefined || policy === 'cancel' || policy === 'leave') return policy;
  throw invalid(`${what} must be "cancel" or "leave"`);
}

/** Checks the author's key, whose characters must fit into a header, and returns that of call number `call`. */
export function callKey(key: unknown, call: number): string | undefined {
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || key.length > remoteKeyMaxChars || !/^[\x21-\x7e]+$/.test(key))
    throw invalid(`idempotencyKey must be 1 to ${remoteKeyMaxChars} visible ASCII characters`);
  return call === 1 ? key : `${key}#${call}`;
}

function remoteId(id: unknown, what: string): string {
  if (typeof id !== 'string' || id === '' || utf8Bytes(id) > remoteIdMaxBytes)
    throw invalid(`${what} must be a string of 1 to ${remoteIdMaxBytes} bytes`);
  if (!id.isWellFormed()) throw invalid(`${what} must be well-formed text, got half of a surrogate pair`);
  return id;
}

/** Returns the timeout in whole seconds, at least one: servers cannot be held to fractions. */
export function remoteTimeoutMs(timeout: Duration | undefined): number {
  if (timeout === undefined) return remoteTimeoutDefaultMs;
  return Math.max(1, Math.ceil(toMs(timeout, 'the timeout of a remote call') / 1000)) * 1000;
}
