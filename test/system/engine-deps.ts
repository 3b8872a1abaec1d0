import { system } from '../../lib/process/system.js';
import { queues as topology } from '../../lib/topology/topology.js';
import { silentLog, type Log } from '../../lib/base/log.js';
import type { Clock } from '../../lib/base/time.js';
import type { Deps } from '../../lib/operations/deps.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { HttpClient } from '../../lib/remote/http/http.js';
import { protectTransports } from '../../lib/remote/guard/protection.js';
import type { RemoteTaskTransport, RemoteTransports } from '../../lib/remote/transport.js';
import { createTransports } from '../../lib/remote/wiring/transports.js';
import { RunStore } from '../../lib/store/run-store.js';
import type { Table } from '../../lib/store/table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import type { App } from '../../lib/workflow/app.js';

/** Keys that are the same in every process, so that all processes accept a token that one has made. */
export const tokens = new TokenKeys([{ keyId: 'k1', secret: new Uint8Array(32).fill(7) }]);

/** Marks all servers as prompt, so that turns make all starts. */
function prompt(transports: RemoteTransports): RemoteTransports {
  const made = new Map<string, RemoteTaskTransport>();
  return {
    get: (server) => {
      const transport = made.get(server) ?? { ...transports.get(server), answersAtOnce: async () => true };
      made.set(server, transport);
      return transport;
    },
  };
}

/** Creates the dependencies of an engine besides the given parts: the real ones, with queues in memory. */
export function createEngineDeps(parts: {
  readonly app: App;
  readonly table: Table;
  readonly clock: Clock;
  readonly http: HttpClient;
  readonly log?: Log;
  readonly readSecret?: (name: string) => string | undefined;
  /**
   * Whether the pace of servers is learned, so that workers make starts until then. Default: all are known to be
   * prompt.
   */
  readonly learnsPace?: boolean;
}): Deps & { readonly queues: MemoryQueues } {
  const { app, table, clock, http, log = silentLog, readSecret = () => undefined, learnsPace = false } = parts;
  const store = new RunStore(table);
  const shared = { ...system, clock, log, states: store.servers };
  const transports = createTransports(app.servers, { ...shared, http, readSecret, serverWords: store.servers });
  return {
    ...system,
    app,
    clock,
    tokens,
    store,
    queues: new MemoryQueues({ turn: topology.turn, work: topology.work, step: topology.step, clock }),
    transports: protectTransports(
      learnsPace ? transports : prompt(transports),
      (server) => app.servers[server]?.limits,
      shared,
    ),
    log,
  };
}
