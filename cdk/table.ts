import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { tableIndexes, tableKey, tableTtlAttribute } from '../lib/topology/topology.js';

/** Creates the table: on-demand capacity, and restorable to any second of the last 35 days. */
export function createTable(scope: Construct, removalPolicy: RemovalPolicy): TableV2 {
  return new TableV2(scope, 'Table', {
    partitionKey: text(tableKey.partition),
    sortKey: text(tableKey.sort),
    timeToLiveAttribute: tableTtlAttribute,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    removalPolicy,
    deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
    globalSecondaryIndexes: Object.entries(tableIndexes).map(([indexName, index]) => ({
      indexName,
      partitionKey: text(index.partition),
      sortKey: { name: index.sort, type: index.sortType === 'number' ? AttributeType.NUMBER : AttributeType.STRING },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: [...index.projected],
    })),
  });
}

function text(name: string) {
  return { name, type: AttributeType.STRING };
}
