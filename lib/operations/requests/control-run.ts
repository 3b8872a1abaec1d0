import type { RunId } from '../../base/ids.js';
import type { Deps } from '../deps.js';
import { requestIdOf, send, type Accepted } from './inbox.js';

/**
 * Pauses a run (for at most 24 h), resumes it, or at once retries whatever waits for its next attempt.
 * @throws EngineError `RUN_NOT_FOUND`
 */
export async function requestControl(
  deps: Deps,
  runId: RunId,
  kind: 'pause' | 'resume' | 'retryNow',
): Promise<Accepted> {
  return send(deps, runId, { kind, inboxId: `${kind}-${requestIdOf(deps, undefined)}` });
}
