import { hasCode } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import { isList } from '../../base/list.js';
import type { ServedTask } from '../task/served-task.js';
import { type Answer, type Call, responseOf, tasksExtension, type Visit } from './call.js';
import { declaresTasks } from './call-tool.js';
import { badRequest, invalidParams, needsCapability } from './errors.js';
import { subscribedMax } from './limits.js';
import { detailedTask } from './task-view.js';

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';

/**
 * Subscribes to changes of tasks: first says which of them are followed, then sends each task as it is and after each
 * change, and ends with the tasks, or at the limit of time. Lists of tools change with a deployment only, and are not
 * told of.
 * @throws McpError `-32602`; `-32021` for tasks, if the client does not declare the extension
 */
export async function listen(call: Call, visit: Visit): Promise<Answer> {
  const { notifications = {} } = call.params;
  if (!isJsonObject(notifications)) throw badRequest(invalidParams, 'notifications must be an object');
  const { taskIds } = notifications;
  if (taskIds === undefined) return { kind: 'stream', messages: messages([], call, visit) };
  if (!declaresTasks(call))
    throw needsCapability({ extensions: { [tasksExtension]: {} } }, 'tasks are followed by clients that declare them');
  if (!isList(taskIds) || taskIds.length > subscribedMax || !taskIds.every((id) => typeof id === 'string'))
    throw badRequest(invalidParams, `taskIds must be a list of at most ${subscribedMax} ids`);
  const known: ServedTask[] = [];
  for (const taskId of new Set(taskIds)) {
    const task = await found(taskId, visit);
    if (task !== undefined) known.push(task);
  }
  return { kind: 'stream', messages: messages(known, call, visit), isLong: true };
}

async function found(taskId: string, { tasks }: Visit): Promise<ServedTask | undefined> {
  try {
    return await tasks.read(taskId);
  } catch (error) {
    if (hasCode(error, 'TASK_NOT_FOUND')) return undefined;
    throw error;
  }
}

async function* messages(
  known: readonly ServedTask[],
  call: Call,
  visit: Visit,
): AsyncGenerator<JsonObject, undefined> {
  const { id, capabilities } = call;
  const { endpoint, signal } = visit;
  const _meta = { [subscriptionId]: id };
  const over = new AbortController();
  const withdraw = endpoint.timer(endpoint.streamMaxMs, () => {
    over.abort();
  });
  const stop = AbortSignal.any([signal, over.signal]);
  const sources = known.map((task) => snapshots(task, visit, stop));
  try {
    const notifications = known.length === 0 ? {} : { taskIds: known.map(({ taskId }) => taskId) };
    yield notification('notifications/subscriptions/acknowledged', { notifications, _meta });
    for await (const task of merged(sources)) {
      const detailed = detailedTask(task, endpoint.clock.nowMs(), capabilities);
      yield notification('notifications/tasks', { ...detailed, _meta });
    }
    yield responseOf(id, { resultType: 'complete', _meta });
  } finally {
    withdraw();
    over.abort();
  }
  return undefined;
}

function notification(method: string, params: JsonObject): JsonObject {
  return { jsonrpc: '2.0', method, params };
}

/** Yields the task as it is, and as it is after each change that it shows. */
async function* snapshots(
  first: ServedTask,
  { tasks }: Visit,
  signal: AbortSignal,
): AsyncGenerator<ServedTask, undefined> {
  const { taskId } = first;
  let seen = first.generation;
  yield first;
  try {
    for await (const event of tasks.follow(taskId, { afterGeneration: seen, signal })) {
      if (event.kind !== 'status' || event.generation <= seen) continue;
      const task = await tasks.read(taskId);
      seen = task.generation;
      yield task;
    }
  } catch (error) {
    // The task had ended before.
    if (!hasCode(error, 'TASK_ENDED')) throw error;
  }
  return undefined;
}

/** Yields what the sources yield, as it comes, until all have ended. */
async function* merged<Value>(sources: readonly AsyncGenerator<Value, undefined>[]): AsyncGenerator<Value, undefined> {
  const next = (source: AsyncGenerator<Value, undefined>) => {
    const coming = source.next().then((came) => ({ source, came }));
    // It may fail while nothing waits for it: who waits next is told.
    coming.catch(() => undefined);
    return coming;
  };
  const pending = new Map(sources.map((source) => [source, next(source)]));
  while (pending.size > 0) {
    const { source, came } = await Promise.race(pending.values());
    if (came.done === true) pending.delete(source);
    else {
      pending.set(source, next(source));
      yield came.value;
    }
  }
  return undefined;
}
