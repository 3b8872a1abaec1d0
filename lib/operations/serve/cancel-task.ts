import { EngineError } from '../../base/errors.js';
import { isFinal, type ServedTask } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { askToStop } from '../requests/stop-run.js';
import { readTask } from './read-task.js';
import { untilFinal } from './watch-task.js';

/**
 * Cancels a task, and waits for its end up to `waitMs` (default 2 s). A task that is canceled already is returned as it is.
 * @throws EngineError `TASK_NOT_FOUND`; `TASK_ENDED` if it ended in another way
 */
export async function cancelTask(
  deps: Deps,
  taskId: string,
  { waitMs }: { readonly waitMs?: number } = {},
): Promise<ServedTask> {
  const { fold } = await readTask(deps, taskId);
  if (!isFinal(fold.state)) {
    await askToStop(deps, { runId: taskId, kind: 'cancel', requestId: 'task' });
    const after = await untilFinal(deps, taskId, waitMs);
    if (after.state === 'canceled' || !isFinal(after.state)) return after.task;
    throw ended(after.state);
  }
  if (fold.state === 'canceled') return fold.task;
  throw ended(fold.state);
}

function ended(state: string): EngineError {
  return new EngineError('TASK_ENDED', `the task has ended: it is ${state}`);
}
