import type { EpochMs } from '../../base/time.js';
import type { RunOutcome } from '../../history/event.js';
import { toCaller } from '../../history/question.js';
import type { RunHead } from '../../history/records.js';
import type { RunState } from '../../history/run-state.js';
import type { TaskHint, TaskState } from '../../history/task-content.js';
import type { RestingTask } from '../../store/run-store.js';
import type { Deps } from '../deps.js';

// What heads say of the status of their tasks, for lists. The log alone decides; a list reads what it shows.

/** Returns the status with which a run ends its task. */
export function endOf(outcome: Exclude<RunOutcome, { readonly status: 'continued' }>, atMs: EpochMs): TaskHint {
  return { state: finalState(outcome), atMs };
}

function finalState(outcome: Exclude<RunOutcome, { readonly status: 'continued' }>): TaskState {
  if (outcome.status === 'completed') return 'completed';
  if (outcome.status !== 'failed') return 'canceled';
  return outcome.error.code === 'TASK_REJECTED' ? 'rejected' : 'failed';
}

/**
 * Returns what the head of a resting run must be given; undefined if it says it already. A later run of a task first
 * writes it to the head of the first one, which is the one in the lists.
 */
export async function hintAtRest(
  deps: Deps,
  { head, state }: { readonly head: RunHead; readonly state: RunState },
): Promise<RestingTask | undefined> {
  const hint = hintOf(head, state);
  const { task, taskHint } = head;
  if (hint === undefined || task === undefined) return undefined;
  if (hint.state === taskHint?.state && hint.atMs === taskHint.atMs) return undefined;
  if (task.firstRunId !== undefined) await noteOnFirst(deps, head, hint);
  return { head, hint };
}

/** Writes to the first head of a task what its later run says, unless something newer is there. May repeat. */
export async function noteOnFirst(deps: Deps, head: RunHead, hint: TaskHint): Promise<void> {
  if (head.task === undefined) return;
  const { firstRunId, ...task } = head.task;
  const servedTasks = await deps.store.servedTasks();
  await servedTasks.setHint({ ...head, runId: firstRunId ?? head.runId, task }, hint);
}

function hintOf({ task, createdAtMs }: RunHead, state: RunState): TaskHint | undefined {
  const { startedAtMs, statusAtMs } = state;
  // The start of a later run is not a change of its task.
  if (task?.firstRunId !== undefined)
    return statusAtMs === undefined ? undefined : { state: openState(state), atMs: statusAtMs };
  const atMs = Math.max(createdAtMs, startedAtMs ?? 0, statusAtMs ?? 0);
  return { state: startedAtMs === undefined ? 'submitted' : openState(state), atMs };
}

function openState({ openTokens }: RunState): TaskState {
  for (const wait of openTokens.values())
    if (wait.kind === 'external' && wait.issued && wait.form?.to === toCaller)
      return wait.form.kind === 'auth' ? 'auth-required' : 'input-required';
  return 'working';
}
