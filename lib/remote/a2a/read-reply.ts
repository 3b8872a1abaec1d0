// Meaning of an agent's answers, in every version. Pure.

import { sequenceExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteStateMaxChars } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { SaidOfTask } from '../../history/task-trail.js';
import { isUsableId } from '../endpoint/handle.js';
import { amountsIn } from '../rpc/amounts.js';
import { remoteError, unknown, unreadable, violationError } from '../rpc/remote-error.js';
import type { AnswerReply, FindReply, PollReply, RemoteEnd, StartReply } from '../transport.js';
import type { TaskOrigin } from './interface.js';
import { normalMessage, normalTask } from './normal-form.js';
import { contextPageSize } from './operation.js';
import { questionsIn } from './question.js';
import { textIn } from './text.js';
import { a2aStateClass } from './task-state.js';

/** Size up to which artifacts of a failed task are kept in the error; of larger ones only number and size are kept. */
const failureArtifactsMaxBytes = 64 * 1024;

/**
 * Reads the result of SendMessage, or the first event of its stream: exactly one of `task` and `message` (section
 * 3.2.2), which may also come bare, as in 0.3. `contextId`: the one that was sent, if any; a server that cannot keep it
 * must refuse it (section 3.4.1).
 */
export function readSendResult(result: JsonValue, origin: TaskOrigin, contextId?: string): SendReply {
  const sent = sentIn(result);
  switch (sent.kind) {
    case 'nothing':
      return unknown(sent.problem);
    case 'message':
      return readMessage(sent.message, origin);
    case 'update': {
      const handle = handleOf(sent.update['taskId'], sent.update['contextId'], origin);
      if (handle === undefined) return unknown('the event has no usable taskId');
      return isElsewhere(sent.update, contextId) ?? { kind: 'started', handle };
    }
    case 'task':
      return isElsewhere(sent.task, contextId) ?? readStartedTask(sent.task, origin);
  }
}

function isElsewhere(task: JsonValue, contextId: string | undefined): StartReply | undefined {
  if (contextId === undefined || !isJsonObject(task) || task['contextId'] === contextId) return undefined;
  return unknown('the task is not in the requested context');
}

type Sent =
  | { readonly kind: 'task'; readonly task: JsonValue }
  | { readonly kind: 'message'; readonly message: JsonValue }
  /** Event of a stream that names its task. */
  | { readonly kind: 'update'; readonly update: JsonObject }
  | { readonly kind: 'nothing'; readonly problem: string };

function sentIn(result: JsonValue): Sent {
  if (!isJsonObject(result)) return { kind: 'nothing', problem: 'the result of SendMessage is not an object' };
  const { task, message } = result;
  if (task !== undefined && message !== undefined)
    return { kind: 'nothing', problem: 'the result of SendMessage has both task and message' };
  if (task !== undefined) return { kind: 'task', task };
  if (message !== undefined) return { kind: 'message', message };
  const { statusUpdate = result['artifactUpdate'] } = result;
  if (isJsonObject(statusUpdate)) return { kind: 'update', update: statusUpdate };
  if (result['kind'] === 'status-update' || result['kind'] === 'artifact-update')
    return { kind: 'update', update: result };
  if (isJsonObject(result['status'])) return { kind: 'task', task: result };
  if (result['messageId'] !== undefined) return { kind: 'message', message: result };
  return { kind: 'nothing', problem: 'the result of SendMessage has neither task nor message' };
}

/** Reads a task as the answer to a start, or to a read that takes it over. */
export function readStartedTask(came: JsonValue, origin: TaskOrigin): StartReply {
  const handle = isJsonObject(came) ? handleOf(came['id'], came['contextId'], origin) : undefined;
  if (!isJsonObject(came) || handle === undefined) return unknown('the task has no usable id');
  const task = normalTask(came);
  const end = endOf(task, handle);
  if (end !== undefined) return { kind: 'ended', end, handle };
  const questions = questionsIn(task);
  return {
    kind: 'started',
    handle,
    state: displayState(stateOf(task)),
    ...defined({ note: noteOf(task), questions: questions.length === 0 ? undefined : questions }),
    ...amountsOf(task),
  };
}

/**
 * Reads a message, which is a complete answer. If it names a task, it may be a note on work that continues: `mayRun` is
 * the handle of that task, and one read of it decides.
 */
function readMessage(message: JsonValue, origin: TaskOrigin): SendReply {
  if (!isJsonObject(message) || !Array.isArray(message['parts'])) return unknown('the message has no parts');
  const answer = { kind: 'ended', end: { kind: 'completed', result: normalMessage(message), isError: false } } as const;
  const { taskId } = message;
  if (taskId === undefined || taskId === null || taskId === '') return answer;
  const mayRun = handleOf(taskId, message['contextId'], origin);
  return mayRun === undefined ? answer : { ...answer, mayRun };
}

/** Reply to a start. `mayRun`: the task that the answer names, which may still be running. */
export type SendReply = StartReply & { readonly mayRun?: RemoteTaskHandle };

/** Whether a task is reported as completed with nothing in it: no artifacts, no message, no history. */
export function isEmptyEnd(end: RemoteEnd): boolean {
  if (end.kind !== 'completed' || !isJsonObject(end.result)) return false;
  const { artifacts, history, status } = end.result;
  const message = isJsonObject(status) ? status['message'] : undefined;
  return [artifacts, history, isJsonObject(message) ? message['parts'] : undefined].every(
    (list) => !Array.isArray(list) || list.length === 0,
  );
}

/** Whether a task is reported as completed without artifacts: the agent's answer may be only in its history. */
export function lacksArtifacts(end: RemoteEnd): boolean {
  if (end.kind !== 'completed' || !isJsonObject(end.result)) return false;
  const { artifacts, history, parts } = end.result;
  return [artifacts, history, parts].every((list) => !Array.isArray(list) || list.length === 0);
}

export function handleOf(
  id: JsonValue | undefined,
  contextId: JsonValue | undefined,
  origin: TaskOrigin,
): RemoteTaskHandle | undefined {
  if (!isUsableId(id)) return undefined;
  return { ...origin, taskId: id, ...defined({ contextId: isUsableId(contextId) ? contextId : undefined }) };
}

/**
 * Reads the result of GetTask for the task of `handle`, bare or as `{ task }`. The state of another task settles
 * nothing.
 */
export function readTask(result: JsonValue, handle: RemoteTaskHandle): PollReply {
  const came = unwrappedTask(result);
  if (!isJsonObject(came)) return unreadable('the task is not an object');
  if (came['id'] !== handle.taskId) return unreadable('the task is not the one requested');
  const task = normalTask(came);
  const end = endOf(task, handle);
  if (end !== undefined) return { kind: 'ended', end };
  const note = noteOf(task);
  const questions = questionsIn(task);
  return {
    kind: 'working',
    state: displayState(stateOf(task)),
    ...defined({ note, questions: questions.length === 0 ? undefined : questions, generation: generationOf(task) }),
    ...amountsOf(task),
  };
}

/** Returns the number of the last change of a task, as 1.1 or our extension show it. 0 says that none are counted. */
function generationOf({ generation, metadata }: JsonObject): number | undefined {
  const ours = isJsonObject(metadata) ? metadata[sequenceExtension] : undefined;
  const shown = generation ?? (isJsonObject(ours) ? ours['generation'] : undefined);
  const count = typeof shown === 'string' && /^\d{1,15}$/.test(shown) ? Number(shown) : shown;
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : undefined;
}

/** Unwraps the task of GetTask, which some servers wrap like that of SendMessage. */
export function unwrappedTask(result: JsonValue): JsonValue {
  return isJsonObject(result) && isJsonObject(result['task']) && result['id'] === undefined ? result['task'] : result;
}

/**
 * Reads the result of SendMessage to a task that asked. A different task means that the server wrongly made a new
 * one from the answer.
 */
export function readAnswerResult(result: JsonValue, handle: RemoteTaskHandle): AnswerReply {
  const sent = sentIn(result);
  switch (sent.kind) {
    case 'nothing':
      return { kind: 'retry', error: violationError(sent.problem) };
    case 'message':
    case 'update':
      return { kind: 'done' };
    case 'task':
      return isJsonObject(sent.task) && sent.task['id'] === handle.taskId
        ? { kind: 'done' }
        : { kind: 'refused', error: violationError('the answer to a question went to another task') };
  }
}

/** Reads the result of ListTasks for the context of a start: its task, if there is exactly one. */
export function readTaskList(
  result: JsonValue,
  { contextId, messageId }: { readonly contextId: string; readonly messageId: string },
  origin: TaskOrigin,
): FindReply {
  if (!isJsonObject(result) || !Array.isArray(result['tasks'])) return unknown('the result of ListTasks has no tasks');
  const listed = result['tasks'] as readonly JsonValue[];
  // Filters again: a server that knows no contexts lists the tasks of all callers.
  const ours = listed.filter(isJsonObject).filter((task) => task['contextId'] === contextId);
  const started = ours.filter((task) => holdsMessage(task['history'], messageId));
  const candidates = started.length > 0 ? started : ours;
  const [only] = candidates;
  if (only === undefined)
    return listed.length < contextPageSize ? { kind: 'none' } : unknown('ListTasks ignores the context');
  if (candidates.length > 1) return unknown('more than one task is in the context of the start');
  const handle = handleOf(only['id'], contextId, origin);
  return handle === undefined ? unknown('the task has no usable id') : { kind: 'found', handle };
}

function holdsMessage(history: JsonValue | undefined, messageId: string): boolean {
  return (
    Array.isArray(history) &&
    (history as readonly JsonValue[]).some((message) => isJsonObject(message) && message['messageId'] === messageId)
  );
}

function endOf(task: JsonObject, { server, taskId }: RemoteTaskHandle): RemoteEnd | undefined {
  const state = stateOf(task);
  switch (a2aStateClass(state)) {
    case 'active':
    case 'input_required':
    case 'auth_required':
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

/** Returns the artifacts of a failed task as details, as long as the error stays small. */
function artifactsFor({ artifacts }: JsonObject): JsonObject {
  if (!Array.isArray(artifacts) || artifacts.length === 0) return {};
  const artifactBytes = utf8Bytes(JSON.stringify(artifacts));
  if (artifactBytes > failureArtifactsMaxBytes) return { artifactCount: artifacts.length, artifactBytes };
  return { artifacts: artifacts as readonly JsonValue[] };
}

/** Returns the text of the last status message (section 4.1.2). */
function reasonOf(task: JsonObject): string | undefined {
  return isJsonObject(task['status']) ? textIn(task['status']['message']) : undefined;
}

/** Returns the agent's note on progress, with the generation of the task (1.1) if the agent counts them. */
function noteOf(task: JsonObject): string | undefined {
  const text = a2aStateClass(stateOf(task)) === 'active' ? reasonOf(task) : undefined;
  const { generation } = task;
  if (typeof generation !== 'number') return text;
  return text === undefined ? `generation ${generation}` : `${text} (generation ${generation})`;
}

/** Returns the progress as a number: from the data of the status message, its metadata, or that of the task. */
function amountsOf({ status, metadata }: JsonObject): Pick<SaidOfTask, 'progress' | 'total'> {
  const message = isJsonObject(status) ? status['message'] : undefined;
  const { parts, metadata: ofMessage } = isJsonObject(message) ? message : {};
  const data = Array.isArray(parts)
    ? (parts as readonly JsonValue[]).map((part) => (isJsonObject(part) ? part['data'] : undefined))
    : [];
  return amountsIn(...data, ofMessage, metadata);
}

function stateOf(task: JsonObject): JsonValue | undefined {
  return isJsonObject(task['status']) ? task['status']['state'] : undefined;
}

/** Returns a state for display, in the agent's words. */
export function displayState(state: JsonValue | undefined): string {
  const text = typeof state === 'string' ? state : JSON.stringify(state ?? null);
  return text.slice(0, remoteStateMaxChars);
}
