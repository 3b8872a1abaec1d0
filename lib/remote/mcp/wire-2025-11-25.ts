// MCP revision 2025-11-25 with its tasks, and plain calls of the two revisions before it: requests, and the meaning of
// answers. Pure.

import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { Answered, WireCall } from '../endpoint/endpoint.js';
import type { Exchange } from '../rpc/exchange.js';
import { isUsableId } from '../endpoint/handle.js';
import { remoteError, unknown, unreadable } from '../rpc/remote-error.js';
import type { PollReply, StartReply } from '../transport.js';
import { pollReplyOf } from '../rpc/failed-exchange.js';
import { callsMeta, keyMeta } from '../../base/mcp-meta.js';
import { taskForJob, type ToolStart } from './dialect.js';
import { readToolResult } from './tool-result.js';
import {
  cancelledTask,
  clientInfo,
  failedTask,
  hintOf,
  invalidParamsCode,
  isPositive,
  isTerminal,
  methodUnknownCode,
  noteOf,
  ttlOf,
  wholeMs,
  textOf,
} from './wire-2026-07-28.js';

/** Time for which an MCP 2025-11-25 server is asked to keep a task; it may decide otherwise. */
const taskTtlMs = 7 * 24 * 3_600_000;

export const legacyWire = '2025-11-25';
/** Supported revisions with `initialize`; only the first has tasks. */
export const earlierVersions: readonly string[] = [legacyWire, '2025-06-18', '2025-03-26'];

/** Outcome of `initialize`. */
export interface Session {
  readonly kind: 'session';
  /** Missing if the server keeps no sessions. */
  readonly id?: string;
  readonly version: string;
  /** Whether tools can be called as tasks. */
  readonly tasks: boolean;
}

export function initialize(): WireCall {
  // Declares no elicitation, sampling or roots: a server that knows of them would stop and wait for us.
  const params = { protocolVersion: legacyWire, capabilities: {}, clientInfo };
  return { method: 'initialize', params, headers: baseHeaders };
}

export function initialized(session: Session): WireCall {
  return { ...sessionCall('notifications/initialized', {}, session), notification: true };
}

export function toolsList(session: Session, cursor?: string): WireCall {
  return sessionCall('tools/list', cursor === undefined ? {} : { cursor }, session);
}

export function toolsCall(call: ToolCall, asTask: boolean, session: Session): WireCall {
  const { tool, arguments: args, idempotencyKey, traceparent, calls } = call;
  const params = {
    name: tool,
    arguments: args,
    ...defined({
      task: asTask ? { ttl: taskTtlMs } : undefined,
      _meta:
        idempotencyKey === undefined
          ? undefined
          : defined({ [keyMeta]: idempotencyKey, [callsMeta]: calls, traceparent }),
    }),
  };
  const made = sessionCall('tools/call', params, session);
  if (idempotencyKey === undefined) return made;
  return { ...made, headers: { ...made.headers, 'idempotency-key': idempotencyKey, ...defined({ traceparent }) } };
}

/** Call of a tool; without a key if it only reads. */
type ToolCall = Pick<ToolStart, 'tool' | 'arguments'> &
  Partial<Pick<ToolStart, 'idempotencyKey' | 'traceparent' | 'calls'>>;

export function taskCall(
  method: 'tasks/get' | 'tasks/result' | 'tasks/cancel',
  taskId: string,
  session: Session,
): WireCall {
  return sessionCall(method, { taskId }, session);
}

const baseHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function sessionCall(method: string, params: JsonObject, { id, version }: Session): WireCall {
  const session = id === undefined ? {} : { 'mcp-session-id': id };
  return { method, params, headers: { ...baseHeaders, 'mcp-protocol-version': version, ...session } };
}

/** Returns the session, or the problem with the answer to `initialize`. */
export function readInitialize(result: JsonValue, sessionId: string | undefined): Session | string {
  const { protocolVersion, capabilities } = isJsonObject(result) ? result : {};
  const version = textOf(protocolVersion);
  if (!earlierVersions.includes(version))
    return version === ''
      ? 'the server answered "initialize" without a protocolVersion'
      : `the server speaks MCP ${version}, which is not supported`;
  // Requires visible ASCII, as the revision does: a header cannot carry more.
  if (sessionId !== undefined && !(/^[\x21-\x7e]+$/.test(sessionId) && sessionId.length <= remoteIdMaxBytes))
    return 'the server gave a session id that cannot be sent back';
  return {
    kind: 'session',
    version,
    tasks: version === legacyWire && isJsonObject(valueAt(capabilities, ['tasks', 'requests', 'tools', 'call'])),
    ...defined({ id: sessionId }),
  };
}

/**
 * Whether an answer says that the session is lost. `surely`: the request was not looked at. `perhaps`: the request may
 * have been executed, so only idempotent calls may be sent again. Servers built with the first SDK answer 400 with
 * -32000 where the revision says 404; others use the same code for failures of their own.
 */
export function sessionLost({ exchange }: Answered, { id }: Session): 'surely' | 'perhaps' | 'no' {
  if (id === undefined) return 'no';
  if (exchange.kind === 'http_error') return exchange.status === 404 ? 'surely' : 'no';
  if (exchange.kind !== 'rpc_error') return 'no';
  const { status, code, unaddressed = false } = exchange;
  if (status === 404 && code !== methodUnknownCode) return unaddressed || saysSession(exchange) ? 'surely' : 'no';
  if (status !== 400 || code !== -32000) return 'no';
  return unaddressed && saysSession(exchange) ? 'surely' : 'perhaps';
}

/**
 * Whether the end of one task of the session can end the others, as in servers on the first Python SDK, whose sessions
 * are named by 32 hex digits: all tasks run in the session opened last, and if a task's code returns after it was
 * cancelled, that session and all work in it end.
 */
export function tasksDieTogether({ id, tasks }: Session): boolean {
  return tasks && id !== undefined && /^[0-9a-f]{32}$/.test(id);
}

/**
 * Returns the error if that SDK did not start a task because a session has just ended: its message is not an error of
 * the tool.
 */
export function tasksOff(result: JsonValue): StoredError | undefined {
  const { isError, content } = isJsonObject(result) ? result : {};
  const said = valueAt(Array.isArray(content) ? (content as readonly JsonValue[])[0] : undefined, ['text']);
  if (isError !== true || !textOf(said).startsWith('TaskSupport not running')) return undefined;
  return remoteError('REMOTE_UNREACHABLE', `the server starts no tasks at the moment: ${textOf(said)}`);
}

function saysSession({ message }: { readonly message: string }): boolean {
  return /session|not initialized/i.test(message);
}

/**
 * Reads the result of `tools/call`. A task is followed however the call was made, and some tools answer at once all the
 * same.
 */
export function readCallResult(
  result: JsonValue,
  server: string,
  session: Session,
  { tool, job }: Partial<Pick<ToolStart, 'tool' | 'job'>> = {},
): StartReply {
  if (!isJsonObject(result)) return unknown('the result of the call is not an object');
  const { task } = result;
  if (job !== undefined) {
    const { version, id } = session;
    if (isJsonObject(task)) return taskForJob(tool ?? '');
    return job.read(result, id === undefined ? { version } : { version, session: id });
  }
  if (!isJsonObject(task)) return readToolResult(result);
  const { taskId, status, ttl, pollInterval } = task;
  if (!isUsableId(taskId)) return unknown('the task has no usable taskId');
  if (typeof status !== 'string') return unknown('the task has no status');
  const handle: RemoteTaskHandle = {
    server,
    protocol: 'mcp',
    wire: legacyWire,
    taskId,
    ...defined({ ttlMs: isPositive(ttl) ? wholeMs(ttl) : undefined, session: session.id }),
  };
  const hint = isTerminal(status) ? { pollAfterMs: 0 } : hintOf(pollInterval);
  return { kind: 'started', handle, state: status, ...noteOf(task), ...hint };
}

/** Reads the result of `tasks/get`: a state, or a task whose result must be fetched. */
export function readTask(
  task: JsonValue,
  handle: RemoteTaskHandle,
): PollReply | { readonly kind: 'result_waits'; readonly task: JsonObject } {
  if (!isJsonObject(task)) return unreadable('the task is not an object');
  if (task['taskId'] !== handle.taskId) return unreadable('the task is not the one requested');
  const state = textOf(task['status']);
  switch (state) {
    case 'working':
      return { kind: 'working', state, ...hintOf(task['pollInterval']), ...noteOf(task), ...ttlOf(task['ttl']) };
    case 'input_required':
      // Reports no question: it comes as a request on a stream, and we hold none open.
      return {
        kind: 'working',
        state,
        ...hintOf(task['pollInterval']),
        note: `the task asks for input, which cannot be given over MCP ${legacyWire}`,
      };
    case 'completed':
    case 'failed':
      return { kind: 'result_waits', task };
    case 'cancelled':
      return cancelledTask(task, handle.server);
    default:
      return unreadable('the task has an unknown status');
  }
}

/**
 * Reads what `tasks/result` returned for an ended task: the tool's result, including `isError`, or its JSON-RPC error.
 */
export function readTaskResult(exchange: Exchange, task: JsonObject, { taskId, server }: RemoteTaskHandle): PollReply {
  if (exchange.kind === 'rpc_error' && exchange.status === 200 && task['status'] === 'failed') {
    const { code, message, data } = exchange;
    return failedTask(task, { code, message, ...defined({ data }) }, server);
  }
  if (exchange.kind !== 'result') return pollReplyOf(exchange, [invalidParamsCode]);
  const { result } = exchange;
  if (!isJsonObject(result)) return unreadable('the result of the task is not an object');
  const related = valueAt(result, ['_meta', 'io.modelcontextprotocol/related-task', 'taskId']);
  if (related !== undefined && related !== taskId) return unreadable('the result is that of another task');
  const isFailed = task['status'] === 'failed';
  // Falls back to the status message: a failed task may have an empty result.
  if (isFailed && !hasContent(result)) return failedTask(task, {}, server);
  return { kind: 'ended', end: { kind: 'completed', result, isError: isFailed || result['isError'] === true, taskId } };
}

function hasContent({ content, structuredContent }: JsonObject): boolean {
  return (Array.isArray(content) && content.length > 0) || isJsonObject(structuredContent);
}

function valueAt(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  return path.reduce((inner, name) => (isJsonObject(inner) ? inner[name] : undefined), value);
}
