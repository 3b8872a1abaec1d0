import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { system } from '../process/system.js';
import { EngineError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { createDynamoDbClient } from '../store/dynamodb/create-client.js';
import { DynamoDbTable } from '../store/dynamodb/dynamodb-table.js';
import { ensureTable } from '../store/dynamodb/schema.js';
import { openJournaledTable } from '../store/memory/journal.js';
import type { Table } from '../store/table.js';
import { dynoxideVersion, findDynoxide, startDynoxide } from './dynoxide.js';

export type StoreKind = 'dynamodb' | 'memory';

export interface OpenStoreOptions {
  readonly folder: string;
  /** Default: the database if its program is found, otherwise memory with a journal. */
  readonly kind?: StoreKind;
  /** URL of a running DynamoDB stand-in, which is used instead of starting one. */
  readonly endpoint?: string;
  readonly log: Log;
  /** Called if the store is permanently lost while the engine runs. */
  readonly onLost: (error: EngineError) => void;
}

export interface OpenStore {
  readonly table: Table;
  /** Kind and place of the store, for a person. */
  readonly description: string;
  close(): Promise<void>;
}

const tableName = 'outwait';
const files: Readonly<Record<StoreKind, string>> = { dynamodb: 'dynamodb.sqlite', memory: 'journal.jsonl' };

/** Opens the table of local mode. @throws EngineError `CONFIG_INVALID`, `STORE_UNAVAILABLE` */
export async function openStore(options: OpenStoreOptions): Promise<OpenStore> {
  if (options.endpoint !== undefined) return openEndpoint(options.endpoint);
  const binary = options.kind === 'memory' ? undefined : findDynoxide();
  warnOfOtherStore(options, binary === undefined ? 'dynamodb' : 'memory');
  if (binary !== undefined) return openDynoxide(binary, options);
  if (options.kind === 'dynamodb') {
    throw new EngineError(
      'CONFIG_INVALID',
      `dynoxide is not installed for ${process.platform}-${process.arch}; use --store memory, or --dynamodb-endpoint`,
    );
  }
  return openJournal(options);
}

/**
 * Warns that runs of one store are not in the other: after installing or removing dynoxide they would seem to be lost.
 */
function warnOfOtherStore({ folder, log }: OpenStoreOptions, other: StoreKind): void {
  if (!existsSync(join(folder, files[other]))) return;
  log.warn('this folder also has runs of the other store, which are not shown', {
    file: files[other],
    use: `--store ${other}`,
  });
}

async function openEndpoint(endpoint: string): Promise<OpenStore> {
  const { table, close } = await openTable(endpoint);
  return { table, close, description: `DynamoDB at ${new URL(endpoint).host}` };
}

async function openDynoxide(binary: string, { folder, log, onLost }: OpenStoreOptions): Promise<OpenStore> {
  const databaseFile = resolve(folder, files.dynamodb);
  const version = dynoxideVersion(binary);
  const dynoxide = await startDynoxide({
    binary,
    databaseFile,
    recordFile: join(folder, 'database.json'),
    log,
    onLost,
  });
  const opened = await openTable(dynoxide.endpoint).catch(async (error: unknown) => {
    await dynoxide.stop();
    throw error;
  });
  return {
    table: opened.table,
    description: `${version}, ${shown(databaseFile)}`,
    close: async () => {
      await opened.close();
      await dynoxide.stop();
    },
  };
}

async function openTable(endpoint: string): Promise<Pick<OpenStore, 'table' | 'close'>> {
  const client = createDynamoDbClient({ endpoint });
  try {
    await ensureTable(client, tableName);
  } catch {
    client.destroy();
    throw new EngineError('STORE_UNAVAILABLE', `the table cannot be created at ${new URL(endpoint).host}`);
  }
  return {
    table: new DynamoDbTable({ client, tableName, ...system }),
    close: async () => {
      client.destroy();
    },
  };
}

async function openJournal({ folder, log, onLost }: OpenStoreOptions): Promise<OpenStore> {
  const file = join(folder, files.memory);
  const { table, close } = await openJournaledTable({ file, log, onLost });
  return { table, close, description: `memory, ${shown(resolve(file))}` };
}

/** Returns the path as a person would type it from here. */
function shown(file: string): string {
  const here = relative(process.cwd(), file);
  return here.startsWith('..') ? file : here;
}
