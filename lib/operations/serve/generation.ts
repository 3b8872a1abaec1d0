import type { Commit } from '../../history/event.js';
import { TaskFold, type ServedHead } from '../../serve/task/fold-task.js';

/** Returns the generation of a task after the commits of one of its runs. */
export function generationAfter(head: ServedHead, commits: readonly Commit[]): number {
  const fold = new TaskFold(head);
  for (const commit of commits) fold.applyCommit(commit);
  return fold.generation;
}
