import type { RemoteTaskHandle } from '../lib/history/event.js';
import type { RemoteTaskTransport, RemoteTransports } from '../lib/remote/transport.js';

const handle: RemoteTaskHandle = {
  server: 'reports',
  protocol: 'mcp',
  wire: 'bench',
  taskId: '1f0d3c1e-6b1c-4e0a-9b5e-2f4f7f1f9d11',
};

export interface RemoteScript {
  /** The read that finds the task ended; missing: none does, somebody else settles the wait. */
  readonly endsAtRead?: number;
  /** The server's hint on how often to ask. */
  readonly pollAfterMs?: number;
}

export interface ScriptedRemote extends RemoteTransports {
  reads: number;
}

/** A server in this process that starts every task at once. It costs no time: what is measured is the engine. */
export function scriptedRemote({ endsAtRead, pollAfterMs }: RemoteScript): ScriptedRemote {
  const hint = pollAfterMs === undefined ? {} : { pollAfterMs };
  const transport: RemoteTaskTransport = {
    protocol: 'mcp',
    dedupes: true,
    problemWith: () => undefined,
    start: async () => ({ kind: 'started', handle, ...hint }),
    get: async () => {
      remote.reads += 1;
      if (remote.reads !== endsAtRead) return { kind: 'working', state: 'working', ...hint };
      return {
        kind: 'ended',
        end: { kind: 'completed', result: { rows: 412 }, isError: false, taskId: handle.taskId },
      };
    },
    cancel: async () => ({ kind: 'done' }),
  };
  const remote: ScriptedRemote = { reads: 0, get: () => transport };
  return remote;
}
