import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskStartFailed } from '../../history/event.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { Held } from '../../remote/transport.js';
import type { Deps } from '../deps.js';
import { mayTakeMinutes } from './remote-target.js';
import { whenAdmitted } from '../admission.js';
import type { RemoteStart, StartResult } from './start-attempt.js';
import { startRemoteTask } from './start-remote-task.js';

/** `token` is missing if the item was not read; `heldUntilMs`: when to try again, if the log has the reason already. */
export type BegunStart = Partial<Pick<StartResult, 'token'>> &
  Omit<StartResult, 'token'> & { readonly heldUntilMs?: EpochMs };

/**
 * Makes an attempt to start a remote task, unless its server must not be called now. Then nothing is sent and no
 * attempt is used up: the wait is looked at again when the server may be called, and at its deadline. A server that may
 * take minutes to answer is called by a worker; here the attempt is only handed over.
 */
export async function beginRemoteStart(deps: Deps, start: RemoteStart): Promise<BegunStart> {
  const { wait, command } = start;
  // Ending a wait, or looking for a task that may be running, needs no admission: it starts nothing.
  const isFree = deps.clock.nowMs() >= wait.deadlineAtMs || wait.look !== undefined;
  if (isFree) return startRemoteTask(deps, start);
  const byWorker = await mayTakeMinutes(deps, command);
  const purpose = byWorker ? 'handOver' : 'start';
  const call = { server: command.server, purpose, hasWaited: wait.isHeld === true } as const;
  const tried = await whenAdmitted(deps, call, () => startRemoteTask(deps, byWorker ? { ...start, byWorker } : start));
  if (tried.kind === 'done') return tried.result;
  // The reason is recorded once: a wait of days for a busy server must not fill the history.
  return wait.isHeld === true ? { heldUntilMs: tried.untilMs } : { attempted: leftAlone(deps, wait, tried) };
}

function leftAlone(
  deps: Deps,
  { waitId, failedAttempts: attempt }: OpenRemoteTask,
  { error, untilMs }: Held,
): RemoteTaskStartFailed {
  const atMs = deps.clock.nowMs();
  return { type: 'RemoteTaskStartFailed', atMs, waitId, attempt, error, retryAtMs: untilMs };
}
