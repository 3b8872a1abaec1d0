// Local mode as a process of its own: node engine-program.ts <endpoint of dynoxide> <table> <origin of the agent>.

import { silentLog } from '../../lib/base/log.js';
import { startLocalEngine } from '../../lib/local/engine.js';
import { system } from '../../lib/process/system.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { waitingApp } from './waiting-app.js';

const [endpoint = '', tableName = '', agent = ''] = process.argv.slice(2);
const engine = await startLocalEngine({
  app: waitingApp(agent),
  table: new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system }),
  tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
  log: silentLog,
  port: 0,
});
process.on('disconnect', () => process.exit());
process.send?.(engine.url);
