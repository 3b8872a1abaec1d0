import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isRunId, isWaitId, type RunId, type WaitId } from '../../base/ids.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';

/**
 * Requests a read of a remote task now instead of at its next instant. `accepted: false`: its wait has ended.
 * @throws EngineError `REMOTE_TASK_NOT_FOUND`
 */
export async function pollRemoteTask(
  deps: Deps,
  runId: RunId,
  waitId: WaitId,
): Promise<{ readonly accepted: boolean }> {
  const { token, handle } = await readRemoteTask(deps, runId, waitId);
  if (token.settlement !== undefined) return { accepted: false };
  const by = defined({ by: deps.caller?.id });
  await deps.queues.sendWork({ kind: 'poll', runId, waitId, server: handle.server, ...by }, 0);
  return { accepted: true };
}

/** Reads the token and handle of a known remote task. @throws EngineError `REMOTE_TASK_NOT_FOUND` */
export async function readRemoteTask(
  deps: Deps,
  runId: RunId,
  waitId: WaitId,
): Promise<{ readonly token: TokenRecord; readonly handle: RemoteTaskHandle }> {
  const token = isRunId(runId) && isWaitId(waitId) ? await deps.store.tokens.read(runId, waitId) : undefined;
  if (token?.handle === undefined)
    throw new EngineError('REMOTE_TASK_NOT_FOUND', 'no remote task is known for this wait of this run');
  return { token, handle: token.handle };
}
