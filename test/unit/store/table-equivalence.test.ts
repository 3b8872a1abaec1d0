import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import type { Item, Table } from '../../../lib/store/table.js';
import { arbitraryCalls, type Call } from '../../support/arbitrary-writes.js';
import { openDynamoDbTable, type OpenedTable } from '../../support/dynamodb-tables.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../../support/dynoxide.js';

describeWithDynoxide('memory table and DynamoDB table (GB-14)', () => {
  let dynoxide: Dynoxide;
  let dynamoDb: OpenedTable;
  beforeAll(async () => {
    dynoxide = await startDynoxide();
    dynamoDb = await openDynamoDbTable(dynoxide.endpoint, 'equivalence');
  });
  afterAll(async () => {
    dynamoDb.client.destroy();
    await dynoxide.stop();
  });

  it('give the same answers and hold the same items after any sequence of writes', async () => {
    let sequences = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryCalls('PREFIX'), async (calls) => {
        const prefix = `q${++sequences}`;
        const renamed = JSON.parse(JSON.stringify(calls).replaceAll('PREFIX', prefix)) as Call[];
        const memory = new MemoryTable();
        for (const call of renamed) {
          expect(await answerOf(memory, call)).toEqual(await answerOf(dynamoDb.table, call));
        }
        expect(await contentsOf(memory, prefix)).toEqual(await contentsOf(dynamoDb.table, prefix));
      }),
      { numRuns: 100 },
    );
  });
});

async function answerOf(table: Table, call: Call): Promise<unknown> {
  const [only] = call;
  try {
    return call.length === 1 && only !== undefined ? await table.write(only) : await table.transact(call);
  } catch (error) {
    return { code: (error as { code?: unknown }).code };
  }
}

async function contentsOf(table: Table, prefix: string): Promise<Item[][]> {
  const index = async (name: 'due' | 'list', partition: string, order: 'ascending' | 'descending') => {
    const { items } = await table.queryIndex({ index: name, partition, order, limit: 100 });
    return [...items];
  };
  return [
    await table.queryPartition(`${prefix}-1`),
    await table.queryPartition(`${prefix}-2`),
    await index('due', `${prefix}-s`, 'ascending'),
    await index('due', `${prefix}-r`, 'descending'),
    await index('list', `${prefix}-l`, 'ascending'),
  ];
}
