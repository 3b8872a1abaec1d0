import { EngineError, hasCode } from '../base/errors.js';
import { queryTimeoutMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { RunRecords } from '../history/records.js';
import type { Execution } from '../replay/execution.js';
import { workflowOf } from '../workflow/app.js';
import type { Deps } from './deps.js';
import { openRecords } from './open-execution.js';

/**
 * Replays a run to the end of its history.
 * @throws EngineError `WORKFLOW_NOT_FOUND`, `QUERY_TIMED_OUT` if the end is not reached by `untilMs`
 */
export async function replayRecords(deps: Deps, records: RunRecords, untilMs: EpochMs = Infinity): Promise<Execution> {
  const { head, commits } = records;
  const workflow = workflowOf(deps.app, head);
  if (workflow === undefined) {
    throw new EngineError('WORKFLOW_NOT_FOUND', `no workflow is named "${head.workflow}" in this deployment`);
  }
  const execution = openRecords(deps, workflow, records);
  for (const event of commits.flatMap(({ events }) => events)) {
    if (deps.clock.nowMs() > untilMs) throw queryTimedOut();
    await execution.apply(event);
  }
  if (deps.clock.nowMs() > untilMs) throw queryTimedOut();
  return execution;
}

/** Replays a run for a worker. Returns undefined if this deployment does not have the workflow. */
export async function replayForWorker(deps: Deps, records: RunRecords): Promise<Execution | undefined> {
  try {
    return await replayRecords(deps, records);
  } catch (error) {
    if (hasCode(error, 'WORKFLOW_NOT_FOUND')) return undefined;
    throw error;
  }
}

function queryTimedOut(): EngineError {
  return new EngineError('QUERY_TIMED_OUT', `the history was not replayed within ${queryTimeoutMs / 1_000} s`);
}
