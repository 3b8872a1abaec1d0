import { EngineError } from '../../base/errors.js';
import type { ServedTask } from '../task/served-task.js';
import type { Tasks } from '../tasks.js';

/** Returns the tasks of a caller as the agent of one skill shows them: a task of another skill is not found. */
export function tasksOfSkill(tasks: Tasks, skill: string): Tasks {
  const own = async (taskId: string): Promise<ServedTask> => {
    const task = await tasks.read(taskId);
    if (task.skill !== skill) throw new EngineError('TASK_NOT_FOUND', 'there is no such task');
    return task;
  };
  return {
    async send(request, until) {
      if (request.skill !== undefined && request.skill !== skill)
        throw new EngineError('INPUT_INVALID', `this is the endpoint of "${skill}"; the message names another skill`);
      if (request.taskId !== undefined) await own(request.taskId);
      return tasks.send(request, until);
    },
    read: own,
    list: (request) => tasks.list({ ...request, skill }),
    async cancel(taskId, options) {
      await own(taskId);
      return tasks.cancel(taskId, options);
    },
    // Only for tasks that have been sent a message or read here.
    waitFor: (...asked) => tasks.waitFor(...asked),
    async *follow(taskId, options) {
      await own(taskId);
      yield* tasks.follow(taskId, options);
    },
  };
}
