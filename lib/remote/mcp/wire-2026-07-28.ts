// MCP revision 2026-07-28 with the tasks extension: requests, and the meaning of answers. Pure.

import { defined } from '../../base/defined.js';
import { isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { WireCall } from '../endpoint/endpoint.js';
import type { SaidOfTask } from '../../history/task-trail.js';
import { isUsableId } from '../endpoint/handle.js';
import { amountsIn } from '../rpc/amounts.js';
import { remoteError, unknown, unreadable } from '../rpc/remote-error.js';
import type { PollReply, RemoteAnswer, StartReply } from '../transport.js';
import { callsMeta, keyMeta } from '../../base/mcp-meta.js';
import { taskForJob, type ToolStart } from './dialect.js';
import { inputResponse, readInputRequests } from './elicitation.js';
import { mcpHeaderValue } from './header-value.js';
import { readToolResult } from './tool-result.js';

/** Size up to which data in the error of a failed task is kept; of larger data only the size is. */
const failureDataMaxBytes = 16 * 1024;
/** Size limit of the opaque state of a start that asks, which is stored until the answers are sent. */
const requestStateMaxBytes = 64 * 1024;

export const mcpWire = '2026-07-28';

/** Invalid params; for `tasks/*`: the task is unknown or expired. */
export const invalidParamsCode = -32602;
export const methodUnknownCode = -32601;
/** A header is missing or differs from the body. */
export const headerMismatchCode = -32020;
export const missingCapabilityCode = -32021;
/** Unsupported revision; `data.supported` names those that the server speaks. */
export const versionUnsupportedCode = -32022;

export const tasksExtension = 'io.modelcontextprotocol/tasks';
/** Capability extension of a server that answers a repeated start with the same key with the task it already has. */
export const dedupesExtension = 'dev.outwait/dedupes';

export const clientInfo = { name: 'outwait', version: '0.1.0' };

/**
 * Returns the discovery request, which names a session that does not exist. A server of this revision ignores it. Some
 * of an older one open a session for every request that names none, and end it since this is no handshake; after that,
 * none of their sessions starts tasks any more.
 */
export function serverDiscover(): WireCall {
  const { headers, ...call } = wireCall('server/discover', undefined, {});
  return { ...call, headers: { ...headers, 'mcp-session-id': 'none' } };
}

export function toolsList(cursor?: string): WireCall {
  return wireCall('tools/list', undefined, cursor === undefined ? {} : { cursor });
}

/** Call of a tool. `Mcp-Param-*` headers are for tools that ask for them. */
export type ToolsCall = Omit<ToolStart, 'idempotencyKey'> & {
  /** Missing for a call that only reads. */
  readonly idempotencyKey?: string;
  readonly paramHeaders?: Readonly<Record<string, string>>;
};

/** Starts a tool, or repeats the start with answers. The server alone decides whether it answers with a task. */
export function toolsCall({ tool, idempotencyKey, answersQuestions, continuation, ...call }: ToolsCall): WireCall {
  const { state, answers = {} } = continuation ?? {};
  const responses = Object.entries(answers).map(([key, answer]) => [key, inputResponse(answer)]);
  const params = {
    name: tool,
    arguments: call.arguments,
    ...defined({
      inputResponses: responses.length === 0 ? undefined : (Object.fromEntries(responses) as JsonObject),
      requestState: state,
    }),
  };
  const made = wireCall('tools/call', tool, params, {
    answersQuestions: answersQuestions ?? false,
    tasks: idempotencyKey !== undefined && call.job === undefined,
    meta: defined({ [keyMeta]: idempotencyKey, [callsMeta]: call.calls, traceparent: call.traceparent }),
  });
  const key = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const trace = defined({ traceparent: call.traceparent });
  return { ...made, headers: { ...made.headers, ...key, ...trace, ...call.paramHeaders } };
}

type TaskOf = Pick<RemoteTaskHandle, 'taskId' | 'answersQuestions'>;

export function tasksGet({ taskId, answersQuestions }: TaskOf): WireCall {
  return wireCall('tasks/get', taskId, { taskId }, { answersQuestions: answersQuestions ?? false });
}

export function tasksCancel({ taskId, answersQuestions }: TaskOf): WireCall {
  return wireCall('tasks/cancel', taskId, { taskId }, { answersQuestions: answersQuestions ?? false });
}

export function tasksUpdate(taskId: string, key: string, answer: RemoteAnswer, idempotencyKey: string): WireCall {
  const params = { taskId, inputResponses: { [key]: inputResponse(answer) } };
  const call = wireCall('tasks/update', taskId, params, { answersQuestions: true });
  return { ...call, headers: { ...call.headers, 'idempotency-key': idempotencyKey } };
}

interface CallOptions {
  readonly answersQuestions?: boolean;
  readonly tasks?: boolean;
  readonly meta?: JsonObject;
}

function wireCall(
  method: string,
  name: string | undefined,
  params: JsonObject,
  { answersQuestions = false, tasks = true, meta = {} }: CallOptions = {},
): WireCall {
  return {
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': mcpWire,
        'io.modelcontextprotocol/clientInfo': clientInfo,
        // Declares elicitation only if questions will be answered: without it, a server does not ask.
        'io.modelcontextprotocol/clientCapabilities': {
          ...defined({ elicitation: answersQuestions ? { form: {}, url: {} } : undefined }),
          // Declares no tasks for a job: the server then answers with the result, from which the job is read.
          extensions: tasks ? { [tasksExtension]: {} } : {},
        },
        ...meta,
      },
    },
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': mcpWire,
      'mcp-method': method,
      ...defined({ 'mcp-name': name === undefined ? undefined : mcpHeaderValue(name) }),
    },
  };
}

/**
 * Reads the result of `tools/call` (tasks extension, CreateTaskResult). A reply of no usable shape may belong to
 * running work.
 */
export function readCallResult(
  result: JsonValue,
  server: string,
  { answersQuestions = false, tool, job }: Partial<Pick<ToolStart, 'answersQuestions' | 'tool' | 'job'>> = {},
): StartReply {
  if (!isJsonObject(result)) return unknown('the result of the call is not an object');
  // Defaults the type, which servers of older revisions do not send.
  const resultType = textOf(result['resultType'] ?? 'complete');
  switch (resultType) {
    case 'complete':
      return job === undefined ? readToolResult(result) : job.read(result, { version: mcpWire });
    case 'task':
      return job === undefined ? readCreatedTask(result, server, answersQuestions) : taskForJob(tool ?? '');
    case 'input_required':
      return readQuestions(result);
    default:
      return unknown('the result of the call has an unknown resultType');
  }
}

/** Reads questions before a start. Nothing runs between the rounds, so a bad question leaves nothing behind. */
function readQuestions({ inputRequests, requestState: state }: JsonObject): StartReply {
  const { questions, unanswerable } = readInputRequests(inputRequests);
  if (state !== undefined && typeof state !== 'string')
    return refused('the server asks with a requestState that is not a string');
  if (state !== undefined && utf8Bytes(state) > requestStateMaxBytes)
    return refused(`the server asks with a requestState of more than ${requestStateMaxBytes} bytes`);
  if (questions.length === 0 && unanswerable.length > 0)
    return refused(`the server asks for input that this client does not provide: ${unanswerable.join(', ')}`);
  if (questions.length === 0 && state === undefined) return refused('the server asks for input without a question');
  return { kind: 'asked', questions, ...defined({ state }) };
}

function readCreatedTask(task: JsonObject, server: string, answersQuestions: boolean): StartReply {
  const { taskId, status, createdAt, ttlMs } = task;
  if (!isUsableId(taskId)) return unknown('the task has no usable taskId');
  if (typeof status !== 'string' || typeof createdAt !== 'string')
    return unknown('the task has no status or no createdAt');
  if (ttlMs !== null && !isPositive(ttlMs)) return unknown('the task has no ttlMs');
  const handle = {
    server,
    protocol: 'mcp',
    wire: mcpWire,
    taskId,
    ...defined({
      ttlMs: ttlMs === null ? undefined : wholeMs(ttlMs),
      answersQuestions: answersQuestions ? answersQuestions : undefined,
    }),
  } as const;
  // Has the task read at once if it has ended: the reply to the call never carries the result.
  const hint = isTerminal(status) ? { pollAfterMs: 0 } : hintOf(task['pollIntervalMs']);
  return { kind: 'started', handle, state: status, ...noteOf(task), ...hint };
}

/**
 * Reads the result of `tasks/get` for the task `taskId`. Anything that is not exactly a state of this task settles
 * nothing.
 */
export function readTask(task: JsonValue, taskId: string, server: string): PollReply {
  if (!isJsonObject(task)) return unreadable('the task is not an object');
  const { resultType = 'complete' } = task;
  // Allows `task`, which two examples of the extension show here; the id decides.
  if (resultType !== 'complete' && resultType !== 'task') return unreadable('the task has an unknown resultType');
  if (task['taskId'] !== taskId) return unreadable('the task is not the one requested');
  const status = textOf(task['status']);
  const hints = { ...hintOf(task['pollIntervalMs']), ...noteOf(task), ...ttlOf(task['ttlMs']) };
  switch (status) {
    case 'working':
      return { kind: 'working', state: status, ...hints };
    case 'input_required': {
      const { questions } = readInputRequests(task['inputRequests']);
      const asked = questions.length === 0 ? {} : { questions };
      return { kind: 'working', state: status, ...hints, ...asked };
    }
    case 'completed':
      return readCompleted(task, taskId);
    case 'failed':
      return readFailed(task, server);
    case 'cancelled':
      return cancelledTask(task, server);
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
  return failedTask(task, isJsonObject(error) ? error : { message: error }, server);
}

/**
 * Returns the end of a task with a JSON-RPC error. The server's own words come first, and nothing of the error is lost.
 */
export function failedTask(task: JsonObject, error: JsonObject, server: string): PollReply {
  const said = messageIn(task['statusMessage']);
  const message = messageIn(error['message']);
  const { code, data } = error;
  const details = {
    server,
    state: 'failed',
    ...defined({
      code: typeof code === 'number' ? code : undefined,
      message: said === undefined || message === undefined || said === message ? undefined : message,
    }),
    ...dataOf(data),
  };
  const text = `remote task failed: ${said ?? message ?? 'no reason was given'}`;
  return { kind: 'ended', end: { kind: 'failed', error: remoteError('REMOTE_TASK_FAILED', text, details) } };
}

export function dataOf(data: JsonValue | undefined): JsonObject {
  if (data === undefined) return {};
  const sizeBytes = utf8Bytes(JSON.stringify(data));
  return sizeBytes <= failureDataMaxBytes ? { data } : { dataBytes: sizeBytes };
}

export function cancelledTask(task: JsonObject, server: string): PollReply {
  const text = `remote task cancelled: ${messageIn(task['statusMessage']) ?? 'no reason was given'}`;
  const error = remoteError('REMOTE_TASK_CANCELLED', text, { server, state: 'cancelled' });
  return { kind: 'ended', end: { kind: 'failed', error } };
}

export function isTerminal(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Returns the poll hint. A hint of zero or less is dropped: zero has its own meaning in `StartReply`. */
export function hintOf(intervalMs: JsonValue | undefined): { readonly pollAfterMs?: number } {
  return isPositive(intervalMs) ? { pollAfterMs: Math.ceil(intervalMs) } : {};
}

/** Returns how long the server keeps the task from now on; anything that is not a duration is ignored. */
export function ttlOf(ttlMs: JsonValue | undefined): { readonly ttlMs?: number | null } {
  if (ttlMs === null) return { ttlMs };
  return isPositive(ttlMs) ? { ttlMs: wholeMs(ttlMs) } : {};
}

/** Returns a duration as a whole number that the table can hold. */
export function wholeMs(positive: number): number {
  return Math.min(Math.ceil(positive), Number.MAX_SAFE_INTEGER);
}

/** Returns what the server says of the progress of a task. */
export function noteOf(task: JsonObject): Pick<SaidOfTask, 'note' | 'progress' | 'total'> {
  const note = messageIn(task['statusMessage']);
  return { ...defined({ note }), ...amountsIn(task, task['_meta']) };
}

export function isPositive(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

/** Returns the empty text for a non-string: it is in no list of known words. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function messageIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function refused(problem: string): StartReply {
  return { kind: 'refused', error: remoteError('REMOTE_START_REFUSED', problem) };
}
