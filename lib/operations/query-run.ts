import { EngineError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { queryTimeoutMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { Execution } from '../replay/execution.js';
import type { RunRecords } from '../store/records.js';
import { workflowOf } from '../workflow/app.js';
import { readLastRun } from './chain.js';
import type { Deps } from './deps.js';
import { openRecords } from './open-execution.js';

export interface QueryAnswer {
  /** The run that answered. */
  readonly runId: RunId;
  readonly result: JsonValue | undefined;
}

/**
 * Asks a run's workflow, as its history stands, without writing anything; also after its end. Of a run that has gone on as
 * another one that answers. Reading and replay may take
 * 5 s, looked at between two events: what the workflow's code does in one go cannot be cut short.
 * @throws EngineError `RUN_NOT_FOUND`, `WORKFLOW_NOT_FOUND`, `NONDETERMINISM` or `WORKFLOW_STUCK` when this deployment
 * does not fit the history, `QUERY_NOT_FOUND`, `QUERY_FAILED`, `QUERY_TIMED_OUT`
 */
export async function queryRun(
  deps: Deps,
  runId: RunId,
  name: string,
  input: JsonValue | undefined,
): Promise<QueryAnswer> {
  const untilMs = deps.clock.nowMs() + queryTimeoutMs;
  const records = await readLastRun(deps, runId);
  if (records === undefined) throw new EngineError('RUN_NOT_FOUND', 'no run has this id');
  const execution = await replayRecords(deps, records, untilMs);
  if (execution.status.kind === 'blocked') {
    const { code, message, details } = execution.status.error;
    throw new EngineError(code, message, details === undefined ? {} : { details });
  }
  return { runId: records.head.runId, result: execution.query(name, input) };
}

/**
 * The workflow of a run, replayed up to where its history ends.
 * @throws EngineError `WORKFLOW_NOT_FOUND`, `QUERY_TIMED_OUT` when that is not reached at `untilMs`
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

function queryTimedOut(): EngineError {
  return new EngineError('QUERY_TIMED_OUT', `the history was not replayed within ${queryTimeoutMs / 1_000} s`);
}
