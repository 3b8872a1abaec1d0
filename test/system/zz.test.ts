import { it } from 'vitest';
import { startMcpServer } from '../../examples/servers/mcp-server.js';
import { RunStore } from '../../lib/store/run-store.js';
import { openDynamoDbTable } from '../support/dynamodb-tables.js';
import { startDynoxide } from '../support/dynoxide.js';
import { bundleProgram, startProgram } from './processes.js';
import { reportRunId } from './report-workflow.js';
it('x', async () => {
  const d = await startDynoxide();
  const p = await bundleProgram('engine-process');
  const s = await startMcpServer({ taskMs: 10 });
  const { table } = await openDynamoDbTable(d.endpoint, 'x');
  const t0 = Date.now();
  const r = startProgram(p, { endpoint: d.endpoint, tableName: 'x', remote: { protocol: 'mcp', url: s.url, dedupes: true }, fastSinceMs: Date.now() });
  console.log(await r.ended, Date.now() - t0);
  console.log(JSON.stringify(await new RunStore(table).readRun(reportRunId), null, 1), s.stats());
  await d.stop(); await s.close();
}, 60000);
