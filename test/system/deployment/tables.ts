import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { account } from './account.js';
import type { Identities } from './identities.js';
import { ignored, type StackResources } from './stack-resources.js';

const keySchema = z.array(z.strictObject({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));

const tableProperties = z.strictObject({
  AttributeDefinitions: z.array(z.strictObject({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) })),
  BillingMode: z.literal('PAY_PER_REQUEST'),
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z.array(
    z.strictObject({
      IndexName: z.string(),
      KeySchema: keySchema,
      Projection: z.strictObject({ ProjectionType: z.literal('INCLUDE'), NonKeyAttributes: z.array(z.string()) }),
    }),
  ),
  TimeToLiveSpecification: z.strictObject({ AttributeName: z.string(), Enabled: z.literal(true) }),
  Replicas: z
    .array(
      z.strictObject({
        Region: z.literal(account.region),
        GlobalSecondaryIndexes: z.array(z.strictObject({ IndexName: z.string() })),
        // Tables are never restored or deleted here.
        DeletionProtectionEnabled: ignored,
        PointInTimeRecoverySpecification: ignored,
      }),
    )
    .length(1),
});

/** Creates the tables of a template in the database at `endpoint`. */
export async function createTables(resources: StackResources, identities: Identities, endpoint: string): Promise<void> {
  const credentials = { accessKeyId: 'deployer', secretAccessKey: 'deployer' };
  const client = new DynamoDBClient({ endpoint, region: account.region, credentials });
  try {
    for (const { logicalId, properties } of resources.take('AWS::DynamoDB::GlobalTable', tableProperties)) {
      const { TimeToLiveSpecification: timeToLive, Replicas: _, ...table } = properties;
      const TableName = identities.ref(logicalId);
      await client.send(new CreateTableCommand({ TableName, ...table }));
      await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: timeToLive }));
    }
  } finally {
    client.destroy();
  }
}
