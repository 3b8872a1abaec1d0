// A program: an engine that takes one run to its end and exits with 0, or kills itself on the way there.
// Queues are in memory, so each start finds them empty and lives on what its first sweep finds.

import { writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { system } from '../../lib/aws/system.js';
import { sweepIntervalMs, turnTimeoutMs } from '../../lib/base/limits.js';
import { silentLog } from '../../lib/base/log.js';
import type { Deps } from '../../lib/operations/deps.js';
import { fanOutDue } from '../../lib/operations/fan-out-due.js';
import { handleWork } from '../../lib/operations/handle-work.js';
import { runTurn } from '../../lib/operations/run-turn.js';
import { startRun } from '../../lib/operations/start-run.js';
import { queues as topology } from '../../lib/aws/topology.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import { GuardedHttpClient } from '../../lib/remote/http.js';
import type { RemoteTransports } from '../../lib/remote/transport.js';
import { createTransports } from '../../lib/remote/transports.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import type { Table, Write } from '../../lib/store/table.js';
import { a2aAgent, defineApp, mcpServer } from '../../lib/workflow/app.js';
import { reportRunId, reportWorkflow, startKey, tokens } from './report-workflow.js';

/** Handed over as JSON in the first argument. */
export interface EngineProcessOptions {
  readonly endpoint: string;
  readonly tableName: string;
  readonly remote: { readonly protocol: 'mcp' | 'a2a'; readonly url: string; readonly dedupes: boolean };
  /** When the clock of the run began to run fast: the same for each process of a run, or time would go back. */
  readonly fastSinceMs: number;
  /** Die at this operation, the first being 1: a write to the table or a call to the remote server. */
  readonly kill?: { readonly operation: number; readonly moment: 'before' | 'after' };
}

/** A minute takes a second. */
const speed = 60;

/** Counts operations and ends this process at the one that was asked for, whose name it prints. */
class KillSwitch {
  readonly #kill: EngineProcessOptions['kill'];
  #operations = 0;

  constructor(kill: EngineProcessOptions['kill']) {
    this.#kill = kill;
  }

  async around<Result>(name: string, operation: () => Promise<Result>): Promise<Result> {
    const isLast = ++this.#operations === this.#kill?.operation;
    if (isLast && this.#kill?.moment === 'before') die(name);
    const result = await operation();
    if (isLast) die(name);
    return result;
  }
}

function die(operation: string): never {
  writeSync(1, operation);
  process.kill(process.pid, 'SIGKILL');
  throw new Error('SIGKILL did not end the process');
}

function killing(table: Table, killSwitch: KillSwitch): Table {
  return {
    write: (write) => killSwitch.around(nameOf(write), () => table.write(write)),
    transact: (writes) => killSwitch.around(writes.map(nameOf).join(' and '), () => table.transact(writes)),
    get: (key) => table.get(key),
    queryPartition: (pk, skPrefix) => table.queryPartition(pk, skPrefix),
    queryIndex: (query) => table.queryIndex(query),
  };
}

/** Kind and item of a write, and of an update what it is about: `put t#2`, `update t#2 handle`. */
function nameOf(write: Write): string {
  if (write.kind === 'put') return `put ${write.item.sk}`;
  const [first = 'nothing'] = [...Object.keys(write.set ?? {}), ...(write.remove ?? [])];
  return `update ${write.key.sk} ${first}`;
}

function killingCalls(transports: RemoteTransports, killSwitch: KillSwitch): RemoteTransports {
  return {
    get(server) {
      const transport = transports.get(server);
      return {
        protocol: transport.protocol,
        dedupes: transport.dedupes,
        problemWith: (request) => transport.problemWith(request),
        start: (request) => killSwitch.around('start', () => transport.start(request)),
        get: (handle, signal) => killSwitch.around('get', () => transport.get(handle, signal)),
        cancel: (handle, signal) => killSwitch.around('cancel', () => transport.cancel(handle, signal)),
      };
    },
  };
}

interface Engine {
  readonly deps: Deps;
  readonly queues: MemoryQueues;
}

function createEngine({ endpoint, tableName, remote, fastSinceMs, kill }: EngineProcessOptions): Engine {
  const clock = { nowMs: () => Math.floor(fastSinceMs + (Date.now() - fastSinceMs) * speed) };
  const queues = new MemoryQueues({ turn: topology.turn, work: topology.work, clock });
  const killSwitch = new KillSwitch(kill);
  const { protocol, url, dedupes } = remote;
  const app = defineApp({
    workflows: [reportWorkflow],
    servers: { remote: protocol === 'mcp' ? mcpServer({ url, dedupes }) : a2aAgent({ url, dedupes }) },
  });
  const http = new GuardedHttpClient({ allowLoopback: true });
  const transports = createTransports(app.servers, {
    ...system,
    clock,
    http,
    readSecret: () => undefined,
    log: silentLog,
  });
  const table = new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system });
  const deps: Deps = {
    ...system,
    clock,
    delay: (delayMs, signal) => system.delay(delayMs / speed, signal),
    app,
    queues,
    store: new RunStore(killing(table, killSwitch)),
    transports: killingCalls(transports, killSwitch),
    tokens,
    log: silentLog,
  };
  return { deps, queues };
}

async function handleMessages({ deps, queues }: Engine): Promise<number> {
  const turns = queues.turn.receive(10);
  const work = queues.work.receive(10);
  await Promise.all([
    ...turns.map(async ({ body, receiptHandle }) => {
      await runTurn(deps, JSON.parse(body) as TurnMessage, { remainingMs: () => turnTimeoutMs });
      queues.turn.deleteMessage(receiptHandle);
    }),
    ...work.map(async ({ body, receiptHandle }) => {
      await handleWork(deps, JSON.parse(body) as WorkMessage);
      queues.work.deleteMessage(receiptHandle);
    }),
  ]);
  return turns.length + work.length;
}

/** The run has ended and nothing of it is left to do. */
async function isOver({ store }: Deps): Promise<boolean> {
  const records = await store.readRun(reportRunId);
  if (records === undefined || ['running', 'ending'].includes(records.head.status)) return false;
  return [records.head, ...records.tokens].every(({ dueAtMs }) => dueAtMs === undefined);
}

async function runToEnd(engine: Engine, protocol: 'mcp' | 'a2a'): Promise<void> {
  const { deps, queues } = engine;
  const { clock } = deps;
  await startRun(deps, { workflow: 'report', input: { protocol }, key: startKey });
  let nextSweepAtMs = clock.nowMs();
  for (;;) {
    if (clock.nowMs() >= nextSweepAtMs) {
      nextSweepAtMs = clock.nowMs() + sweepIntervalMs;
      await fanOutDue(deps);
    }
    while ((await handleMessages(engine)) > 0);
    if (await isOver(deps)) return;
    const nextAtMs = Math.min(nextSweepAtMs, queues.nextChangeAtMs() ?? Infinity);
    await wait(Math.max(0, nextAtMs - clock.nowMs()) / speed);
  }
}

const options = JSON.parse(process.argv[2] ?? '') as EngineProcessOptions;
await runToEnd(createEngine(options), options.remote.protocol);
process.exit(0);
