import { defined } from '../../base/defined.js';
import { hasCode } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import { isFinal, type ServedTask, type TaskMessage, type TaskState } from '../task/served-task.js';
import type { Visit } from './call.js';
import { textOf } from './tool-result.js';

/** Yields a notification for each message of the workflow, until the task has ended or asks, or the call has to be answered. */
export async function* progressOf(
  { taskId, generation, status }: ServedTask,
  progressToken: string | number,
  { tasks, endpoint, signal }: Visit,
): AsyncGenerator<JsonObject, undefined> {
  if (isAsking(status.state)) return undefined;
  const over = new AbortController();
  const withdraw = endpoint.timer(endpoint.promptMaxMs, () => {
    over.abort();
  });
  let progress = -1;
  try {
    const source = tasks.follow(taskId, {
      afterGeneration: generation,
      untilMs: endpoint.clock.nowMs() + endpoint.promptMaxMs,
      signal: AbortSignal.any([signal, over.signal]),
    });
    for await (const event of source) {
      if (event.kind !== 'status') continue;
      const { state, message } = event.status;
      if (isFinal(state) || isAsking(state)) return undefined;
      if (message === undefined) continue;
      const said = progressIn(message);
      progress = Math.max(said.progress ?? 0, progress + (said.progress === undefined ? 1 : 0));
      yield { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...said.more, progress } };
    }
  } catch (error) {
    // The task has ended meanwhile.
    if (!hasCode(error, 'TASK_ENDED')) throw error;
  } finally {
    withdraw();
  }
  return undefined;
}

function isAsking(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** Data with the fields of the notification are these; anything else is its text. */
function progressIn(message: TaskMessage): { readonly progress?: number; readonly more: JsonObject } {
  const data = message.parts.flatMap((part) => ('data' in part ? [part.data] : []))[0];
  if (!isJsonObject(data) || typeof data['progress'] !== 'number') return { more: { message: textOf(message) ?? '' } };
  const { progress, total, message: text } = data;
  return {
    progress,
    more: defined({
      total: typeof total === 'number' ? total : undefined,
      message: typeof text === 'string' ? text : undefined,
    }),
  };
}
