import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { EngineError } from '../../../lib/base/errors.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { drainMicrotasks } from '../../../lib/process/drain.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { MemoryQueues } from '../../../lib/queue/memory-queues.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import type { Item, Table } from '../../../lib/store/table.js';
import { ScriptedServer } from '../../../lib/testing/scripted-server.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp, mcpServer, type ServerConfig } from '../../../lib/workflow/app.js';
import { type AnyWorkflow, defineWorkflow } from '../../../lib/workflow/define-workflow.js';

import { heardLog } from '../../support/outputs/heard.js';

export interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: Record<string, unknown> | undefined;
}

/** Everything an operation needs, in memory, on a clock that stands still unless it is moved. */
export interface World {
  readonly deps: Deps;
  readonly queues: MemoryQueues;
  readonly clock: { atMs: number };
  readonly lines: Line[];
  readonly reports: ScriptedServer;
  /** The table below the store. */
  readonly table: Table;
  /** Error with which every store call fails while it is set. */
  fault: EngineError | undefined;
  /** Returns all items, in a form that shows any change. */
  dump(): string;
  /** Runs turns until no message is available. */
  runTurns(): Promise<void>;
}

const echo = defineWorkflow({
  name: 'echo',
  input: z.object({ text: z.string() }),
  run: (_ctx, { text }) => Promise.resolve({ said: text }),
});
/** Waits for a remote task that never ends by itself. */
const waits = defineWorkflow({
  name: 'waits',
  run: (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } }),
});

/** Waits for a signal, then for the settlement of a promise, and answers queries all the while. */
const talks = defineWorkflow({
  name: 'talks',
  run: async (ctx) => {
    let said: unknown = null;
    ctx.onQuery('said', (input) => ({ said, input: input ?? null }));
    ctx.onQuery('nothing', () => undefined);
    ctx.onQuery('broken', () => {
      throw new Error('no');
    });
    said = await ctx.signal('say');
    const { promise } = await ctx.promise({ name: 'approval' });
    return promise;
  },
});

export function aWorld(more: readonly AnyWorkflow[] = [], servers: Readonly<Record<string, ServerConfig>> = {}): World {
  const clock = { atMs: 1_800_000_000_000 };
  const lines: Line[] = [];
  const write =
    (level: string) =>
    (event: string, fields?: Record<string, unknown>): void =>
      void lines.push({ level, event, fields });
  const log = heardLog({ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') });
  const memory = new MemoryTable();
  const table = withFault(memory, () => world.fault);
  const queues = new MemoryQueues({
    turn: { visibilityMs: 90_000, maxReceiveCount: 5 },
    work: { visibilityMs: 90_000, maxReceiveCount: 5 },
    step: { visibilityMs: 5_400_000, maxReceiveCount: 5 },
    clock: { nowMs: () => clock.atMs },
  });
  const reports = new ScriptedServer({ protocol: 'mcp', task: () => ({ never: true }) });
  reports.connect('reports', { nowMs: () => clock.atMs });
  let issued = 0;

  const world: World = {
    clock,
    lines,
    queues,
    reports,
    table,
    fault: undefined,
    deps: {
      app: defineApp({
        workflows: [echo, waits, talks, ...more],
        servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }), ...servers },
      }),
      store: new RunStore(table),
      queues,
      transports: { get: () => reports },
      tokens: new TokenKeys([{ keyId: 'k1', secret: new Uint8Array(32).fill(7) }]),
      clock: { nowMs: () => clock.atMs },
      random: {
        hex: (count) =>
          createHash('sha512')
            .update(`id ${++issued}`)
            .digest('hex')
            .slice(0, count * 2),
        fraction: () => 0.5,
      },
      digest: (text) => createHash('sha256').update(text).digest('hex'),
      drain: drainMicrotasks,
      // Over at once, but not before code that a turn waits for is loaded.
      delay: () => new Promise((resolve) => setImmediate(resolve)),
      log,
    },
    dump: () => JSON.stringify([...memory.items()].map(sorted)),
    runTurns: async () => {
      for (let [message] = queues.turn.receive(1); message !== undefined; [message] = queues.turn.receive(1)) {
        await runTurn(world.deps, JSON.parse(message.body) as { runId: string }, { remainingMs: () => 60_000 });
        queues.turn.deleteMessage(message.receiptHandle);
      }
    },
  };
  return world;
}

function sorted(item: Item): [string, unknown][] {
  return Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1));
}

function withFault(table: Table, fault: () => EngineError | undefined): Table {
  const guarded = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    const error = fault();
    if (error !== undefined) throw error;
    return call();
  };
  return {
    write: (write) => guarded(() => table.write(write)),
    transact: (writes) => guarded(() => table.transact(writes)),
    get: (key) => guarded(() => table.get(key)),
    queryPartition: (pk, skPrefix, after) => guarded(() => table.queryPartition(pk, skPrefix, after)),
    queryIndex: (query) => guarded(() => table.queryIndex(query)),
  };
}
