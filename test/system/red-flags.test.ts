import { a2aAgent, answerWith, defineApp, defineWorkflow } from 'outwait';
import { createTestApp, scriptedServer } from 'outwait/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { EngineError } from '../../lib/base/errors.js';
import { followRun } from '../../lib/operations/views/follow-run.js';
import { pollTask } from '../../lib/operations/remote-task/poll-task.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { call, play } from '../simulation/rules/scene.js';
import { closeAll, httpClient, serve } from '../unit/remote/loopback.js';
import { createEngineDeps } from './engine-deps.js';

// Mistakes that a caller of tasks that take minutes must never make (S2-25), each as a test of that name.

afterEach(closeAll);

const limits = { remainingMs: () => 60_000 };

describe('red flag (S2-25)', () => {
  it('holding a request open: while the task runs there is no request and no turn', async () => {
    let open = 0;
    const task = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } };
    const server = await serve(({ body }, response) => {
      open++;
      response.on('close', () => open--);
      const result = body.method === 'SendMessage' ? { task } : task;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result }));
    });
    const quote = defineWorkflow({
      name: 'quote',
      run: (ctx) => ctx.callRemoteTask({ server: 'supplier', skill: 'quote' }),
    });
    let nowMs = 1_800_000_000_000;
    const deps = createEngineDeps({
      app: defineApp({ workflows: [quote], servers: { supplier: a2aAgent({ url: server.url }) } }),
      table: new MemoryTable(),
      clock: { nowMs: () => nowMs },
      http: httpClient(),
    });
    const { runId } = await startRun(deps, { workflow: 'quote' });
    await runTurn(deps, { runId }, limits);
    for (let minute = 0; minute < 10; minute++) {
      nowMs += 60_000;
      await pollTask(deps, { kind: 'poll', runId, waitId: '1' });
    }

    expect(open).toBe(0);
    expect(server.received.length).toBeGreaterThan(5);
    const [start] = server.received;
    expect(start?.body.params).toMatchObject({ configuration: { returnImmediately: true } });
    expect((await deps.store.heads.read(runId))?.status).toBe('running');
  });

  it('input-required as failure: a question is answered and the same task goes on', async () => {
    const order = defineWorkflow({
      name: 'order',
      run: async (ctx) => {
        const onInput = answerWith({ poNumber: '4500017' });
        return (await ctx.callRemoteTask({ server: 'supplier', skill: 'order', onInput })).result;
      },
    });
    const supplier = scriptedServer({
      protocol: 'a2a',
      task: () => ({ asks: [{ message: 'Which PO number?' }], result: 'ordered' }),
    });
    const config = defineApp({
      workflows: [order],
      servers: { supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }) },
    });
    const app = createTestApp(config, { servers: { supplier } });

    expect(await app.runToEnd(await app.start(order))).toEqual({ status: 'completed', result: 'ordered' });
    expect(supplier.starts).toHaveLength(1);
    expect(supplier.answers).toHaveLength(1);
  });

  it('resubmit on drop: a stream that breaks is followed again, and nothing is sent twice', async () => {
    const build = defineWorkflow({
      name: 'build',
      run: async (ctx) => (await ctx.callRemoteTask({ server: 'supplier', skill: 'build', watch: true })).result,
    });
    const script = scriptedServer({ protocol: 'a2a', task: () => ({ after: { minutes: 10 }, result: 'built' }) });
    let streams = 0;
    const supplier = Object.assign(script, {
      watch: async () => {
        streams++;
        throw new EngineError('REMOTE_UNREACHABLE', 'the stream broke');
      },
    });
    const config = defineApp({
      workflows: [build],
      servers: { supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }) },
    });
    const app = createTestApp(config, { servers: { supplier } });
    const runId = await app.start(build);
    await app.settleDown();
    let { nextAfter: after } = await followRun(app.deps, runId, {});
    for (let question = 0; question < 3; question++) {
      const following = followRun(app.deps, runId, { after, waitMs: 5_000 });
      await app.pass({ seconds: 6 });
      after = (await following).nextAfter;
    }

    expect(streams).toBe(3);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'built' });
    expect(supplier.starts).toHaveLength(1);
  });

  it('id only in memory: the process that started the task dies, and another finds its id', async () => {
    const { world, outcome, unplayed } = await play({
      run: async (ctx) => call(ctx, 'r1'),
      tools: { r1: 300 },
      dedupes: false,
      script: [{ who: 'turn 1', at: 'poll', what: 'crash' }],
    });

    expect(outcome).toEqual({ status: 'completed', result: 'r1' });
    expect(world.remote.starts).toHaveLength(1);
    expect(unplayed).toEqual([]);
  });

  it('unauthenticated completion: a caller without the token settles nothing', async () => {
    const waits = defineWorkflow({ name: 'waits', run: async (ctx) => (await ctx.externalToken()).outcome });
    const app = createTestApp(defineApp({ workflows: [waits] }));
    const runId = await app.start(waits);
    await app.settleDown();
    const token = await app.tokenOf(runId, 'token');
    const [run, wait, keyId, mac = ''] = token.split('.');
    const forged = [
      `${runId}.1`,
      [run, '2', keyId, mac].join('.'),
      [run, wait, keyId, 'A'.repeat(mac.length)].join('.'),
      [run, wait, 'other', mac].join('.'),
      token.slice(0, -1),
    ];
    for (const text of forged) {
      const outcome = { kind: 'completed', result: 'paid', isError: false } as const;
      await expect(settleToken(app.deps, { token: text, outcome }), text).rejects.toMatchObject({
        code: 'TOKEN_INVALID',
      });
    }

    expect((await app.show(runId)).status).toBe('running');
    expect((await app.deps.store.tokens.read(runId, '1'))?.settlement).toBeUndefined();
    expect(await app.settle(token, 'paid')).toBe(true);
  });
});
