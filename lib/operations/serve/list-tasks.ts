import type { ListRequest, TaskPage } from '../../serve/tasks.js';
import type { ServedTask } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { readTask } from './read-task.js';

/** Lists the tasks of the caller, newest status first. */
export async function listTasks(deps: Deps, request: ListRequest): Promise<TaskPage> {
  const found: ServedTask[] = [];
  for (const status of ['running', 'completed', 'failed', 'cancelled', 'terminated', 'continued'] as const)
    for (const run of (await deps.store.lists.runs({ status, tenant: deps.caller?.tenant }, 100)).rows)
      if (run.owner === deps.caller?.id) {
        const task = await readTask(deps, run.runId).catch(() => undefined);
        if (task !== undefined) found.push(task.fold.task);
      }
  found.sort((a, b) => b.status.atMs - a.status.atMs);
  return { tasks: found.slice(0, request.pageSize), totalSize: found.length };
}
