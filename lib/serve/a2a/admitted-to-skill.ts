import { EngineError } from '../../base/errors.js';
import type { Admitted } from '../admitted.js';
import type { PushConfigs } from '../push-configs.js';
import { taskNotFound } from '../task-not-found.js';
import type { ServedTask } from '../task/served-task.js';
import type { Tasks } from '../tasks.js';

/** Reads a task of the skill. @throws EngineError `TASK_NOT_FOUND` for one of another skill */
type ReadOwn = (taskId: string) => Promise<ServedTask>;

/** Returns what a caller reaches at the agent of one skill: a task of another skill is not found. */
export function admittedToSkill({ tasks, pushConfigs, ...more }: Admitted, skill: string): Admitted {
  const own: ReadOwn = async (taskId) => {
    const task = await tasks.read(taskId);
    if (task.skill !== skill) throw taskNotFound();
    return task;
  };
  return {
    ...more,
    tasks: tasksOfSkill(tasks, skill, own),
    pushConfigs: pushConfigs && pushConfigsOfSkill(pushConfigs, own),
  };
}

function tasksOfSkill(tasks: Tasks, skill: string, own: ReadOwn): Tasks {
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
    waitFor: (taskId, wait) => tasks.waitFor(taskId, wait),
    async *follow(taskId, options) {
      await own(taskId);
      yield* tasks.follow(taskId, options);
    },
  };
}

function pushConfigsOfSkill(configs: PushConfigs, own: ReadOwn): PushConfigs {
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
      await configs.remove(taskId, id);
    },
  };
}
