import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskStartFailed } from '../../history/event.js';
import type { OpenRemoteTask } from '../../history/run-state.js';
import type { Held } from '../../remote/transport.js';
import type { Deps } from '../deps.js';
import { mayTakeMinutes } from './remote-target.js';
import { startRemoteTask, type StartAttempt, type StartResult } from './start-remote-task.js';
import { whenFree } from '../when-free.js';

/** `token` is missing when the server was left alone and the item not looked at; `heldUntilMs`: when to try again, where the log says so already. */
export type StartWhenFree = Partial<Pick<StartResult, 'token'>> &
  Omit<StartResult, 'token'> & { readonly heldUntilMs?: EpochMs };

/**
 * An attempt to start a remote task, unless its server is to be left alone. Then nothing is sent and no attempt is used
 * up: the wait is looked at again when the server may be called, and at its deadline. A server that may take its time to
 * answer is called by a worker, and the attempt is only handed over here.
 */
export async function startWhenFree(deps: Deps, start: StartAttempt): Promise<StartWhenFree> {
  const { wait, command } = start;
  // To end a wait, or to look for a task that may run, is not to start one.
  const isFree = deps.clock.nowMs() >= wait.deadlineAtMs || wait.look !== undefined;
  if (isFree) return startRemoteTask(deps, start);
  const byWorker = await mayTakeMinutes(deps, command);
  const tried = await whenFree(deps, command.server, byWorker ? 'handOver' : 'start', () =>
    startRemoteTask(deps, byWorker ? { ...start, byWorker } : start),
  );
  if (tried.kind === 'done') return tried.result;
  // Once is enough to say why: a wait of days behind a busy server must not fill the history.
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
