import { createTestApp } from 'outwait/testing';
import { expect, it } from 'vitest';
import app from '../../../examples/features/served.js';
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
