import type { RemoteTaskHandle } from '../lib/history/event.js';
import type { RemoteTaskTransport, RemoteTransports } from '../lib/remote/transport.js';

const handle: RemoteTaskHandle = {
  server: 'reports',
  protocol: 'mcp',
  wire: 'bench',
  taskId: '1f0d3c1e-6b1c-4e0a-9b5e-2f4f7f1f9d11',
};

export interface RemoteScript {
  /** Number of the read that finds the task ended. Missing: no read does, and another party settles the wait. */
  readonly endsAtRead?: number;
  /** The server's hint on its poll interval. */
  readonly pollAfterMs?: number;
}

export interface ScriptedRemote extends RemoteTransports {
  reads: number;
}

/**
 * Creates a server in this process that starts every task at once. It takes no time, since the engine is what is
 * measured.
 */
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
