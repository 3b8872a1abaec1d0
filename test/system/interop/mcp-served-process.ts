// Serves the tools of the conformance suite in local mode, and prints the URL. A process of its own: a run id is the id of
// the task that its clients see, so what the engine logs of runs is not searched for ids of tasks here.

import { silentLog } from '../../../lib/base/log.js';
import { startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { fixtureApp } from './mcp-fixture.js';

const engine = await startLocalEngine({
  app: fixtureApp(),
  table: new MemoryTable(),
  tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
  log: silentLog,
  port: 0,
});
process.stdout.write(`${engine.url}/mcp\n`);
