import { EngineError } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { TaskFold } from '../../serve/task/fold-task.js';
import { isFinal, type ServedTask, type TaskEvent } from '../../serve/task/served-task.js';
import type { Deps } from '../deps.js';
import { messagesOf, readTask, withMessages, type ReadTask } from './read-task.js';

/** Interval between two looks while events come, and the longest one. */
const lookMinMs = 250;
const lookMaxMs = 2_000;
/** How long a request waits for the end of a task that is about to end. */
const endPatienceMs = 2_000;

/** How long changes are waited for. */
export interface Pausing {
  readonly untilMs: EpochMs;
  readonly signal?: AbortSignal | undefined;
  /** Asked before the first pause; false ends the wait. Default: it may. */
  readonly mayPause?: (() => Promise<boolean>) | undefined;
}

/** Yields what changes in a task, until it is final or `untilMs` has come; between two looks it holds only the fold. */
export async function* changesOf(
  deps: Deps,
  { fold }: ReadTask,
  { untilMs, signal, mayPause }: Pausing,
): AsyncGenerator<readonly TaskEvent[]> {
  let lookMs = lookMinMs;
  let hasPaused = false;
  while (!isFinal(fold.state)) {
    const events = await look(deps, fold);
    if (events.length > 0) {
      lookMs = lookMinMs;
      yield events;
      continue;
    }
    const nowMs = deps.clock.nowMs();
    if (nowMs >= untilMs || signal?.aborted === true) return;
    if (!hasPaused && (await mayPause?.()) === false) return;
    hasPaused = true;
    await deps.delay(Math.min(lookMs, untilMs - nowMs), signal);
    lookMs = Math.min(lookMs * 2, lookMaxMs);
  }
}

/** Reads what the log has beyond the fold, and the next run if there is one. */
async function look(deps: Deps, fold: TaskFold): Promise<readonly TaskEvent[]> {
  if (fold.nextRunId !== undefined) {
    const next = await deps.store.heads.read(fold.nextRunId);
    if (next === undefined) return [];
    fold.continueWith(next);
  }
  const newer = await deps.store.runs.readAfter(fold.runId, fold.seq, []);
  if (newer === undefined) return [];
  const records = await withMessages(deps, newer, fold);
  const messageOf = messagesOf(records);
  return records.commits.flatMap((commit) => fold.applyCommit(commit, messageOf));
}

interface Patience extends Pausing {
  readonly until?: ((task: ServedTask) => boolean) | undefined;
}

/**
 * Waits until the task is final or as `until` says (default: it asks its caller), at most until `untilMs`. An answered
 * question does not end the wait: it only shows until the run has taken the answer in.
 */
export async function waitForTask(deps: Deps, taskId: string, { until, ...pausing }: Patience): Promise<ServedTask> {
  const read = await readTask(deps, taskId);
  const isEnough = async (): Promise<boolean> =>
    until === undefined ? isAsking(deps, read.fold) : until(read.fold.task);
  const changes = changesOf(deps, read, pausing);
  while (!(await isEnough()) && (await changes.next()).done !== true);
  return read.fold.task;
}

/** Returns the task once the answer to a question of it has been taken in, or as it is when the time is over. */
export async function untilTakenIn(
  deps: Deps,
  { taskId, waitId }: { readonly taskId: string; readonly waitId: WaitId },
  pausing: Pausing,
): Promise<ServedTask> {
  const read = await readTask(deps, taskId);
  const changes = changesOf(deps, read, pausing);
  while (read.fold.openQuestions.includes(waitId) && (await changes.next()).done !== true);
  return read.fold.task;
}

async function isAsking(deps: Deps, { runId, openQuestions }: TaskFold): Promise<boolean> {
  for (const waitId of openQuestions)
    if ((await deps.store.tokens.read(runId, waitId))?.settlement === undefined) return true;
  return false;
}

/** Returns the task once it is final, or as it is when the time is over: after 2 s, unless another one is given. */
export async function untilFinal(deps: Deps, taskId: string, pausing?: Pausing): Promise<TaskFold> {
  const read = await readTask(deps, taskId);
  const changes = changesOf(deps, read, pausing ?? { untilMs: deps.clock.nowMs() + endPatienceMs });
  while ((await changes.next()).done !== true);
  return read.fold;
}

/** @throws EngineError `TASK_ENDED` if the task is final */
export function requireOpen({ fold }: ReadTask): void {
  if (isFinal(fold.state)) throw new EngineError('TASK_ENDED', `the task has ended: it is ${fold.state}`);
}
