// A program: one of several engines over one table, each with its own queues, which serve the same workflows. Prints its
// URL once it is ready, and kills itself at the requested commit.

import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { system } from '../../../lib/process/system.js';
import { startLocalEngine } from '../../../lib/local/engine.js';
import { createDynamoDbClient } from '../../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../../lib/store/dynamodb/dynamodb-table.js';
import type { Table, Write } from '../../../lib/store/table.js';
import { tokens } from '../engine-deps.js';
import { servedApp } from './served-app.js';

/** Passed as JSON in the first argument. */
export interface ReplicaOptions {
  readonly endpoint: string;
  readonly tableName: string;
  readonly managementToken: string;
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
    get: (key) => table.get(key),
    queryPartition: (...query) => table.queryPartition(...query),
    queryIndex: (query) => table.queryIndex(query),
  };
}

const headKey = 'a';

function isCommit(write: Write): boolean {
  return write.kind === 'put' && write.item.sk.startsWith('h#');
}

const { endpoint, tableName, managementToken, death } = JSON.parse(process.argv[2] ?? '') as ReplicaOptions;
const table = new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system });
const complain = (event: string, fields?: Record<string, unknown>): void => {
  writeSync(2, `${event} ${inspect(fields)}\n`);
};
const quiet = (): void => undefined;
const { url } = await startLocalEngine({
  ...{ app: servedApp(), table: mortal(table, death), tokens, managementToken, port: 0 },
  log: { debug: quiet, info: quiet, warn: complain, error: complain },
});
writeSync(1, `${url}\n`);
// The parent has ended.
process.stdin.on('end', () => process.exit()).resume();
