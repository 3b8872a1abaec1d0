import type { RunRecords } from '../../history/records.js';
import type { EpochMs } from '../../base/time.js';
import { TaskFold } from '../../serve/task/fold-task.js';
import type { ServedTask, TaskEvent, TaskStatus } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { messagesOf, withMessages } from './read-task.js';

/** An event that is pushed, or none: then only the cursor moves. */
export interface TaskNews {
  readonly generation: number;
  /** When it was committed. */
  readonly atMs: EpochMs;
  /** A state, or an artifact that is complete, with all its parts. */
  readonly event: TaskEvent;
  /** Returns the task, in no later state than that of the event. */
  readonly task: () => ServedTask;
}

/**
 * Yields what is pushed of a task after a generation: its states and its complete artifacts, in order. Returns the
 * generation up to which the commits that were read go; undefined if the task is gone.
 */
export async function* newsAfter(
  deps: Deps,
  taskId: string,
  generation: number,
): AsyncGenerator<TaskNews, number | undefined> {
  const first = await deps.store.runs.readAfter(taskId, 0, []);
  const task = first?.head.task;
  if (first === undefined || task === undefined) return undefined;
  const fold = new TaskFold({ ...first.head, task });
  let status: TaskStatus = fold.task.status;
  let records: RunRecords | undefined = await withMessages(deps, first, fold);
  while (records !== undefined) {
    const messageOf = messagesOf(records);
    for (const commit of records.commits) {
      for (const event of fold.applyCommit(commit, messageOf)) {
        if (event.kind === 'status') ({ status } = event);
        const told = event.generation > generation ? toldOf(event, fold) : undefined;
        if (told === undefined) continue;
        const current = status;
        yield {
          generation: told.generation,
          atMs: commit.events.at(-1)?.atMs ?? 0,
          event: told,
          task: () => ({ ...fold.task, status: current, generation: told.generation }),
        };
      }
    }
    const { nextRunId } = fold;
    const next: RunRecords | undefined = nextRunId === undefined ? undefined : await deps.store.runs.read(nextRunId);
    if (next !== undefined) fold.continueWith(next.head);
    records = next;
  }
  return fold.generation;
}

/** A part of an artifact is not told: receivers get it whole, once it is complete. */
function toldOf(event: TaskEvent, fold: TaskFold): TaskEvent | undefined {
  if (event.kind === 'status') return event;
  if (!event.lastChunk) return undefined;
  const { artifactId } = event.artifact;
  const whole = fold.task.artifacts.find((artifact) => artifact.artifactId === artifactId) ?? event.artifact;
  return { ...event, artifact: whole, append: false };
}
