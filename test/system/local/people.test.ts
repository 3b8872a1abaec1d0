import { createHmac } from 'node:crypto';
import { webhookTo } from 'outwait';
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';
import { closeAll, serve } from '../../unit/remote/loopback.js';

const key = Buffer.alloc(32, 7);
let engine: LocalEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  await closeAll();
});

it('a question in local mode reaches its receiver, signed, with a link at which it can be answered', async () => {
  const receiver = await serve((_, response) => response.writeHead(204).end());
  const asks = defineWorkflow({ name: 'asks', run: (ctx) => ctx.ask({ message: 'Ship it?', to: 'desk' }) });
  engine = await startLocalEngine({
    app: defineApp({
      workflows: [asks],
      people: {
        receivers: { desk: webhookTo({ url: receiver.url, secret: `whsec_${key.toString('base64')}` }) },
        link: 'https://desk.example.com/{inputId}',
      },
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  const { url } = engine;
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  const { runId } = (await post('/runs', { workflow: 'asks' })) as { runId: string };
  await eventually(async () => {
    expect(receiver.received).toHaveLength(1);
    const { inputs } = (await (await fetch(`${url}/inputs`)).json()) as { inputs: { addressees: unknown }[] };
    expect(inputs[0]?.addressees).toEqual([{ to: 'desk', told: 1, lastToldAtMs: expect.any(Number) as number }]);
  });
  const [got] = receiver.received;
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = got?.headers ?? {};
  const signed = `${String(id)}.${String(timestamp)}.${got?.text ?? ''}`;
  expect(signature).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  expect(JSON.parse(got?.text ?? '')).toMatchObject({
    type: 'question.asked',
    data: { question: 'Ship it?', workflow: 'asks', runId, link: `https://desk.example.com/${runId}.1` },
  });
  expect(await post(`/inputs/${runId}.1`, { action: 'decline' })).toEqual({ answered: true });
});
