import { isRunId, type RunId } from '../base/ids.js';
import type { Deps } from './deps.js';
import { runNotFound } from './load-run.js';
import type { EngineError } from '../base/errors.js';

/** The cause of an error about a run of another tenant; for the log, since the answer must not tell. */
export const otherTenant = { reason: 'the run belongs to another tenant' } as const;

/**
 * Checks that the caller may know of a run: it has no tenant, or that of the run. For a caller with a tenant a run of
 * another one and a run that does not exist take the same work and give the same error.
 * @throws EngineError `RUN_NOT_FOUND`, or what `notFound` creates
 */
export async function requireOwnRun(
  deps: Deps,
  runId: RunId,
  notFound: (cause?: unknown) => EngineError = runNotFound,
): Promise<void> {
  const tenant = deps.caller?.tenant;
  if (tenant === undefined) return;
  const access = isRunId(runId) ? await deps.store.heads.readAccess(runId) : undefined;
  if (access?.tenant === tenant) return;
  throw notFound(access === undefined ? undefined : otherTenant);
}
