import { openDynamoDbTable } from '../support/dynamodb-tables.js';
import { describeWithDynoxide, startDynoxide } from '../support/dynoxide.js';
import { describeTable } from './table.suite.js';

describeWithDynoxide('over HTTP', () => {
  describeTable('DynamoDB table', async () => {
    const dynoxide = await startDynoxide();
    const { table, client } = await openDynamoDbTable(dynoxide.endpoint, 'contract');
    return {
      table,
      close: async () => {
        client.destroy();
        await dynoxide.stop();
      },
    };
  });
});
