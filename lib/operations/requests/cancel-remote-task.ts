import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import type { RunId, WaitId } from '../../base/ids.js';
import { isYoung } from '../../decide/bad-read.js';
import type { Deps } from '../deps.js';
import { pollRemoteTask, readRemoteTask } from './poll-remote-task.js';

export type CancelRemoteResult =
  | { readonly cancelled: true }
  | { readonly cancelled: false; readonly reason: 'refused' | 'unanswered'; readonly error: StoredError };

/**
 * Asks the server once, for an operator, to cancel a remote task, whether or not a run waits for it. A waiting run
 * learns of it with its next read.
 * @throws EngineError `REMOTE_TASK_NOT_FOUND`
 */
export async function cancelRemoteTask(deps: Deps, runId: RunId, waitId: WaitId): Promise<CancelRemoteResult> {
  const { token, handle } = await readRemoteTask(deps, runId, waitId);
  const { server } = handle;
  if (!Object.hasOwn(deps.app.servers, server)) {
    const error = storedError('SERVER_NOT_FOUND', `no server is named "${server}" in this deployment`);
    return { cancelled: false, reason: 'unanswered', error };
  }
  const reply = await deps.transports.get(server).cancel(handle);
  const atMs = deps.clock.nowMs();
  deps.log.info('an operator requested a remote cancel', {
    runId,
    waitId,
    server,
    came: reply.kind,
    ...defined({ by: deps.caller?.id }),
  });
  if (reply.kind === 'retry' || (reply.kind === 'gone' && isYoung(token, atMs)))
    return { cancelled: false, reason: 'unanswered', error: reply.error };
  const isRefused = reply.kind === 'refused';
  if (token.settlement !== undefined)
    await deps.store.unwantedTasks.recordCancel(runId, waitId, { kind: isRefused ? 'refused' : 'sent', atMs });
  if (isRefused) return { cancelled: false, reason: 'refused', error: reply.error };
  if (token.settlement === undefined) await pollRemoteTask(deps, runId, waitId);
  return { cancelled: true };
}
