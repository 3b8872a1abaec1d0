import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';

let engine: LocalEngine | undefined;
afterEach(() => engine?.stop());

it('the invocation of a stream ends when its client leaves', async () => {
  const flow = defineWorkflow({ name: 'flow', run: (ctx) => ctx.sleep({ hours: 1 }) });
  engine = await startLocalEngine({
    app: defineApp({
      workflows: [flow],
      serve: { agent: { name: 'Desk', description: 'd' }, skills: { flow: { description: 'f' } } },
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    ...{ log: silentLog, port: 0 },
  });
  const client = new AbortController();
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ data: { skill: 'flow', arguments: {} } }] };
  const response = await fetch(`${engine.url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }),
    signal: client.signal,
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(engine.stats().serve.invocations).toBe(0);
  client.abort();
  await eventually(async () => {
    expect(engine?.stats().serve.invocations).toBe(1);
  });
});
