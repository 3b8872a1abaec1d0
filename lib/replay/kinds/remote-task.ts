import { defined } from '../../base/defined.js';
import { fromStoredError, RemoteTaskTimedOut } from '../../base/errors.js';
import type { RemoteTaskRequested } from '../../history/event.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { RemoteOutcome } from '../../workflow/outcome.js';
import type { StartRemoteTask } from '../command.js';
import type { WaitKind } from './kind.js';

/** Task of a remote server, started or attached to. */
export const remoteTask: WaitKind<StartRemoteTask, RemoteTaskRequested> = {
  eventType: 'RemoteTaskRequested',
  hasToken: true,
  details({ server, name, digest, input, watch, timeoutMs }, atMs) {
    return {
      server,
      name,
      digest,
      ...defined({ input, watch: watch || undefined }),
      deadlineAtMs: atMs + timeoutMs,
    };
  },
  identity({ digest }) {
    return digest;
  },
  describe({ name, server }) {
    return `remote task "${name}" on "${server}"`;
  },
  given(command, outcome) {
    const { server } = command;
    switch (outcome.kind) {
      case 'completed': {
        const { result, isError, taskId, phase } = outcome;
        const value: RemoteOutcome = { result, isError, server, ...defined({ taskId, phase }) };
        return { value };
      }
      case 'failed':
        return fromStoredError({ ...outcome.error, details: { server, ...outcome.error.details } });
      case 'timed_out':
        return timedOut(command, outcome);
      case 'abandoned':
      case 'run_ended':
        return timedOut(command, {});
    }
  },
  outlivesRun({ onCancel, request }) {
    // An attachment needs no start.
    return onCancel === 'leave' && request.kind !== 'attach';
  },
  toDropped({ name }) {
    return { kind: 'remote task', name };
  },
};

function timedOut(
  { server, name, timeoutMs }: StartRemoteTask,
  { phase, reason, mayRun, taskId }: Partial<Extract<TokenOutcome, { kind: 'timed_out' }>>,
): RemoteTaskTimedOut {
  const seconds = `within ${timeoutMs / 1000} s`;
  const last = reason === undefined ? '' : ` (${reason})`;
  const message =
    phase === undefined
      ? `remote task "${name}" on "${server}" did not end ${seconds}`
      : mayRun === true
        ? `the start of remote task "${name}" on "${server}" got no answer ${seconds}${last}: a task may be running there`
        : `remote task "${name}" on "${server}" was not started ${seconds}${last}`;
  return new RemoteTaskTimedOut('REMOTE_TASK_TIMED_OUT', message, {
    details: { server, ...defined({ taskId }), timeoutMs, ...defined({ phase, reason }) },
  });
}
