import { EngineError } from '../../base/errors.js';
import type { PushConfigs } from '../push-configs.js';
import type { ServedTask } from '../task/served-task.js';
import type { Tasks } from '../tasks.js';

/** Returns the tasks of a caller as the agent of one skill shows them: a task of another skill is not found. */
export function tasksOfSkill(tasks: Tasks, skill: string): Tasks {
  const own = async (taskId: string): Promise<ServedTask> => ownOf(tasks, skill, taskId);
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

/** Returns the push configs likewise. */
export function pushConfigsOfSkill(configs: PushConfigs, tasks: Tasks, skill: string): PushConfigs {
  const own = async (taskId: string): Promise<unknown> => ownOf(tasks, skill, taskId);
  return {
    async set(taskId, config) {
      await own(taskId);
      return configs.set(taskId, config);
    },
    async read(taskId, id) {
      await own(taskId);
      return configs.read(taskId, id);
    },
    async list(taskId, page) {
      await own(taskId);
      return configs.list(taskId, page);
    },
    async remove(taskId, id) {
      await own(taskId);
      return configs.remove(taskId, id);
    },
  };
}

async function ownOf(tasks: Tasks, skill: string, taskId: string): Promise<ServedTask> {
  const task = await tasks.read(taskId);
  if (task.skill !== skill) throw new EngineError('TASK_NOT_FOUND', 'no task has this id');
  return task;
}
