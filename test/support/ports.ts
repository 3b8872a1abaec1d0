import type { Deps } from '../../lib/operations/deps.js';
import type { Queues } from '../../lib/queue/queue.js';
import type { RemoteTaskTransport } from '../../lib/remote/transport.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { Table, Write } from '../../lib/store/table.js';

/**
 * Carries a call through a port out, or does something else in its place. `name`: as in `table.write`; a commit is
 * `table.commit`.
 */
export type Around = <Value>(name: string, call: () => Promise<Value>) => Promise<Value>;

/**
 * Returns a process whose every call to `table`, the queues, the remote servers and the delay of `deps` goes through
 * `around`.
 */
export function processOf(deps: Deps, table: Table, around: Around): Deps {
  return {
    ...deps,
    store: new RunStore(new SealedTable(tableOf(table, around))),
    queues: queuesOf(deps.queues, around),
    transports: { get: (server) => transportOf(deps.transports.get(server), around) },
    delay: (delayMs, signal) => around('delay', () => deps.delay(delayMs, signal)),
  };
}

function tableOf(table: Table, around: Around): Table {
  return {
    write: (write) => around(isCommit(write) ? 'table.commit' : 'table.write', () => table.write(write)),
    transact: (writes) =>
      around(writes.some(isCommit) ? 'table.commit' : 'table.transact', () => table.transact(writes)),
    get: (key) => around('table.get', () => table.get(key)),
    queryPartition: (...query) => around('table.queryPartition', () => table.queryPartition(...query)),
    queryIndex: (query) => around('table.queryIndex', () => table.queryIndex(query)),
  };
}

function isCommit(write: Write): boolean {
  return write.kind === 'put' && write.item.sk.startsWith('h#');
}

function queuesOf(queues: Queues, around: Around): Queues {
  return {
    sendTurn: (message, dedupId) => around('queues.sendTurn', () => queues.sendTurn(message, dedupId)),
    sendWork: (message, delayMs) => around('queues.sendWork', () => queues.sendWork(message, delayMs)),
    sendStep: (message, delayMs) => around('queues.sendStep', () => queues.sendStep(message, delayMs)),
    sendStart: (message, delayMs) => around('queues.sendStart', () => queues.sendStart(message, delayMs)),
  };
}

function transportOf(remote: RemoteTaskTransport, around: Around): RemoteTaskTransport {
  return {
    protocol: remote.protocol,
    dedupes: remote.dedupes,
    problemWith: (request) => remote.problemWith(request),
    start: (request) => around('remote.start', () => remote.start(request)),
    get: (handle) => around('remote.get', () => remote.get(handle)),
    cancel: (handle) => around('remote.cancel', () => remote.cancel(handle)),
  };
}

export interface Dying {
  readonly around: Around;
  /** Resolves when it has died. */
  readonly death: Promise<void>;
}

/**
 * Creates a process that dies in place of the call for which `diesAt` returns true: after that no call takes place, and
 * none returns.
 */
export function dying(diesAt: (name: string) => boolean): Dying {
  let isOver = false;
  const isDead = (): boolean => isOver;
  let die = (): void => undefined;
  const death = new Promise<void>((resolve) => {
    die = resolve;
  });
  return {
    death,
    around: async (name, call) => {
      if (!isDead() && diesAt(name)) {
        isOver = true;
        die();
      }
      if (isDead()) return new Promise<never>(() => undefined);
      const value = await call();
      return isDead() ? new Promise<never>(() => undefined) : value;
    },
  };
}
