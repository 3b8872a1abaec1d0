import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { queryTimeoutMs } from '../../base/limits.js';
import { readLastRun } from '../chain.js';
import type { Deps } from '../deps.js';
import { runNotFound } from '../load-run.js';
import { replayRecords } from '../replay-run.js';

export interface QueryAnswer {
  /** The run that answered. */
  readonly runId: RunId;
  readonly result: JsonValue | undefined;
}

/**
 * Queries a run's workflow at the end of its history, without writing anything; also after the run has ended. If it has
 * continued as another run, the last successor answers. Reading and replay may take 5 s, checked between events: what
 * the workflow's code does in one go cannot be interrupted.
 * @throws EngineError `RUN_NOT_FOUND`, `WORKFLOW_NOT_FOUND`, `NONDETERMINISM` or `WORKFLOW_STUCK` if this deployment
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
  if (records === undefined) throw runNotFound();
  const execution = await replayRecords(deps, records, untilMs);
  if (execution.status.kind === 'blocked') {
    const { code, message, details } = execution.status.error;
    throw new EngineError(code, message, details === undefined ? {} : { details });
  }
  return { runId: records.head.runId, result: execution.query(name, input) };
}
