import { createTestApp } from 'outwait/testing';
import { expect, it, vi } from 'vitest';
import accessApp from '../../../examples/features/served-access.js';
import contextsApp from '../../../examples/features/served-contexts.js';
import { deskForOthers, pushReceiver } from '../../../examples/features/served-pushes.js';
import app from '../../../examples/features/served.js';
import { publicKeys } from '../../../lib/serve/push-keys.js';
import { signPush } from '../../../lib/serve/sign-push.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';

const kit = createTestApp(app);
const tasks = createTasks({ ...kit.deps, caller: { id: 'ann', roles: ['call'] } }, app.serve!);
const said = (messageId: string, text: string) => ({ messageId, role: 'user', parts: [{ text }] }) as const;

it('served: a typed skill asks half-way, and shows its rows in pieces', async () => {
  const message = { messageId: 'm1', role: 'user', parts: [] } as const;
  const { taskId } = await tasks.send({ message, skill: 'monthlyReport', arguments: { month: '2026-10' } });
  await kit.settleDown();
  expect((await tasks.read(taskId)).status.state).toBe('input-required');
  await tasks.send({ taskId, message: said('m2', '4711') });
  await kit.settleDown();
  const { status, artifacts } = await tasks.read(taskId);
  expect(status.state).toBe('completed');
  expect(artifacts.map(({ artifactId, parts }) => [artifactId, parts.length])).toEqual([
    ['rows', 2],
    ['result', 1],
  ]);
  expect(artifacts[1]?.parts).toEqual([{ data: { month: '2026-10', costCentre: 4711, rows: 2 } }]);
});

it('served: an input that the schema refuses starts nothing', async () => {
  const message = { messageId: 'm3', role: 'user', parts: [] } as const;
  const sent = tasks.send({ message, skill: 'monthlyReport', arguments: { month: 'May' } });
  await expect(sent).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

it('served: a conversation goes on until the caller says goodbye', async () => {
  const { taskId } = await tasks.send({ message: said('m4', 'hello') });
  for (const [at, text] of ['one more', 'bye'].entries()) await tasks.send({ taskId, message: said(`n${at}`, text) });
  await kit.settleDown();
  expect((await tasks.read(taskId)).artifacts[0]?.parts).toEqual([{ text: '3 messages, goodbye.' }]);
});

it('served: messages of one context are booked one after the other, skills of it run side by side', async () => {
  const contexts = createTestApp(contextsApp);
  const own = createTasks({ ...contexts.deps, caller: { id: 'ann', roles: ['call'] } }, contextsApp.serve!);
  const ids: string[] = [];
  for (const messageId of ['m1', 'm2'])
    ids.push((await own.send({ message: said(messageId, 'pay'), contextId: 'c1' })).taskId);
  const message = { messageId: 'm3', role: 'user', parts: [] } as const;
  const skill = { skill: 'balance', arguments: { account: 'a1' } };
  ids.push((await own.send({ message, contextId: 'c1', ...skill })).taskId);
  const states = async () => Promise.all(ids.map(async (taskId) => (await own.read(taskId)).status.state));
  await contexts.settleDown();
  expect(await states()).toEqual(['working', 'submitted', 'completed']);
  await contexts.pass({ minutes: 6 });
  expect(await states()).toEqual(['completed', 'working', 'completed']);
});

it('served: a workflow knows its caller by the credential, and rejects those without a company', async () => {
  const payrolls = createTestApp(accessApp);
  const outcomes = [];
  for (const tenant of [undefined, 'acme']) {
    const caller = { id: 'ann', roles: ['call'], ...(tenant === undefined ? undefined : { tenant }) } as const;
    const own = createTasks({ ...payrolls.deps, caller }, accessApp.serve!);
    const message = { messageId: 'm1', role: 'user', parts: [] } as const;
    const { taskId } = await own.send({ message, skill: 'payroll', arguments: { month: '2026-10' } });
    await payrolls.settleDown();
    const { status, artifacts } = await own.read(taskId);
    outcomes.push([status.state, artifacts[0]?.parts]);
  }
  expect(outcomes).toEqual([
    ['rejected', undefined],
    ['completed', [{ data: { month: '2026-10', company: 'acme', readBy: 'ann' } }]],
  ]);
});

it('served: a receiver takes the pushes that the agent has signed for it, and no others', async () => {
  const seed = { keyId: 'k1', seed: new Uint8Array(32).fill(3) };
  vi.stubGlobal('fetch', async () => Response.json(publicKeys([seed])));
  const url = 'https://caller.example.com/pushes';
  const taken: unknown[] = [];
  const receive = pushReceiver(url, async (push) => void taken.push(push));
  const body = '{"statusUpdate":{}}';
  const claims = { issuer: 'https://flows.example.com', audience: url, id: 'p1', taskId: 't1', body, atMs: Date.now() };
  const send = async (sent: string, signed: typeof claims) => {
    const headers = { 'outwait-signature': await signPush(seed, signed) };
    return (await receive(new Request(url, { method: 'POST', headers, body: sent }))).status;
  };
  expect(await send(body, claims)).toBe(204);
  expect(await send('{"statusUpdate":{"x":1}}', claims)).toBe(401);
  expect(await send(body, { ...claims, audience: 'https://other.example.com/' })).toBe(401);
  expect(taken).toEqual([{ taskId: 't1', news: { statusUpdate: {} } }]);
  expect(deskForOthers.pushAuth).toMatchObject({ scheme: 'jwt' });
  vi.unstubAllGlobals();
});
