import { EngineError } from '../base/errors.js';
import { isRunId, type RunId } from '../base/ids.js';
import type { Deps } from './deps.js';
import { wakeRun } from './wake.js';

export interface StopRequest {
  readonly runId: RunId;
  /** `cancel`: the workflow is told at its waits and may clean up. `terminate`: it is not asked. */
  readonly kind: 'cancel' | 'terminate';
  /** A repeat with the same id is the same request. Default: a random one. */
  readonly requestId?: string;
  readonly reason?: string;
}

/**
 * Asks a run to stop. Works from any replica: the request is an inbox item, and the run's own turn acts on it.
 * `accepted: false` means that the run has ended, or that its outcome is fixed.
 * @throws EngineError `RUN_NOT_FOUND`
 */
export async function requestStop(deps: Deps, request: StopRequest): Promise<{ readonly accepted: boolean }> {
  const { runId, kind, reason } = request;
  if (!isRunId(runId)) throw runNotFound();
  const nowMs = deps.clock.nowMs();
  const answer = await deps.store.putInbox({
    runId,
    inboxId: `${kind}-${request.requestId ?? deps.random.hex(16)}`,
    kind,
    ...(reason === undefined ? {} : { reason }),
    atMs: nowMs,
    dueAtMs: nowMs,
  });
  switch (answer) {
    case 'accepted':
    case 'known':
      await wakeRun(deps, runId);
      return { accepted: true };
    case 'run_ended':
      return { accepted: false };
    case 'run_not_found':
      throw runNotFound();
  }
}

function runNotFound(): EngineError {
  return new EngineError('RUN_NOT_FOUND', 'no run has this id');
}
