import { hasCode } from '../base/errors.js';
import type { ServedTask } from './task/served-task.js';
import type { Tasks, Wait } from './tasks.js';

/**
 * Waits for a task that is there, and returns it as it then is: a store that fails now is no reason for its client to send
 * again. @throws what `waitFor` throws otherwise
 */
export async function rested(tasks: Pick<Tasks, 'waitFor'>, task: ServedTask, wait: Wait): Promise<ServedTask> {
  try {
    return await tasks.waitFor(task.taskId, wait);
  } catch (error) {
    if (!hasCode(error, 'STORE_UNAVAILABLE')) throw error;
    return task;
  }
}
