// A2A 1.0 over JSON-RPC: what is sent, and what the answers mean. Pure.

import type { StoredError } from '../../base/errors.js';
import { isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { failureArtifactsMaxBytes, remoteIdMaxBytes, remoteStateMaxChars } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { WireCall } from '../endpoint.js';
import { remoteError, violationError } from '../remote-error.js';
import type { PollReply, RemoteEnd, StartReply } from '../transport.js';
import { a2aStateClass } from './task-state.js';

export const a2aWire = '1.0';
export const taskNotFoundCode = -32001;
export const taskNotCancelableCode = -32002;

export interface SendParams {
  readonly parts: readonly JsonObject[];
  /** The same on every attempt of one call: a server may dedupe by it (section 3.3.1). */
  readonly messageId: string;
  readonly idempotencyKey: string;
  readonly tenant: string | undefined;
}

/** Starts work. `returnImmediately`, because its default is to wait for the end. */
export function sendMessage({ parts, messageId, idempotencyKey, tenant }: SendParams): WireCall {
  const call = wireCall('SendMessage', tenant, {
    message: { messageId, role: 'ROLE_USER', parts },
    configuration: {
      returnImmediately: true,
      historyLength: 0,
      acceptedOutputModes: ['application/json', 'text/plain'],
    },
  });
  return { ...call, headers: { ...call.headers, 'idempotency-key': idempotencyKey } };
}

/** A2A skills have no input schema; one data part with both is a convention. */
export function skillParts(skill: string, args: JsonValue): readonly JsonObject[] {
  return [{ data: { skill, arguments: args }, mediaType: 'application/json' }];
}

export function getTask(taskId: string, tenant: string | undefined): WireCall {
  return wireCall('GetTask', tenant, { id: taskId, historyLength: 0 });
}

export function cancelTask(taskId: string, tenant: string | undefined): WireCall {
  return wireCall('CancelTask', tenant, { id: taskId });
}

function wireCall(method: string, tenant: string | undefined, params: JsonObject): WireCall {
  return {
    method,
    params: tenant === undefined ? params : { tenant, ...params },
    headers: { 'content-type': 'application/json', accept: 'application/json', 'a2a-version': a2aWire },
  };
}

/** The result of `SendMessage`: exactly one of `task` and `message`; either may also come bare, as in 0.3. */
export function readSendResult(result: JsonValue, server: string): StartReply {
  if (!isJsonObject(result)) return unknown('the result of SendMessage is not an object');
  const wrappedTask = result['task'];
  const wrappedMessage = result['message'];
  if (wrappedTask !== undefined && wrappedMessage !== undefined)
    return unknown('the result of SendMessage has both task and message');
  if (wrappedTask !== undefined) return readStartedTask(wrappedTask, server);
  if (wrappedMessage !== undefined) return readMessage(wrappedMessage, server);
  if (isJsonObject(result['status'])) return readStartedTask(result, server);
  if (result['messageId'] !== undefined) return readMessage(result, server);
  return unknown('the result of SendMessage has neither task nor message');
}

function readStartedTask(task: JsonValue, server: string): StartReply {
  const handle = isJsonObject(task) ? handleOf(task['id'], task['contextId'], server) : undefined;
  if (!isJsonObject(task) || handle === undefined) return unknown('the task has no usable id');
  const end = endOf(task, handle);
  return end === undefined ? { kind: 'started', handle } : { kind: 'ended', end, handle };
}

/** A message is the answer, unless it speaks of a task: then it is a note on work that goes on. */
function readMessage(message: JsonValue, server: string): StartReply {
  if (!isJsonObject(message) || !Array.isArray(message['parts'])) return unknown('the message has no parts');
  const { taskId } = message;
  if (taskId === undefined || taskId === null || taskId === '') {
    return { kind: 'ended', end: { kind: 'completed', result: message, isError: false } };
  }
  const handle = handleOf(taskId, message['contextId'], server);
  return handle === undefined ? unknown('the message has no usable taskId') : { kind: 'started', handle };
}

function handleOf(
  id: JsonValue | undefined,
  contextId: JsonValue | undefined,
  server: string,
): RemoteTaskHandle | undefined {
  if (!isUsableId(id)) return undefined;
  return { server, protocol: 'a2a', wire: a2aWire, taskId: id, ...(isUsableId(contextId) ? { contextId } : {}) };
}

function isUsableId(id: JsonValue | undefined): id is string {
  return typeof id === 'string' && id !== '' && utf8Bytes(id) <= remoteIdMaxBytes;
}

/** The result of `GetTask` for the task of `handle`, bare or as `{ task }`. Another task's state settles nothing. */
export function readTask(result: JsonValue, handle: RemoteTaskHandle): PollReply {
  const task =
    isJsonObject(result) && isJsonObject(result['task']) && result['id'] === undefined ? result['task'] : result;
  if (!isJsonObject(task)) return unreadable('the task is not an object');
  if (task['id'] !== handle.taskId) return unreadable('the task is not the one that was asked for');
  const end = endOf(task, handle);
  return end === undefined ? { kind: 'working', state: displayState(stateOf(task)) } : { kind: 'ended', end };
}

function endOf(task: JsonObject, { server, taskId }: RemoteTaskHandle): RemoteEnd | undefined {
  const state = stateOf(task);
  switch (a2aStateClass(state)) {
    case 'active':
      return undefined;
    case 'completed':
      return { kind: 'completed', result: task, isError: false, taskId };
    case 'failed':
      return failed(
        'REMOTE_TASK_FAILED',
        `remote task failed: ${reasonOf(task) ?? 'no reason was given'}`,
        task,
        server,
      );
    case 'rejected':
      return failed(
        'REMOTE_TASK_REJECTED',
        `remote task failed: ${reasonOf(task) ?? 'the agent rejected it'}`,
        task,
        server,
      );
    case 'canceled':
      return failed(
        'REMOTE_TASK_CANCELLED',
        `remote task cancelled: ${reasonOf(task) ?? 'no reason was given'}`,
        task,
        server,
      );
  }
}

type EndCode = 'REMOTE_TASK_FAILED' | 'REMOTE_TASK_REJECTED' | 'REMOTE_TASK_CANCELLED';

function failed(code: EndCode, message: string, task: JsonObject, server: string): RemoteEnd {
  const details = { server, state: displayState(stateOf(task)), ...artifactsFor(task) };
  return { kind: 'failed', error: remoteError(code, message, details) };
}

/** Artifacts of a failed task are worth keeping as long as the error stays small. */
function artifactsFor({ artifacts }: JsonObject): JsonObject {
  if (!Array.isArray(artifacts) || artifacts.length === 0) return {};
  const artifactBytes = utf8Bytes(JSON.stringify(artifacts));
  if (artifactBytes > failureArtifactsMaxBytes) return { artifactCount: artifacts.length, artifactBytes };
  return { artifacts: artifacts as readonly JsonValue[] };
}

/** Text parts of the last status message (section 4.1.2), joined by a space. */
function reasonOf(task: JsonObject): string | undefined {
  const message = isJsonObject(task['status']) ? task['status']['message'] : undefined;
  const parts = isJsonObject(message) ? message['parts'] : undefined;
  if (!Array.isArray(parts)) return undefined;
  const texts = (parts as readonly JsonValue[]).map((part) => (isJsonObject(part) ? part['text'] : undefined));
  const text = texts
    .filter((piece) => typeof piece === 'string')
    .join(' ')
    .trim();
  return text === '' ? undefined : text;
}

function stateOf(task: JsonObject): JsonValue | undefined {
  return isJsonObject(task['status']) ? task['status']['state'] : undefined;
}

function displayState(state: JsonValue | undefined): string {
  const text = typeof state === 'string' ? state : JSON.stringify(state ?? null);
  return text.slice(0, remoteStateMaxChars);
}

function unknown(problem: string): { readonly kind: 'unknown'; readonly error: StoredError } {
  return { kind: 'unknown', error: violationError(problem) };
}

function unreadable(problem: string): { readonly kind: 'unreadable'; readonly error: StoredError } {
  return { kind: 'unreadable', error: violationError(problem) };
}
