// MCP revision 2026-07-28 with the tasks extension: what is sent, and what the answers mean. Pure.

import type { StoredError } from '../../base/errors.js';
import { isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import type { WireCall } from '../endpoint.js';
import { remoteError, violationError } from '../remote-error.js';
import type { PollReply, StartReply } from '../transport.js';
import { mcpHeaderValue } from './header-value.js';

export const mcpWire = '2026-07-28';
/** JSON-RPC error for a task that is unknown or expired. */
export const taskUnknownCode = -32602;

const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Starts a tool. The server alone decides if it answers with a task. */
export function toolsCall(tool: string, args: JsonObject, idempotencyKey: string): WireCall {
  const params = { name: tool, arguments: args };
  const call = wireCall('tools/call', tool, params, { 'dev.outwait/idempotencyKey': idempotencyKey });
  return { ...call, headers: { ...call.headers, 'idempotency-key': idempotencyKey } };
}

export function tasksGet(taskId: string): WireCall {
  return wireCall('tasks/get', taskId, { taskId });
}

export function tasksCancel(taskId: string): WireCall {
  return wireCall('tasks/cancel', taskId, { taskId });
}

function wireCall(method: string, name: string, params: JsonObject, meta: JsonObject = {}): WireCall {
  return {
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': mcpWire,
        'io.modelcontextprotocol/clientInfo': { name: 'outwait', version: '0.1.0' },
        // No elicitation: nobody would answer, and a server that knows so does not ask.
        'io.modelcontextprotocol/clientCapabilities': { extensions: { [tasksExtension]: {} } },
        ...meta,
      },
    },
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': mcpWire,
      'mcp-method': method,
      'mcp-name': mcpHeaderValue(name),
    },
  };
}

/** The result of `tools/call` (tasks extension, CreateTaskResult). A reply without a usable shape may belong to running work. */
export function readCallResult(result: JsonValue, server: string): StartReply {
  if (!isJsonObject(result)) return unknown('the result of the call is not an object');
  // Servers of older revisions send none.
  const resultType = textOf(result['resultType'] ?? 'complete');
  switch (resultType) {
    case 'complete':
      return readToolResult(result);
    case 'task':
      return readCreatedTask(result, server);
    case 'input_required':
      // Nothing runs between the rounds of such a question, so nothing is left behind.
      return {
        kind: 'refused',
        error: remoteError('REMOTE_START_REFUSED', 'the server wants input before it starts, which is not supported'),
      };
    default:
      return unknown('the result of the call has an unknown resultType');
  }
}

function readToolResult(result: JsonObject): StartReply {
  if (!Array.isArray(result['content']) && result['structuredContent'] === undefined) {
    return unknown('the result of the call has neither content nor structuredContent');
  }
  return { kind: 'ended', end: { kind: 'completed', result, isError: result['isError'] === true } };
}

function readCreatedTask(task: JsonObject, server: string): StartReply {
  const { taskId, status, createdAt, ttlMs } = task;
  if (typeof taskId !== 'string' || taskId === '' || utf8Bytes(taskId) > remoteIdMaxBytes)
    return unknown('the task has no usable taskId');
  if (typeof status !== 'string' || typeof createdAt !== 'string')
    return unknown('the task has no status or no createdAt');
  if (ttlMs !== null && !isPositive(ttlMs)) return unknown('the task has no ttlMs');
  const handle = { server, protocol: 'mcp', wire: mcpWire, taskId, ...(ttlMs === null ? {} : { ttlMs }) } as const;
  // The reply to the call never carries the result, so it is read at once.
  return { kind: 'started', handle, ...(isTerminal(status) ? { pollAfterMs: 0 } : hintOf(task)) };
}

/** The result of `tasks/get` for the task `taskId`. Whatever is not exactly a state of this task settles nothing. */
export function readTask(task: JsonValue, taskId: string, server: string): PollReply {
  if (!isJsonObject(task)) return unreadable('the task is not an object');
  const { resultType = 'complete' } = task;
  // Two examples of the extension show `task` here; the id decides.
  if (resultType !== 'complete' && resultType !== 'task') return unreadable('the task has an unknown resultType');
  if (task['taskId'] !== taskId) return unreadable('the task is not the one that was asked for');
  const status = textOf(task['status']);
  switch (status) {
    case 'working':
    case 'input_required':
      return { kind: 'working', state: status, ...hintOf(task) };
    case 'completed':
      return readCompleted(task, taskId);
    case 'failed':
      return readFailed(task, server);
    case 'cancelled': {
      const message = `remote task cancelled: ${messageIn(task['statusMessage']) ?? 'no reason was given'}`;
      return {
        kind: 'ended',
        end: { kind: 'failed', error: remoteError('REMOTE_TASK_CANCELLED', message, { server, state: status }) },
      };
    }
    default:
      return unreadable('the task has an unknown status');
  }
}

function readCompleted(task: JsonObject, taskId: string): PollReply {
  const { result } = task;
  if (!isJsonObject(result)) return unreadable('the task is completed without a result');
  return { kind: 'ended', end: { kind: 'completed', result, isError: result['isError'] === true, taskId } };
}

function readFailed(task: JsonObject, server: string): PollReply {
  const { error } = task;
  if (error === undefined || error === null) return unreadable('the task is failed without an error');
  const { message, code } = isJsonObject(error) ? error : { message: error, code: undefined };
  const text = messageIn(task['statusMessage']) ?? messageIn(message) ?? 'no reason was given';
  const details = { server, state: 'failed', ...(typeof code === 'number' ? { code } : {}) };
  return {
    kind: 'ended',
    end: { kind: 'failed', error: remoteError('REMOTE_TASK_FAILED', `remote task failed: ${text}`, details) },
  };
}

function isTerminal(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** A hint of zero or less is none: zero has a meaning of its own in `StartReply`. */
function hintOf(task: JsonObject): { readonly pollAfterMs?: number } {
  const { pollIntervalMs } = task;
  return isPositive(pollIntervalMs) ? { pollAfterMs: Math.ceil(pollIntervalMs) } : {};
}

function isPositive(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

/** The empty text for what is no text: it is in no list of known words. */
function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function messageIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function unknown(problem: string): { readonly kind: 'unknown'; readonly error: StoredError } {
  return { kind: 'unknown', error: violationError(problem) };
}

function unreadable(problem: string): { readonly kind: 'unreadable'; readonly error: StoredError } {
  return { kind: 'unreadable', error: violationError(problem) };
}
