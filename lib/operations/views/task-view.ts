import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import type { TokenRecord } from '../../history/records.js';
import type { TaskProgress } from '../../history/task-trail.js';
import type { Deps } from '../deps.js';
import { isTaskStale } from '../stale-task.js';

/** What reads have shown of a remote task. Its texts are the server's, cut. */
export interface TaskView extends Omit<TaskProgress, 'atMs'> {
  /** Since when the task has had its state. */
  readonly stateSinceMs: EpochMs;
  /** When anything of it last changed. */
  readonly changedAtMs: EpochMs;
}

/** Returns what is known of the remote task of a wait; undefined if no reply has shown its state. */
export function toTaskView({ trail }: TokenRecord): TaskView | undefined {
  const last = trail?.changes.at(-1);
  if (trail === undefined || last === undefined) return undefined;
  const { atMs: changedAtMs, ...shown } = last;
  return { ...shown, stateSinceMs: trail.stateSinceMs, changedAtMs };
}

/** What a wait shows of its remote task. */
export interface WaitTask {
  readonly task?: TaskView;
  /** The last changes of the task, oldest first, at most 20. */
  readonly changes?: readonly TaskProgress[];
  /** Whether the task has not changed for so long that it may never end. */
  readonly stale?: true;
}

export function waitTaskOf(deps: Pick<Deps, 'app' | 'clock'>, token: TokenRecord | undefined): WaitTask {
  if (token === undefined) return {};
  return defined({
    task: toTaskView(token),
    changes: token.trail?.changes,
    stale: isTaskStale(deps, token) ? true : undefined,
  });
}
