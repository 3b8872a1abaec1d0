import { defineApp, defineWorkflow, type TextHooks, type TextInfo, type WorkflowContext } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../lib/base/caller.js';
import { silentLog } from '../../../lib/base/log.js';
import { createTasks } from '../../../lib/operations/serve/tasks.js';
import { createA2aRoutes } from '../../../lib/serve/a2a/routes.js';
import type { Tasks } from '../../../lib/serve/tasks.js';

const ann: Caller = { id: 'ann', roles: ['call'] };

interface Served {
  readonly app: TestApp;
  readonly tasks: Tasks;
  readonly heard: unknown[];
  readonly seen: TextInfo[];
  /** Returns all that callers can read, over both revisions. */
  readonly wires: (taskId: string) => Promise<string>;
}

function served(run: (ctx: WorkflowContext, input: unknown) => Promise<unknown>, text: TextHooks): Served {
  const heard: unknown[] = [];
  const seen: TextInfo[] = [];
  const noting =
    (hook: TextHooks['incoming']): TextHooks['incoming'] =>
    (given, info) => {
      seen.push(info);
      return hook?.(given, info) ?? given;
    };
  const serve = {
    agent: { name: 'Desk', description: 'd' },
    skills: { flow: { description: 'f' } },
    onMessage: 'chat',
    text: { incoming: noting(text.incoming), outgoing: noting(text.outgoing) },
  };
  const noted = async (ctx: WorkflowContext, input: unknown) => {
    heard.push(input);
    return run(ctx, input);
  };
  const workflows = [defineWorkflow({ name: 'flow', run: noted }), defineWorkflow({ name: 'chat', run: noted })];
  const app = createTestApp(defineApp({ workflows, serve: serve as never }));
  const tasks = createTasks({ ...app.deps, caller: ann }, serve as never);
  const routes = createA2aRoutes({
    ...{
      serve: serve as never,
      workflows: app.deps.app.workflows,
      pushes: false,
      clock: app.deps.clock,
      log: silentLog,
    },
    admit: () => ({ tasks }),
  });
  const rpc = async (method: string, version: string, id: string) => {
    const headers = { 'content-type': 'application/json', ...(version === '1.0' ? { 'a2a-version': '1.0' } : {}) };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id, historyLength: 100 } });
    return (await routes.request('/a2a', { method: 'POST', headers, body })).text();
  };
  const wires = async (taskId: string) =>
    `${await rpc('GetTask', '1.0', taskId)}${await rpc('tasks/get', '0.3', taskId)}`;
  return { app, tasks, heard, seen, wires };
}

const mask = (text: string): string => text.replaceAll('secret', '***');
const hooks: TextHooks = { incoming: mask, outgoing: async (text) => Promise.resolve(mask(text)) };

const everything = async (ctx: WorkflowContext): Promise<unknown> => {
  ctx.progress('secret 1');
  ctx.progress({ of: ['secret 2'] });
  ctx.artifact({ artifactId: 'a', name: 'secret 3', description: 'secret 4', text: 'secret 5' });
  ctx.artifact({ artifactId: 'b', metadata: { of: 'secret 6' }, data: { of: 'secret 7' } });
  ctx.artifact({ artifactId: 'c', parts: [{ url: 'https://secret/', filename: 'secret 8', mediaType: 'text/plain' }] });
  const schema = { type: 'object', title: 'secret 9', properties: { n: { type: 'number', description: 'secret 10' } } };
  const { action } = await ctx.ask({ to: 'caller', message: 'secret 11', schema: schema as never });
  for await (const message of ctx.messages()) return { of: [action, message, 'secret 12'] };
  return undefined;
};

describe('serve.text', () => {
  it('is asked for every text that goes out, before it is recorded, over both revisions', async () => {
    const { app, tasks, wires, seen } = served(everything, hooks);
    const message = { messageId: 'm1', role: 'user', parts: [{ text: 'go' }] } as const;
    const { taskId } = await tasks.send({ message, skill: 'flow', arguments: { of: 'secret in' } });
    await app.settleDown();
    const asked = await wires(taskId);
    expect(asked).toContain('*** 11');
    expect(asked).not.toContain('secret');
    await tasks.send({ taskId, message: { ...message, messageId: 'm2', parts: [{ data: { n: 1, note: 'secret' } }] } });
    await app.settleDown();
    await tasks.send({ taskId, message: { ...message, messageId: 'm3', parts: [{ text: 'a secret' }] } });
    await app.pass({ minutes: 1 });
    const ended = await wires(taskId);
    for (let at = 1; at <= 12; at++) if (at !== 8) expect(ended, `text ${at}`).toContain(`*** ${at}`);
    expect(ended).not.toContain('secret');
    // What is recorded is what was shown, so every fold and push is the same.
    expect(JSON.stringify(await app.history(taskId))).not.toContain('secret');
    expect(new Set(seen.map(({ of }) => of))).toEqual(
      new Set(['arguments', 'progress', 'artifact', 'question', 'answer', 'message', 'result']),
    );
    expect(seen[0]).toMatchObject({ workflow: 'flow', taskId, callerId: 'ann' });
  });

  it('is asked for the reason of a rejection', async () => {
    const { app, tasks, wires } = served(async (ctx) => ctx.reject('secret reason'), hooks);
    const { taskId } = await tasks.send({ message: { messageId: 'm', role: 'user', parts: [{ text: 'go' }] } });
    await app.settleDown();
    expect((await tasks.read(taskId)).status.state).toBe('rejected');
    expect(await wires(taskId)).toContain('*** reason');
  });

  it('is asked for what comes in before the workflow hears it', async () => {
    const { app, tasks, heard } = served(async () => 'done', hooks);
    await tasks.send({
      message: { messageId: 'm', role: 'user', parts: [{ text: 'a secret' }, { data: { of: 'secret' } }] },
    });
    await tasks.send({
      message: { messageId: 'n', role: 'user', parts: [{ text: 'go' }] },
      skill: 'flow',
      arguments: { of: ['secret'] },
    });
    await app.settleDown();
    expect(heard).toMatchObject([{ parts: [{ text: 'a ***' }, { data: { of: '***' } }] }, { of: ['***'] }]);
  });

  it.each<[string, (ctx: WorkflowContext) => Promise<unknown>]>([
    ['a status', async (ctx) => (ctx.progress('poison'), ctx.sleep({ minutes: 1 }))],
    ['an artifact', async (ctx) => (ctx.artifact({ artifactId: 'a', text: 'poison' }), ctx.sleep({ minutes: 1 }))],
    ['a question', async (ctx) => ctx.ask({ to: 'caller', message: 'poison' })],
    ['a result', async () => ({ of: 'poison' })],
    ['a rejection', async (ctx) => ctx.reject('poison')],
    [
      'a last status',
      async (ctx) => {
        ctx.progress('poison');
      },
    ],
  ])('that throws at %s makes the task fail, and nothing of it is shown', async (_, run) => {
    const outgoing = (text: string): string => {
      if (text.includes('poison')) throw new Error(`poison: ${text}`);
      return text;
    };
    const { app, tasks, wires } = served(run, { outgoing });
    const { taskId } = await tasks.send({ message: { messageId: 'm', role: 'user', parts: [{ text: 'go' }] } });
    await app.settleDown();
    expect((await tasks.read(taskId)).status.state).toBe('failed');
    expect(await wires(taskId)).not.toContain('poison');
    expect(JSON.stringify(await app.history(taskId))).not.toContain('poison');
  });

  it('that throws at a message refuses it, and nothing is written; a message that is known stays known', async () => {
    let isHarsh = true;
    const incoming = (text: string): string => {
      if (isHarsh && text.includes('poison')) throw new Error('poison');
      return text;
    };
    const { app, tasks } = served(async (ctx) => ctx.ask({ to: 'caller', message: 'Which?' }), { incoming });
    const message = { messageId: 'm', role: 'user', parts: [{ text: 'poison' }] } as const;
    const refused = { code: 'INPUT_INVALID', message: 'the message was refused' };
    expect(await tasks.send({ message }).catch((error: unknown) => error)).toMatchObject(refused);
    expect((await tasks.list({ pageSize: 5 })).tasks).toEqual([]);
    const { taskId } = await tasks.send({ message: { ...message, parts: [{ text: 'go' }] } });
    await app.settleDown();
    const answer = { ...message, messageId: 'n' };
    expect(await tasks.send({ taskId, message: answer }).catch((error: unknown) => error)).toMatchObject(refused);
    isHarsh = false;
    await tasks.send({ taskId, message: answer });
    isHarsh = true;
    await app.settleDown();
    const { status } = await tasks.read(taskId);
    expect(status.state).toBe('completed');
    expect((await tasks.send({ taskId, message: answer })).status).toEqual(status);
  });
});
