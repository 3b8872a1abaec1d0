import type { AttributeDefinition, CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type IndexName, tableIndexes, tableKey } from '../table.js';

/** Returns the schema of the table with its indexes, paid per request. */
export function tableSchema(tableName: string): CreateTableCommandInput {
  const indexes = Object.entries(tableIndexes);
  const definitions: AttributeDefinition[] = [
    { AttributeName: tableKey.partition, AttributeType: 'S' },
    { AttributeName: tableKey.sort, AttributeType: 'S' },
    ...[...attributesOf(indexes.map(([, index]) => index))].map(([name, type]): AttributeDefinition => ({
      AttributeName: name,
      AttributeType: type === 'number' ? 'N' : 'S',
    })),
  ];
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: definitions,
    KeySchema: keySchema(tableKey.partition, tableKey.sort),
    GlobalSecondaryIndexes: indexes.map(([name, index]) => ({
      IndexName: name,
      KeySchema: keySchema(index.partition, index.sort),
      Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: [...index.projected] },
    })),
  };
}

/** Returns the key attributes of indexes, each once: two indexes may sort by the same one. */
function attributesOf(indexes: readonly (typeof tableIndexes)[IndexName][]): ReadonlyMap<string, 'string' | 'number'> {
  return new Map(
    indexes.flatMap(({ partition, sort, sortType }) => [[partition, 'string'] as const, [sort, sortType] as const]),
  );
}

function keySchema(partition: string, sort: string): CreateTableCommandInput['KeySchema'] {
  return [
    { AttributeName: partition, KeyType: 'HASH' },
    { AttributeName: sort, KeyType: 'RANGE' },
  ];
}

/** Creates the table unless it exists, and waits up to a minute until it is active. For local mode and tests. */
export async function ensureTable(client: DynamoDBClient, tableName: string): Promise<void> {
  // Loaded here, so that code that only needs the schema does not load the SDK.
  const { CreateTableCommand, ResourceInUseException, waitUntilTableExists } = await import('@aws-sdk/client-dynamodb');
  try {
    await client.send(new CreateTableCommand(tableSchema(tableName)));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1, maxDelay: 2 }, { TableName: tableName });
}
