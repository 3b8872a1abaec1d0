// MCP revision 2026-07-28 with the tasks extension: what is sent, and what the answers mean. Pure.

import { defined } from '../../base/defined.js';
import { isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { WireCall } from '../endpoint/endpoint.js';
import { isUsableId } from '../endpoint/handle.js';
import { remoteError, unknown, unreadable } from '../rpc/remote-error.js';
import type { PollReply, RemoteAnswer, StartReply } from '../transport.js';
import { taskForJob, type ToolStart } from './dialect.js';
import { inputResponse, readInputRequests } from './elicitation.js';
import { mcpHeaderValue } from './header-value.js';
import { readToolResult } from './tool-result.js';

/** What a server adds to the error of a failed task; of larger data only the size is kept. */
const failureDataMaxBytes = 16 * 1024;
/** The opaque state of a start that asks; it is stored until the answers are sent. */
const requestStateMaxBytes = 64 * 1024;

export const mcpWire = '2026-07-28';

/** Invalid params; of `tasks/*`: the task is unknown or expired. */
export const invalidParamsCode = -32602;
export const methodUnknownCode = -32601;
/** A header is missing or differs from the body. */
export const headerMismatchCode = -32020;
export const missingCapabilityCode = -32021;
/** `data.supported` names the revisions that the server speaks. */
export const versionUnsupportedCode = -32022;

export const tasksExtension = 'io.modelcontextprotocol/tasks';
/** In `capabilities.extensions` of a server: a repeated start with the same key gets the task that is there. */
export const dedupesExtension = 'dev.outwait/dedupes';

export const clientInfo = { name: 'outwait', version: '0.1.0' };

/**
 * Names a session that there is not. A server of this revision ignores it. Some of an older one open a session for every
 * request that names none, and when they end it, for this is no handshake, no session of theirs begins tasks any more.
 */
export function serverDiscover(): WireCall {
  const { headers, ...call } = wireCall('server/discover', undefined, {});
  return { ...call, headers: { ...headers, 'mcp-session-id': 'none' } };
}

export function toolsList(cursor?: string): WireCall {
  return wireCall('tools/list', undefined, cursor === undefined ? {} : { cursor });
}

/** `Mcp-Param-*` headers are for tools that ask for them. */
export type ToolsCall = Omit<ToolStart, 'idempotencyKey'> & {
  /** Missing of a call that only asks. */
  readonly idempotencyKey?: string;
  readonly paramHeaders?: Readonly<Record<string, string>>;
};

/** Starts a tool, or repeats the start with answers. The server alone decides if it answers with a task. */
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
    meta: idempotencyKey === undefined ? {} : { 'dev.outwait/idempotencyKey': idempotencyKey },
  });
  const key = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  return { ...made, headers: { ...made.headers, ...key, ...call.paramHeaders } };
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
        // Without elicitation a server knows that nobody answers, and does not ask.
        'io.modelcontextprotocol/clientCapabilities': {
          ...defined({ elicitation: answersQuestions ? { form: {}, url: {} } : undefined }),
          // Without tasks a server answers with the result, which is what a job is read from.
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

/** The result of `tools/call` (tasks extension, CreateTaskResult). A reply without a usable shape may belong to running work. */
export function readCallResult(
  result: JsonValue,
  server: string,
  { answersQuestions = false, tool, job }: Partial<Pick<ToolStart, 'answersQuestions' | 'tool' | 'job'>> = {},
): StartReply {
  if (!isJsonObject(result)) return unknown('the result of the call is not an object');
  // Servers of older revisions send none.
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

/** Nothing runs between the rounds of such a question, so a bad one leaves nothing behind. */
function readQuestions({ inputRequests, requestState: state }: JsonObject): StartReply {
  const { questions, unanswerable } = readInputRequests(inputRequests);
  if (state !== undefined && typeof state !== 'string')
    return refused('the server asks with a requestState that is no text');
  if (state !== undefined && utf8Bytes(state) > requestStateMaxBytes)
    return refused(`the server asks with a requestState of more than ${requestStateMaxBytes} bytes`);
  if (questions.length === 0 && unanswerable.length > 0)
    return refused(`the server asks for what nobody here answers: ${unanswerable.join(', ')}`);
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
  // The reply to the call never carries the result, so it is read at once.
  return { kind: 'started', handle, ...(isTerminal(status) ? { pollAfterMs: 0 } : hintOf(task['pollIntervalMs'])) };
}

/** The result of `tasks/get` for the task `taskId`. Whatever is not exactly a state of this task settles nothing. */
export function readTask(task: JsonValue, taskId: string, server: string): PollReply {
  if (!isJsonObject(task)) return unreadable('the task is not an object');
  const { resultType = 'complete' } = task;
  // Two examples of the extension show `task` here; the id decides.
  if (resultType !== 'complete' && resultType !== 'task') return unreadable('the task has an unknown resultType');
  if (task['taskId'] !== taskId) return unreadable('the task is not the one that was asked for');
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

/** A task that ended with a JSON-RPC error. The server's own words come first, and nothing of the error is lost. */
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

/** A hint of zero or less is none: zero has a meaning of its own in `StartReply`. */
export function hintOf(intervalMs: JsonValue | undefined): { readonly pollAfterMs?: number } {
  return isPositive(intervalMs) ? { pollAfterMs: Math.ceil(intervalMs) } : {};
}

/** How long the server keeps the task from now on; what is no length of time is not heard. */
export function ttlOf(ttlMs: JsonValue | undefined): { readonly ttlMs?: number | null } {
  if (ttlMs === null) return { ttlMs };
  return isPositive(ttlMs) ? { ttlMs: wholeMs(ttlMs) } : {};
}

/** A length of time as a number that the table can hold, which not every one is. */
export function wholeMs(positive: number): number {
  return Math.min(Math.ceil(positive), Number.MAX_SAFE_INTEGER);
}

export function noteOf(task: JsonObject): { readonly note?: string } {
  const note = messageIn(task['statusMessage']);
  return note === undefined ? {} : { note };
}

export function isPositive(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

/** The empty text for what is no text: it is in no list of known words. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function messageIn(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function refused(problem: string): StartReply {
  return { kind: 'refused', error: remoteError('REMOTE_START_REFUSED', problem) };
}
