import { createHmac } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';
import { run } from '../../unit/cli/in-process.js';
import { closeAll, serve } from '../../unit/remote/loopback.js';

const key = 'canary'.repeat(6);
const secret = `whsec_${key}`;

let engine: LocalEngine | undefined;
afterEach(async () => {
  vi.unstubAllEnvs();
  await engine?.stop();
  await closeAll();
});

async function localMode(): Promise<string> {
  const flow = defineWorkflow({ name: 'flow', run: async () => 'done' });
  engine = await startLocalEngine({
    app: defineApp({ workflows: [flow] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  return engine.url;
}

async function post(url: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/runs`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

it('the end of a run in local mode is told to its callback, signed with the secret of the start', async () => {
  const receiver = await serve((_, response) => response.writeHead(204).end());
  const url = await localMode();
  const started = await post(url, { workflow: 'flow', callback: { url: receiver.url, secret } });
  expect(started.status).toBe(201);
  await eventually(async () => {
    expect(receiver.received).toHaveLength(1);
  });
  const { text = '', headers } = receiver.received[0] ?? {};
  expect(JSON.parse(text)).toMatchObject({
    type: 'run.ended',
    data: { runId: started.body['runId'], status: 'completed', outcome: { result: 'done' } },
  });
  const signed = `${String(headers?.['webhook-id'])}.${String(headers?.['webhook-timestamp'])}.${text}`;
  const expected = createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64');
  expect(headers?.['webhook-signature']).toBe(`v1,${expected}`);
  expect(headers).not.toHaveProperty('authorization');
  expect(text).not.toContain('canary');
});

it('a callback that cannot be used starts no run, and its secret is not in the answer', async () => {
  const url = await localMode();
  for (const callback of [
    { url: 'https://10.0.0.1/', secret },
    { url: 'https://origin.example/', secret: 'canary' },
    { url: 'https://origin.example/' },
    { url: 'https://origin.example/', secret, token: 'canary' },
  ]) {
    const { status, body } = await post(url, { workflow: 'flow', callback });
    expect(status, JSON.stringify(body)).toBe(400);
    expect(JSON.stringify(body)).not.toContain('canary');
  }
  expect(await (await fetch(`${url}/runs`)).json()).toEqual({ runs: [] });
});

it('outwait start --callback takes the secret from the environment', async () => {
  const receiver = await serve((_, response) => response.end());
  const url = await localMode();
  const ask = async () => run('start', 'flow', '--callback', receiver.url, '--url', url);
  expect(await ask()).toMatchObject({
    code: 2,
    err: 'outwait: --callback needs OUTWAIT_CALLBACK_SECRET in the environment: whsec_ and base64\n',
  });
  vi.stubEnv('OUTWAIT_CALLBACK_SECRET', secret);
  expect(await ask()).toMatchObject({ code: 0, err: '' });
  await eventually(async () => {
    expect(receiver.received).toHaveLength(1);
  });
});
