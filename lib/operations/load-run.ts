import { EngineError } from '../base/errors.js';
import { isRunId, type RunId } from '../base/ids.js';
import type { RunRecords } from '../history/records.js';
import type { Deps } from './deps.js';

/** Reads everything of a run. @throws EngineError `RUN_NOT_FOUND` */
export async function loadRun(deps: Deps, runId: RunId): Promise<RunRecords> {
  const records = isRunId(runId) ? await deps.store.runs.read(runId) : undefined;
  if (records === undefined) throw runNotFound();
  return records;
}

/** Creates the error for an id that no run has. */
export function runNotFound(cause?: unknown): EngineError {
  return new EngineError('RUN_NOT_FOUND', 'no run has this id', { cause });
}
