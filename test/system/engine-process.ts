// A program: an engine that takes one run to its end, prints its operations as JSON and exits with 0, or kills itself
// on the way there.
// Its queues are in memory, so each start finds them empty and depends on what its first sweep finds.

import { writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { system } from '../../lib/process/system.js';
import { queues as topology } from '../../lib/topology/topology.js';
import { sweepIntervalMs, turnTimeoutMs } from '../../lib/base/limits.js';
import type { Deps } from '../../lib/operations/deps.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../lib/operations/sweep/handle-work.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import type { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import { GuardedHttpClient } from '../../lib/remote/http/http.js';
import type { RemoteTransports } from '../../lib/remote/transport.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import type { Table, Write } from '../../lib/store/table.js';
import { a2aAgent, defineApp, mcpServer } from '../../lib/workflow/app.js';
import { createEngineDeps } from './engine-deps.js';
import { reportRunId, reportWorkflow, startKey } from './report-workflow.js';

/** Passed as JSON in the first argument. */
export interface EngineProcessOptions {
  readonly endpoint: string;
  readonly tableName: string;
  readonly remote: { readonly protocol: 'mcp' | 'a2a'; readonly url: string; readonly dedupes: boolean };
  /**
   * Instant at which the clock began to run fast. All processes of a run have the same, so that time never goes back.
   */
  readonly fastSinceMs: number;
  readonly kill?: {
    readonly moment: 'before' | 'after';
    /** A write to the table or a call to the remote server. Missing: any. */
    readonly operation?: string;
    /** Number of the occurrence of that operation, counted from 1. */
    readonly occurrence: number;
  };
}

/** Factor of the clock: a minute takes a second. */
const speed = 60;

/** Kills this process at the requested operation, whose name it prints. */
class KillSwitch {
  readonly operations: string[] = [];
  readonly #kill: EngineProcessOptions['kill'];
  #occurrences = 0;

  constructor(kill: EngineProcessOptions['kill']) {
    this.#kill = kill;
  }

  async around<Result>(name: string, operation: () => Promise<Result>): Promise<Result> {
    this.operations.push(name);
    const kill = this.#kill;
    if (kill === undefined || (kill.operation ?? name) !== name || ++this.#occurrences !== kill.occurrence) {
      return operation();
    }
    if (kill.moment === 'after') await operation();
    return die(name);
  }
}

function die(operation: string): never {
  writeSync(1, operation);
  process.kill(process.pid, 'SIGKILL');
  throw new Error('SIGKILL did not end the process');
}

function killingWrites(table: Table, killSwitch: KillSwitch): Table {
  return {
    write: (write) => killSwitch.around(nameOf(write), () => table.write(write)),
    transact: (writes) => killSwitch.around(writes.map(nameOf).join(' and '), () => table.transact(writes)),
    get: (key) => table.get(key),
    queryPartition: (pk, skPrefix, after) => table.queryPartition(pk, skPrefix, after),
    queryIndex: (query) => table.queryIndex(query),
  };
}

/**
 * Returns kind and item of a write, and the first attribute that an update is about: `put t#2`, `update t#2 handle`.
 */
function nameOf(write: Write): string {
  if (write.kind === 'put') return `put ${write.item.sk}`;
  const names = [...Object.keys(write.set ?? {}), ...(write.remove ?? [])];
  // A settlement may record more, such as the last state of the task.
  const [first = 'nothing'] = names.includes('settledAtMs') ? ['settledAtMs'] : names;
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
        get: (handle) => killSwitch.around('get', () => transport.get(handle)),
        cancel: (handle) => killSwitch.around('cancel', () => transport.cancel(handle)),
      };
    },
  };
}

type Engine = Deps & { readonly queues: MemoryQueues };

function createEngine(options: EngineProcessOptions, killSwitch: KillSwitch): Engine {
  const { endpoint, tableName, remote, fastSinceMs } = options;
  const { protocol, url, dedupes } = remote;
  const app = defineApp({
    workflows: [reportWorkflow],
    // The revision is pinned, since the 30 s of a start are half a second here, which is too short to ask for it as
    // well.
    servers: {
      remote:
        protocol === 'mcp' ? mcpServer({ url, dedupes, protocolVersion: '2026-07-28' }) : a2aAgent({ url, dedupes }),
    },
  });
  const table = new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system });
  const clock = { nowMs: () => Math.floor(fastSinceMs + (Date.now() - fastSinceMs) * speed) };
  const http = new GuardedHttpClient({ allowLoopback: true });
  const deps = createEngineDeps({ app, table: killingWrites(table, killSwitch), clock, http });
  return {
    ...deps,
    transports: killingCalls(deps.transports, killSwitch),
    delay: (delayMs, signal) => system.delay(delayMs / speed, signal),
  };
}

async function handleMessages(engine: Engine): Promise<number> {
  const { turn, work } = engine.queues;
  const turnMessages = turn.receive(topology.turn.eventSource.batchSize);
  const workMessages = work.receive(topology.work.eventSource.batchSize);
  await Promise.all([
    ...turnMessages.map(async ({ body, receiptHandle }) => {
      await runTurn(engine, JSON.parse(body) as TurnMessage, { remainingMs: () => turnTimeoutMs });
      turn.deleteMessage(receiptHandle);
    }),
    ...workMessages.map(async ({ body, receiptHandle }) => {
      await handleWork(engine, JSON.parse(body) as WorkMessage);
      work.deleteMessage(receiptHandle);
    }),
  ]);
  return turnMessages.length + workMessages.length;
}

/** Returns whether the run has ended and none of its work is left. */
async function isOver({ store }: Engine): Promise<boolean> {
  const records = await store.runs.read(reportRunId);
  if (records === undefined || ['running', 'ending'].includes(records.head.status)) return false;
  return [records.head, ...records.tokens].every(({ dueAtMs }) => dueAtMs === undefined);
}

async function runToEnd(engine: Engine, protocol: 'mcp' | 'a2a'): Promise<void> {
  const { clock, queues } = engine;
  await startRun(engine, { workflow: reportWorkflow.name, input: { protocol }, key: startKey });
  let nextSweepAtMs = clock.nowMs();
  for (;;) {
    if (clock.nowMs() >= nextSweepAtMs) {
      nextSweepAtMs = clock.nowMs() + sweepIntervalMs;
      await fanOutDue(engine);
    }
    while ((await handleMessages(engine)) > 0);
    if (await isOver(engine)) return;
    const nextAtMs = Math.min(nextSweepAtMs, queues.nextChangeAtMs() ?? Infinity);
    await wait(Math.max(0, nextAtMs - clock.nowMs()) / speed);
  }
}

const options = JSON.parse(process.argv[2] ?? '') as EngineProcessOptions;
const killSwitch = new KillSwitch(options.kill);
await runToEnd(createEngine(options, killSwitch), options.remote.protocol);
writeSync(1, JSON.stringify(killSwitch.operations));
process.exit(0);
