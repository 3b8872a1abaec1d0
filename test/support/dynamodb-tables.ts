import { setTimeout as wait } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDynamoDbClient, type DynamoDbClientOptions } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { ensureTable } from '../../lib/store/dynamodb/schema.js';
import type { Random } from '../../lib/base/ids.js';

export const systemRandom: Random = {
  hex: (count) => randomBytes(count).toString('hex'),
  fraction: () => Math.random(),
};

export interface OpenedTable {
  readonly table: DynamoDbTable;
  readonly client: DynamoDBClient;
}

/** Opens a table in the stand-in at `endpoint`; creates it if it is missing. */
export async function openDynamoDbTable(
  endpoint: string,
  tableName: string,
  options: Omit<DynamoDbClientOptions, 'endpoint'> = {},
): Promise<OpenedTable> {
  const client = createDynamoDbClient({ endpoint, ...options });
  await ensureTable(client, tableName);
  const delay = async (delayMs: number): Promise<void> => wait(delayMs);
  return { client, table: new DynamoDbTable({ client, tableName, random: systemRandom, delay }) };
}
