import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { system } from '../lib/process/system.js';
import { silentLog } from '../lib/base/log.js';
import { dynoxideVersion, findDynoxide, startDynoxide } from '../lib/local/dynoxide.js';
import { createDynamoDbClient } from '../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../lib/store/dynamodb/dynamodb-table.js';
import { ensureTable } from '../lib/store/dynamodb/schema.js';
import { openJournaledTable } from '../lib/store/memory/journal.js';
import type { Table } from '../lib/store/table.js';

/**
 * The stores that can be measured: memory of this process, the same with its journal on disk (as in local mode without
 * dynoxide), or dynoxide through the AWS SDK.
 */
export type StoreName = 'memory' | 'journal' | 'dynoxide';
export const storeNames = ['memory', 'journal', 'dynoxide'] as const satisfies readonly StoreName[];

export interface OpenTable {
  readonly table: DynamoDbTable;
  readonly tableName: string;
  readonly client: DynamoDBClient;
}

export interface Database {
  /** Version text, as in `dynoxide 1.2.1`. */
  readonly version: string;
  readonly endpoint: string;
  /** Argument of its process that no other has. */
  readonly file: string;
  /** Opens a new table, or the named one, with a client of its own. */
  openTable(tableName?: string): Promise<OpenTable>;
  close(): Promise<void>;
}

/** Opens a new journaled table in a temporary folder; `close` removes it. */
export async function openJournal(): Promise<{ readonly table: Table; readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-bench-'));
  const { table, close } = await openJournaledTable({ file: join(folder, 'journal.jsonl'), log: silentLog });
  return {
    table,
    close: async () => {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts dynoxide as local mode does, on a database file in a temporary folder that is removed at the end. */
export async function openDatabase(): Promise<Database> {
  const binary = findDynoxide();
  if (binary === undefined) throw new Error('dynoxide is not installed; measure with --store memory');
  const folder = await mkdtemp(join(tmpdir(), 'outwait-bench-'));
  const lost: { error?: Error } = {};
  const file = join(folder, 'dynamodb.sqlite');
  const dynoxide = await startDynoxide({
    binary,
    databaseFile: file,
    recordFile: join(folder, 'database.json'),
    log: silentLog,
    onLost: (error) => {
      lost.error = error;
    },
  });
  const clients: DynamoDBClient[] = [];
  return {
    version: dynoxideVersion(binary),
    endpoint: dynoxide.endpoint,
    file,
    openTable: async (tableName = `bench-${clients.length}`) => {
      if (lost.error !== undefined) throw lost.error;
      const client = createDynamoDbClient({ endpoint: dynoxide.endpoint });
      clients.push(client);
      await ensureTable(client, tableName);
      return { client, tableName, table: new DynamoDbTable({ client, tableName, ...system }) };
    },
    close: async () => {
      for (const client of clients) client.destroy();
      await dynoxide.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
