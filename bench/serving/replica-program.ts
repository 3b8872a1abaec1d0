// A replica as a process of its own: node replica-program.ts <endpoint of dynoxide> <table>. Sends its URL; sends its
// memory when asked.

import { silentLog } from '../../lib/base/log.js';
import { startLocalEngine } from '../../lib/local/engine.js';
import { system } from '../../lib/process/system.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { answerMemory } from './served-process.js';
import { servedApp } from './served-app.js';

const [endpoint = '', tableName = ''] = process.argv.slice(2);
const { url } = await startLocalEngine({
  app: servedApp(),
  table: new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system }),
  tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
  log: silentLog,
  port: 0,
  // More than the idle subscribers of the measurement.
  streamsMax: 2_000,
});
answerMemory();
process.send?.({ url });
