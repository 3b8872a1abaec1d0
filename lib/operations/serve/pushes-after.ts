import type { RunRecords } from '../../history/records.js';
import type { EpochMs } from '../../base/time.js';
import { TaskFold } from '../../serve/task/fold-task.js';
import { isFinal, type ServedTask, type TaskEvent, type TaskStatus } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { messagesOf, withMessages } from './read-task.js';

/** An event that is pushed, or none: then only the cursor moves. */
export interface TaskNews {
  readonly generation: number;
  /** When it was committed. */
  readonly atMs: EpochMs;
  /** A state, or an artifact that is complete, with all its parts. */
  readonly event: TaskEvent;
  /** Whether the task is pushed in place of the event: it has ended, with artifacts that were never complete. */
  readonly isWholeTask: boolean;
  /** Returns the task, in no later state than that of the event. */
  readonly task: () => ServedTask;
}

/**
 * Yields what is pushed of a task after a generation: its states and its complete artifacts, in order; its end with all
 * artifacts, if some were never complete. Returns the
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
  const incomplete = new Set<string>();
  let records: RunRecords | undefined = await withMessages(deps, first, fold);
  while (records !== undefined) {
    const messageOf = messagesOf(records);
    for (const commit of records.commits) {
      for (const event of fold.applyCommit(commit, messageOf)) {
        if (event.kind === 'status') ({ status } = event);
        else if (event.lastChunk) incomplete.delete(event.artifact.artifactId);
        else incomplete.add(event.artifact.artifactId);
        const pushed = event.generation > generation ? pushedAs(event, fold) : undefined;
        if (pushed === undefined) continue;
        const current = status;
        yield {
          generation: pushed.generation,
          atMs: commit.events.at(-1)?.atMs ?? 0,
          event: pushed,
          isWholeTask: incomplete.size > 0 && event.kind === 'status' && isFinal(status.state),
          task: () => ({ ...fold.task, status: current, generation: pushed.generation }),
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

/** Returns what is pushed of an event; undefined for a part of an artifact: receivers get it whole, once it is complete. */
function pushedAs(event: TaskEvent, fold: TaskFold): TaskEvent | undefined {
  if (event.kind === 'status') return event;
  if (!event.lastChunk) return undefined;
  const { artifactId } = event.artifact;
  const whole = fold.task.artifacts.find((artifact) => artifact.artifactId === artifactId) ?? event.artifact;
  return { ...event, artifact: whole, append: false };
}
