// What the answers of an agent mean, in whatever version they came. Pure.

import { defined } from '../../base/defined.js';
import { isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteStateMaxChars } from '../../base/limits.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import { isUsableId } from '../endpoint/handle.js';
import { remoteError, unknown, unreadable, violationError } from '../rpc/remote-error.js';
import type { AnswerReply, FindReply, PollReply, RemoteEnd, StartReply } from '../transport.js';
import type { TaskOrigin } from './interface.js';
import { normalMessage, normalTask } from './normal-form.js';
import { contextPageSize } from './operation.js';
import { questionsIn } from './question.js';
import { textIn } from './text.js';
import { a2aStateClass } from './task-state.js';

/** Artifacts of a failed task are kept in the error up to this size; of larger ones only how many and how large. */
const failureArtifactsMaxBytes = 64 * 1024;

/**
 * The result of SendMessage, or the first event of its stream: exactly one of `task` and `message` (section 3.2.2); either may also come bare, as in 0.3.
 * `contextId`: the one that was sent, if any. A server that cannot keep it has to refuse it (section 3.4.1).
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
  return unknown('the task is not in the context that was asked for');
}

type Sent =
  | { readonly kind: 'task'; readonly task: JsonValue }
  | { readonly kind: 'message'; readonly message: JsonValue }
  /** Of a stream: an event that names its task. */
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

/** A task as the answer to a start, or to a read that takes it over. */
export function readStartedTask(came: JsonValue, origin: TaskOrigin): StartReply {
  const handle = isJsonObject(came) ? handleOf(came['id'], came['contextId'], origin) : undefined;
  if (!isJsonObject(came) || handle === undefined) return unknown('the task has no usable id');
  const task = normalTask(came);
  const end = endOf(task, handle);
  if (end !== undefined) return { kind: 'ended', end, handle };
  const questions = questionsIn(task);
  return { kind: 'started', handle, ...defined({ questions: questions.length === 0 ? undefined : questions }) };
}

/**
 * A message is a complete answer. One that speaks of a task may be a note on work that goes on: `mayRun` is the handle of
 * that task, and one read of it decides.
 */
function readMessage(message: JsonValue, origin: TaskOrigin): SendReply {
  if (!isJsonObject(message) || !Array.isArray(message['parts'])) return unknown('the message has no parts');
  const answer = { kind: 'ended', end: { kind: 'completed', result: normalMessage(message), isError: false } } as const;
  const { taskId } = message;
  if (taskId === undefined || taskId === null || taskId === '') return answer;
  const mayRun = handleOf(taskId, message['contextId'], origin);
  return mayRun === undefined ? answer : { ...answer, mayRun };
}

/** `mayRun`: the answer names this task, which may still be under way. */
export type SendReply = StartReply & { readonly mayRun?: RemoteTaskHandle };

/** A task that is said to be completed and has nothing in it: neither artifacts, nor a message, nor history. */
export function isEmptyEnd(end: RemoteEnd): boolean {
  if (end.kind !== 'completed' || !isJsonObject(end.result)) return false;
  const { artifacts, history, status } = end.result;
  const message = isJsonObject(status) ? status['message'] : undefined;
  return [artifacts, history, isJsonObject(message) ? message['parts'] : undefined].every(
    (list) => !Array.isArray(list) || list.length === 0,
  );
}

/** A task that is said to be completed, without artifacts: what the agent said may be in its history alone. */
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

/** The result of GetTask for the task of `handle`, bare or as `{ task }`. Another task's state settles nothing. */
export function readTask(result: JsonValue, handle: RemoteTaskHandle): PollReply {
  const came = unwrappedTask(result);
  if (!isJsonObject(came)) return unreadable('the task is not an object');
  if (came['id'] !== handle.taskId) return unreadable('the task is not the one that was asked for');
  const task = normalTask(came);
  const end = endOf(task, handle);
  if (end !== undefined) return { kind: 'ended', end };
  const note = noteOf(task);
  const questions = questionsIn(task);
  return {
    kind: 'working',
    state: displayState(stateOf(task)),
    ...defined({ note, questions: questions.length === 0 ? undefined : questions }),
  };
}

/** Some servers wrap the task of GetTask as that of SendMessage. */
export function unwrappedTask(result: JsonValue): JsonValue {
  return isJsonObject(result) && isJsonObject(result['task']) && result['id'] === undefined ? result['task'] : result;
}

/** The result of SendMessage to a task that had asked. Another task in it has been made of the answer by mistake. */
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

/** The result of ListTasks for the context of a start: its task, if there is exactly one. */
export function readTaskList(
  result: JsonValue,
  { contextId, messageId }: { readonly contextId: string; readonly messageId: string },
  origin: TaskOrigin,
): FindReply {
  if (!isJsonObject(result) || !Array.isArray(result['tasks'])) return unknown('the result of ListTasks has no tasks');
  const listed = result['tasks'] as readonly JsonValue[];
  // A server that knows no contexts lists everybody's tasks.
  const ours = listed.filter(isJsonObject).filter((task) => task['contextId'] === contextId);
  const started = ours.filter((task) => holdsMessage(task['history'], messageId));
  const candidates = started.length > 0 ? started : ours;
  const [only] = candidates;
  if (only === undefined)
    return listed.length < contextPageSize ? { kind: 'none' } : unknown('ListTasks does not look at the context');
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

/** Artifacts of a failed task are worth keeping as long as the error stays small. */
function artifactsFor({ artifacts }: JsonObject): JsonObject {
  if (!Array.isArray(artifacts) || artifacts.length === 0) return {};
  const artifactBytes = utf8Bytes(JSON.stringify(artifacts));
  if (artifactBytes > failureArtifactsMaxBytes) return { artifactCount: artifacts.length, artifactBytes };
  return { artifacts: artifacts as readonly JsonValue[] };
}

/** Text of the last status message (section 4.1.2). */
function reasonOf(task: JsonObject): string | undefined {
  return isJsonObject(task['status']) ? textIn(task['status']['message']) : undefined;
}

/** How far the work is: what the agent says, and which generation of the task that is (1.1), where it counts them. */
function noteOf(task: JsonObject): string | undefined {
  const text = a2aStateClass(stateOf(task)) === 'active' ? reasonOf(task) : undefined;
  const { generation } = task;
  if (typeof generation !== 'number') return text;
  return text === undefined ? `generation ${generation}` : `${text} (generation ${generation})`;
}

function stateOf(task: JsonObject): JsonValue | undefined {
  return isJsonObject(task['status']) ? task['status']['state'] : undefined;
}

/** A state for display, in the words of the agent. */
export function displayState(state: JsonValue | undefined): string {
  const text = typeof state === 'string' ? state : JSON.stringify(state ?? null);
  return text.slice(0, remoteStateMaxChars);
}
