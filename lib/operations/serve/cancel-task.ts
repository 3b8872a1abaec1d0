import { EngineError } from '../../base/errors.js';
import { isFinal, type ServedTask } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { askToStop } from '../requests/stop-run.js';
import { readTask } from './read-task.js';
import { type Pausing, untilFinal } from './watch-task.js';

/**
 * Cancels a task, and waits for its end (default: 2 s). A task that is canceled already is returned as it is.
 * @throws EngineError `TASK_NOT_FOUND`; `TASK_ENDED` if it ended in another way; `STORE_UNAVAILABLE` while it is about to
 * end
 */
export async function cancelTask(deps: Deps, taskId: string, pausing?: Pausing): Promise<ServedTask> {
  const { fold } = await readTask(deps, taskId);
  if (!isFinal(fold.state)) {
    const { accepted } = await askToStop(deps, { runId: taskId, kind: 'cancel', requestId: 'task' });
    const after = await untilFinal(deps, taskId, accepted ? pausing : undefined);
    if (after.state === 'canceled' || (accepted && !isFinal(after.state))) return after.task;
    if (isFinal(after.state)) throw ended(after.state);
    throw new EngineError('STORE_UNAVAILABLE', 'the task is about to end');
  }
  if (fold.state === 'canceled') return fold.task;
  throw ended(fold.state);
}

function ended(state: string): EngineError {
  return new EngineError('TASK_ENDED', `the task has ended: it is ${state}`);
}
