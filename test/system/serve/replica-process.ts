// A program: one of several engines over one table and its queues, which serve the same workflows. Prints its URL once it
// is ready, and kills itself at the requested commit.

import { writeSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { serveHandler } from '../../../lib/aws/serve-handler.js';
import { turnTimeoutMs } from '../../../lib/base/limits.js';
import { createGateway } from '../../../lib/local/api-gateway.js';
import { answerAsStream, isServed } from '../../../lib/local/rest-gateway.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { fanOutDue } from '../../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../../lib/operations/sweep/handle-work.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { WarmRuns } from '../../../lib/operations/warm-runs.js';
import { system } from '../../../lib/process/system.js';
import type { Queues, TurnMessage, WorkMessage } from '../../../lib/queue/queue.js';
import { GuardedHttpClient } from '../../../lib/remote/http/http.js';
import { lazyPushSender } from '../../../lib/remote/push/lazy-push-sender.js';
import { createDynamoDbClient } from '../../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../../lib/store/dynamodb/dynamodb-table.js';
import type { Table, Write } from '../../../lib/store/table.js';
import { createEngineDeps } from '../engine-deps.js';
import { servedApp } from './served-app.js';

/** Passed as JSON in the first argument. */
export interface ReplicaOptions {
  readonly endpoint: string;
  readonly tableName: string;
  readonly managementToken: string;
  /** Takes messages to the queues. */
  readonly queueUrl: string;
  /** The write at which the process dies. Default: it lives. */
  readonly death?: Death;
}

export interface Death {
  readonly moment: 'before' | 'after';
  /** Whether to count commits only, or every write. */
  readonly of: 'commits' | 'writes';
  /** Number of the write, counted from 1. */
  readonly occurrence: number;
}

/** Returns the table, whose process dies at a write to a run that it has created itself. */
function mortal(table: Table, death: Death | undefined): Table {
  let count = 0;
  const own = new Set<string>();
  const around = async <Result>(writes: readonly Write[], write: () => Promise<Result>): Promise<Result> => {
    for (const one of writes) if (one.kind === 'put' && one.item.sk === headKey) own.add(one.item.pk);
    const ofOwn = writes.filter((one) => own.has(one.kind === 'put' ? one.item.pk : one.key.pk));
    const counts = death !== undefined && (death.of === 'writes' ? ofOwn.length > 0 : ofOwn.some(isCommit));
    if (!counts || ++count !== death.occurrence) return write();
    if (death.moment === 'after') await write();
    process.kill(process.pid, 'SIGKILL');
    return new Promise<never>(() => undefined);
  };
  return {
    write: (write) => around([write], () => table.write(write)),
    transact: (writes) => around(writes, () => table.transact(writes)),
    get: (...asked) => table.get(...asked),
    queryPartition: (...query) => table.queryPartition(...query),
    queryIndex: (query) => table.queryIndex(query),
  };
}

const headKey = 'a';

function isCommit(write: Write): boolean {
  return write.kind === 'put' && write.item.sk.startsWith('h#');
}

/** Queues that the dispatcher of the test keeps. */
function queuesAt(url: string): Queues {
  const put = async (queue: string, message: object, delayMs = 0): Promise<void> => {
    const body = JSON.stringify({ queue, message, delayMs });
    const { ok } = await fetch(url, { method: 'POST', body });
    if (!ok) throw new Error('the queue does not answer');
  };
  return {
    sendTurn: (message) => put('turn', message),
    sendWork: (message, delayMs) => put('work', message, delayMs),
    sendStep: (message, delayMs) => put('step', message, delayMs),
    sendStart: (message, delayMs) => put('start', message, delayMs),
  };
}

async function startServer(deps: Deps, managementToken: string): Promise<string> {
  const serve = serveHandler(() => deps, { loopbackOnly: true, managementTokens: () => [managementToken] });
  const stopped = new AbortController().signal;
  const invoked: Readonly<Record<string, (message: unknown) => Promise<unknown>>> = {
    '/invoke/turn': (message) => runTurn(deps, message as TurnMessage, { remainingMs: () => turnTimeoutMs }),
    '/invoke/work': (message) => handleWork(deps, message as WorkMessage),
    '/invoke/sweep': () => fanOutDue(deps),
  };
  const server = createGateway(
    async ({ rawPath, body }) => {
      await invoked[rawPath]?.(JSON.parse(body ?? ''));
      return { statusCode: invoked[rawPath] === undefined ? 404 : 200 };
    },
    deps.log,
    {
      takes: isServed,
      answer: (request, body, response) => answerAsStream(serve, request, body, { response, stopped }),
    },
  );
  // A connection that ends while its next request comes would fail a test.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const options = JSON.parse(process.argv[2] ?? '') as ReplicaOptions;
const { endpoint, tableName, queueUrl, death } = options;
const table = new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system });
const complain = (event: string, fields?: Record<string, unknown>): void => {
  writeSync(2, `${event} ${inspect(fields)}\n`);
};
const quiet = (): void => undefined;
const deps: Deps = {
  ...createEngineDeps({
    ...{ app: servedApp(), table: mortal(table, death), clock: system.clock },
    http: new GuardedHttpClient({ allowLoopback: true }),
    log: { debug: quiet, info: quiet, warn: complain, error: complain },
  }),
  queues: queuesAt(queueUrl),
  warmRuns: new WarmRuns({ hasRoom: () => true }),
  pushSender: lazyPushSender({ allowLoopback: true, clock: system.clock }),
  publicUrl: 'http://127.0.0.1',
};
writeSync(1, `${await startServer(deps, options.managementToken)}\n`);
// The parent has ended.
process.stdin.on('end', () => process.exit()).resume();
