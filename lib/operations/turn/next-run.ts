import { defined } from '../../base/defined.js';
import { isEngineError, storedError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { lazy } from '../../base/lazy.js';
import type { JsonValue } from '../../base/json.js';
import { writesInParallel } from '../../base/limits.js';
import { contextOfRun, toTraceparent } from '../../base/trace-context.js';
import type { RunOutcome } from '../../history/event.js';
import type { InboxRecord, RunHead, RunRecords } from '../../history/records.js';
import type { TaskOfRun } from '../../history/task-content.js';
import type { RunState } from '../../history/run-state.js';
import { workflowOf } from '../../workflow/app.js';
import type { Deps } from '../deps.js';
import { validInput } from '../requests/new-head.js';
import type { TurnLimits } from '../turn-limits.js';
import { wakeRun } from '../wake.js';
import { whileThereIsTime } from './release-markers.js';

/** Loads the fold of served tasks; few runs that continue are served. */
export const loadGeneration = lazy(() => import('../serve/generation.js'));

/**
 * Creates the run that this one continues as: first the accepted requests that were not consumed (unread signals,
 * unheard cancels) in the order of the log, then its head. Each is put if absent. Returns false if time ran out before
 * all were put.
 */
export async function startNextRun(
  deps: Deps,
  { head, inbox, commits }: RunRecords,
  { state, ending }: { readonly state: RunState; readonly ending: Extract<RunOutcome, { status: 'continued' }> },
  limits: TurnLimits,
): Promise<boolean> {
  const { nextRunId, input } = ending;
  const byId = new Map(inbox.map((item) => [item.inboxId, item]));
  const unheard = new Set(state.unheard);
  const handedOn = [...state.takenInbox]
    .filter((inboxId) => state.unreadSignals.has(inboxId) || unheard.has(inboxId))
    .map((inboxId) => byId.get(inboxId))
    .filter((item) => item !== undefined)
    .map((item) => (item.kind === 'message' ? { ...item, carried: true } : item));
  if (!(await seedInbox(deps, nextRunId, handedOn, limits))) return false;
  const version = deps.app.workflows.get(head.workflow)?.version ?? head.version;
  const nextInput = await inputOfNext(deps, { workflow: head.workflow, version }, input);
  const nowMs = deps.clock.nowMs();
  const next: RunHead = {
    runId: nextRunId,
    workflow: head.workflow,
    version,
    status: 'running',
    ...nextInput,
    // Derived from the last seed, so that a repeat of this effect creates the same head.
    seed: deps.digest(`seed after ${head.seed}`).slice(0, 32),
    createdAtMs: nowMs,
    ...defined({ deadlineAtMs: head.deadlineAtMs, parent: head.parent }),
    ...defined({
      id: head.id,
      key: head.key,
      tags: head.tags,
      owner: head.owner,
      tenant: head.tenant,
      counted: head.counted,
      counters: head.counters,
      calls: head.calls,
      callback: head.callback && { ...head.callback, startedRunId: head.callback.startedRunId ?? head.runId },
      task: await taskOfNext(head, commits),
    }),
    traceparent: toTraceparent(contextOfRun(deps.digest, head)),
    // The next run takes over the place of this one, which has seen that those before it had ended.
    ...defined({ lane: head.lane === undefined ? undefined : { key: head.lane.key } }),
    previousRunId: head.runId,
    inboxCount: handedOn.length,
    dueSeq: 0,
    blocks: 0,
    ...defined({ publishedSeq: deps.bus === undefined ? undefined : 0 }),
    dueAtMs: nowMs,
  };
  const { created } = await deps.store.heads.create(next, deps.random.hex(16));
  if (created) await wakeRun(deps, nextRunId);
  return true;
}

/** Returns the task of the next run: the same one, as far as its caller has seen it. */
async function taskOfNext(head: RunHead, commits: RunRecords['commits']): Promise<TaskOfRun | undefined> {
  const { task, runId } = head;
  if (task === undefined) return undefined;
  const { generationAfter } = await loadGeneration();
  return { ...task, firstRunId: task.firstRunId ?? runId, generation: generationAfter({ ...head, task }, commits) };
}

async function seedInbox(
  deps: Deps,
  runId: RunId,
  items: readonly InboxRecord[],
  limits: TurnLimits,
): Promise<boolean> {
  // An earlier turn may have put some; putting a few again is quicker than looking for them.
  const there =
    items.length <= writesInParallel
      ? new Set<string>()
      : new Set((await deps.store.inbox.readKinds(runId)).map(({ inboxId }) => inboxId));
  const left = [...items.entries()].filter(([, { inboxId }]) => !there.has(inboxId));
  return whileThereIsTime(limits, left, async ([position, item]) => {
    await deps.store.inbox.seed({ ...item, runId, position });
  });
}

/**
 * Applies the schema to the input, as at any start. An invalid input fails the next run: this one has ended well, and
 * has no caller to report to.
 */
async function inputOfNext(
  deps: Deps,
  next: Pick<RunHead, 'workflow' | 'version'>,
  given: JsonValue | undefined,
): Promise<Pick<RunHead, 'input' | 'inputError'>> {
  const workflow = workflowOf(deps.app, next);
  try {
    // A workflow that is missing now checks its input when it is back.
    const input = workflow === undefined ? given : await validInput(deps, workflow, given);
    return input === undefined ? {} : { input };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const inputError = storedError(error.code, error.message, error.details);
    return given === undefined ? { inputError } : { input: given, inputError };
  }
}
