import { EngineError } from '../../base/errors.js';
import type { ServedHead } from '../../serve/task/fold-task.js';
import type { Deps } from '../deps.js';
import { pushAt } from '../wake.js';
import { generationAfter } from './generation.js';

/** Tries to note what is owed on configs that change meanwhile. */
const triesMax = 8;

/**
 * Raises on each push config of the task what it owes, to the generation after the commits of the run, and marks it as
 * due. A task without configs costs one small query. @throws EngineError `STORE_UNAVAILABLE` if they keep changing
 */
export async function raiseOwed(deps: Deps, { runId, task }: ServedHead): Promise<void> {
  const taskId = task.firstRunId ?? runId;
  const store = await deps.store.pushConfigs();
  let generation: number | undefined;
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const open = await store.readOpen(taskId);
    if (open.length === 0) return;
    generation ??= await generationOf(deps, runId);
    const owed = generation;
    const behind = open.filter((state) => Math.max(state.owed, state.cursor) < owed);
    const nowMs = deps.clock.nowMs();
    const noted = await Promise.all(
      behind.map(async (state) => {
        if (!(await store.owe(state, owed, nowMs))) return false;
        const { configId } = state;
        if (state.dueAtMs === undefined) await pushAt(deps, { kind: 'push', runId: taskId, configId }, nowMs);
        return true;
      }),
    );
    if (noted.every(Boolean)) return;
  }
  // The turn keeps its markers then, and comes back.
  throw new EngineError('STORE_UNAVAILABLE', 'owed pushes were not noted: the configs keep changing');
}

async function generationOf(deps: Deps, runId: string): Promise<number> {
  const records = await deps.store.runs.readAfter(runId, 0, []);
  const task = records?.head.task;
  return records === undefined || task === undefined ? 0 : generationAfter({ ...records.head, task }, records.commits);
}
