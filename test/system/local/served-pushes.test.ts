import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';
import { closeAll, serve } from '../../unit/remote/loopback.js';

type Reply = Readonly<Record<string, unknown>>;

let engine: LocalEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  await closeAll();
});

async function servedFlow(): Promise<(method: string, params: unknown) => Promise<Reply>> {
  const flow = defineWorkflow({
    name: 'flow',
    run: async (ctx) => {
      ctx.progress('half');
      return 'done';
    },
  });
  engine = await startLocalEngine({
    app: defineApp({
      workflows: [flow],
      serve: { agent: { name: 'Desk', description: 'd' }, skills: { flow: { description: 'f' } } },
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  const { url } = engine;
  return async (method, params) => {
    const response = await fetch(`${url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as Reply;
  };
}

const message = (configuration: object) => ({
  message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ data: { skill: 'flow', arguments: {} } }] },
  configuration,
});

it('news of a task in local mode reach the receiver that its message names, signed with a published key', async () => {
  const receiver = await serve((_, response) => response.writeHead(204).end());
  const call = await servedFlow();
  const taskPushNotificationConfig = { url: receiver.url, token: 't0' };
  const answer = await call('SendMessage', message({ returnImmediately: true, taskPushNotificationConfig }));
  const { id: taskId } = (answer['result'] as { task: { id: string } }).task;
  await eventually(async () => {
    const states = receiver.received.flatMap(({ text }) => /"TASK_STATE_(\w+)"/.exec(text)?.[1] ?? []);
    expect(states).toEqual(['WORKING', 'WORKING', 'COMPLETED']);
  });
  const [first] = receiver.received;
  expect(first?.headers).toMatchObject({ 'x-a2a-notification-token': 't0', 'a2a-notification-token': 't0' });
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', engine?.url));
  const { payload } = await jwtVerify(String(first?.headers['outwait-signature']), keys, { audience: receiver.url });
  expect(payload).toMatchObject({ taskId, iss: engine?.url });
  const listed = await call('ListTaskPushNotificationConfigs', { taskId });
  expect(listed['result']).toMatchObject({ configs: [{ taskId, url: receiver.url }] });
  expect(JSON.stringify(listed)).not.toContain('t0');
});

it('a message with an address that may not be pushed to starts no task', async () => {
  const call = await servedFlow();
  const taskPushNotificationConfig = { url: 'https://10.0.0.1/' };
  const answer = await call('SendMessage', message({ taskPushNotificationConfig }));
  expect(answer['error']).toMatchObject({ code: -32602 });
  const { result } = (await call('ListTasks', {})) as { readonly result: { readonly tasks: unknown[] } };
  expect(result.tasks).toEqual([]);
});
