import { pollIntervalMs } from '../../lib/decide/poll.js';
import type { Deps } from '../../lib/operations/deps.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import { silentLog } from '../../lib/base/log.js';
import type { EpochMs } from '../../lib/base/time.js';
import { system } from '../../lib/process/system.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { RemoteTaskTransport } from '../../lib/remote/transport.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { type Item, type Table } from '../../lib/store/table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { queues as topology } from '../../lib/topology/topology.js';
import type { App } from '../../lib/workflow/app.js';

/** A run that waits for a task, as it was left by its turn. */
export interface OldRun {
  readonly task: string;
  readonly startedAtMs: EpochMs;
}

/** Most writes of a transaction. */
const writesMax = 100;

/**
 * Writes runs that wait for tasks of an agent since earlier instants. They are made in memory by the production code on
 * a clock of the past; then their items are copied to the table. Reads are due at even instants of an interval from
 * `dueFromMs` on.
 */
export async function plantRuns(
  table: Table,
  app: App,
  runs: readonly OldRun[],
  { dueFromMs, random }: { readonly dueFromMs: EpochMs; readonly random: () => number },
): Promise<void> {
  let nowMs = 0;
  let task = '';
  const clock = { nowMs: () => nowMs };
  const transport: RemoteTaskTransport = {
    protocol: 'a2a',
    dedupes: true,
    problemWith: () => undefined,
    answersAtOnce: async () => true,
    start: async () => ({
      kind: 'started',
      state: 'working',
      handle: { server: 'agent', protocol: 'a2a', wire: '1.0', taskId: task, contextId: task },
    }),
    get: async () => ({ kind: 'working', state: 'working' }),
    cancel: async () => ({ kind: 'done' }),
  };
  const memory = new MemoryTable();
  const deps: Deps = {
    ...{ ...system, app, clock, log: silentLog, store: new RunStore(memory), transports: { get: () => transport } },
    queues: new MemoryQueues({ ...topology, clock }),
    tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
  };
  const dueOf = new Map<string, EpochMs>();
  for (const run of runs) {
    nowMs = run.startedAtMs;
    task = run.task;
    const { runId } = await startRun(deps, { workflow: 'waits', input: { task } });
    await runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    const intervalMs = pollIntervalMs(dueFromMs - nowMs);
    dueOf.set(`run#${runId}`, Math.round(dueFromMs + random() * intervalMs));
  }
  const items = [...memory.items()].map((item) => withDue(item, dueOf));
  await copy(items, table);
}

/** Returns the item of a wait with its next read due when it is. */
function withDue(item: Item, dueOf: ReadonlyMap<string, EpochMs>): Item {
  const dueAtMs = dueOf.get(item.pk);
  return item['handle'] === undefined || dueAtMs === undefined ? item : { ...item, dueAtMs };
}

async function copy(items: readonly Item[], table: Table): Promise<void> {
  for (let from = 0; from < items.length; from += writesMax) {
    const writes = items.slice(from, from + writesMax).map((item) => ({ kind: 'put', item, conditions: [] }) as const);
    const done = await table.transact(writes);
    if (!done.ok) throw new Error('the runs could not be copied');
  }
}
