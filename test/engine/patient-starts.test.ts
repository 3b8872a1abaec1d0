import { describe, expect, it } from 'vitest';
import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import {
  createTestApp,
  scriptedServer,
  type TestApp,
  type ScriptedServerOptions,
  type ScriptedTask,
} from 'outwait/testing';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { makeRemoteStart } from '../../lib/operations/remote-task/make-remote-start.js';
import type { StartMessage } from '../../lib/queue/queue.js';
import { aFlow, endedAfterMs, eventTypes, started, startedIn, startMs, statusesOf, type Started } from './support.js';

const S = 1_000;

/** Creates a server that takes its time to answer starts. */
function slowly(task: ScriptedTask, more: Partial<ScriptedServerOptions> = {}) {
  return scriptedServer({ protocol: 'mcp', answersAtOnce: false, task: () => task, ...more });
}

const calling = (timeout?: { readonly minutes: number }) =>
  aFlow(async (ctx) => {
    const call = { server: 'reports', tool: 'write', ...(timeout === undefined ? {} : { timeout }) } as const;
    return (await ctx.callRemoteTask(call)).result;
  });

describe('a server that answers a start only when its work is done (F62, F75)', () => {
  for (const dedupes of [true, false]) {
    it(`ends the call with its answer of ${dedupes ? 'a minute' : '2 minutes'}, and is called once (dedupes: ${dedupes})`, async () => {
      const reports = slowly({ answersAfter: { minutes: dedupes ? 1 : 2 }, result: 'written' }, { dedupes });
      const run = await started(calling(), { reports });
      expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'written' });
      expect(reports.starts).toHaveLength(1);
      expect(await endedAfterMs(run)).toBe((dedupes ? 60 : 120) * S);
      expect(await eventTypes(run)).toEqual([
        ...['RunStarted', 'RemoteTaskRequested', 'TokenSettled', 'RunEnding', 'RunEnded'],
      ]);
    });
  }

  it('is shown as under way with a worker, until when that counts as alive', async () => {
    const run = await started(calling(), { reports: slowly({ answersAfter: { minutes: 2 } }) });
    await run.app.pass({ minutes: 1 });
    const [wait] = (await run.app.show(run.runId)).waits;
    expect(wait).toMatchObject({ kind: 'remoteTask', leaseUntilMs: startMs + 660 * S });
    expect(wait).not.toHaveProperty('nextAtMs');
  });

  it('F74 is looked at anew when a process begins that is the only one of its table: whoever called has died', async () => {
    const run = await started(calling(), { reports: slowly({ answersAfter: { minutes: 9 } }, { dedupes: false }) });
    await run.app.pass({ minutes: 1 });
    const { deps } = run.app;
    const sent: StartMessage[] = [];
    const queues: typeof deps.queues = { ...deps.queues, sendStart: async (message) => void sent.push(message) };
    await fanOutDue({ ...deps, queues });
    expect(sent).toEqual([]);
    await fanOutDue({ ...deps, queues }, { atBoot: true });
    const { runId } = run;
    expect(sent).toEqual([{ kind: 'start', runId, waitId: '1', dueAtMs: startMs + 660 * S }]);
    expect(await makeRemoteStart(deps, sent[0]!, { remainingMs: () => 900 * S })).toBe('done');
    expect(await run.app.runToEnd(runId)).toMatchObject({ error: { code: 'REMOTE_START_AMBIGUOUS' } });
    expect(await endedAfterMs(run)).toBe(60 * S);
  });

  it('may name a running task late, which is read from then on', async () => {
    const reports = slowly({ answersAfter: { minutes: 3 }, after: { minutes: 10 }, result: 'written' });
    const run = await started(calling(), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'written' });
    expect(reports.starts).toHaveLength(1);
    expect(await eventTypes(run)).toContain('RemoteTaskStarted');
  });

  it('is waited for until the deadline of the call, which says that the start had no answer', async () => {
    const reports = slowly({ answersAfter: { minutes: 5 }, result: 'written' }, { dedupes: false });
    const run = await started(calling({ minutes: 2 }), { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: {
        code: 'REMOTE_TASK_TIMED_OUT',
        message:
          'the start of remote task "write" on "reports" got no answer within 120 s (no answer): a task may be running there',
        details: { phase: 'start' },
      },
    });
    expect(await endedAfterMs(run)).toBe(120 * S);
    expect(reports.starts).toHaveLength(1);
  });

  it('is waited for ten minutes, after which the fate of the start is unknown', async () => {
    const reports = slowly({ answersAfter: { minutes: 15 }, result: 'written' }, { dedupes: false });
    const run = await started(calling(), { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_START_AMBIGUOUS' } });
    expect(await endedAfterMs(run)).toBe(600 * S);
    expect(reports.starts).toHaveLength(1);
  });

  it('is called again after ten minutes if it dedupes', async () => {
    let starts = 0;
    const reports = slowly(
      {},
      {
        task: () => ({ result: 'written', ...(++starts === 1 ? { answersAfter: { minutes: 15 } } : {}) }),
      },
    );
    const run = await started(calling(), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'written' });
    expect(reports.starts).toHaveLength(2);
    expect(await endedAfterMs(run)).toBe(601 * S);
  });

  it('may ask before it begins, and is started again with the answer', async () => {
    const reports = slowly({ answersAfter: { minutes: 1 }, result: 'written', asksFirst: [{ message: 'which?' }] });
    const flow = aFlow(async (ctx) => {
      const onInput = async () => ({ action: 'accept', content: { it: 'this' } }) as const;
      return (await ctx.callRemoteTask({ server: 'reports', tool: 'write', onInput })).result;
    });
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'written' });
    expect(reports.starts).toHaveLength(2);
    expect(reports.answers).toHaveLength(1);
    expect(await endedAfterMs(run)).toBe(120 * S);
  });

  it('is refused a start for good, and the call fails', async () => {
    const reports = slowly({ answersAfter: { minutes: 1 }, refusal: 'no such tool' });
    const run = await started(calling(), { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_START_REFUSED' } });
  });
});

describe('a run that ends while a worker waits for the answer to its start', () => {
  for (const dedupes of [true, false]) {
    it(`has the task cancelled when it is known, and starts no other (dedupes: ${dedupes})`, async () => {
      const reports = slowly({ answersAfter: { minutes: 3 }, after: { hours: 1 } }, { dedupes });
      const run = await started(calling(), { reports });
      await run.app.pass({ minutes: 1 });
      await run.app.cancel(run.runId);
      expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'cancelled' });
      expect(await endedAfterMs(run)).toBe(60 * S);
      await run.app.pass({ minutes: 30 });
      expect(reports.starts).toHaveLength(1);
      expect(reports.cancels).toBe(1);
      expect((await run.app.deps.store.heads.read(run.runId))?.dueAtMs).toBeUndefined();
    });
  }
});

describe('200 starts that take minutes, beside 200 runs that call others', () => {
  it('hold no turn: all others end as if they were alone', async () => {
    const reports = slowly({ answersAfter: { minutes: 8 }, result: 'written' });
    const supplier = scriptedServer({ protocol: 'a2a', task: () => ({ after: { seconds: 20 }, result: 'quoted' }) });
    const slow = defineWorkflow<unknown>({
      name: 'slow',
      run: async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'write' })).result,
    });
    const quick = defineWorkflow<unknown>({
      name: 'quick',
      run: async (ctx) => (await ctx.callRemoteTask({ server: 'supplier', skill: 'quote', arguments: {} })).result,
    });
    const { app } = await startedIn([slow, quick], null, { reports, supplier });
    const runIds: string[] = [];
    for (let at = 0; at < 200; at++) {
      await app.start(slow, null);
      runIds.push(await app.start(quick, null));
    }
    await app.pass({ minutes: 2 });
    expect(reports.starts.length).toBe(201);
    expect(await statusesOf({ app }, 'quick')).toEqual(runIds.slice(0, 100).map(() => 'completed'));
    for (const runId of runIds) expect((await app.show(runId)).status).toBe('completed');
    await app.pass({ minutes: 8 });
    expect(reports.starts.length).toBe(201);
    expect(await statusesOf({ app }, 'slow')).toEqual(runIds.slice(0, 100).map(() => 'completed'));
  });
});

describe('a server that names its running task at once', () => {
  const counted = (run: Started): { starts: () => number } => {
    const { queues } = run.app.deps;
    let starts = 0;
    const sendStart = queues.sendStart.bind(queues);
    queues.sendStart = async (...given) => {
      starts++;
      await sendStart(...given);
    };
    return { starts: () => starts };
  };
  const twice = aFlow(async (ctx) => {
    for (const tool of ['one', 'two']) await ctx.callRemoteTask({ server: 'reports', tool });
    return 'done';
  });

  it('is remembered as prompt: only its first start goes by way of a worker', async () => {
    const reports = slowly({ after: { minutes: 1 } });
    const run = await started(twice, { reports });
    const { starts } = counted(run);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(starts()).toBe(1);
    expect(await run.app.deps.store.servers.read('reports')).toMatchObject({ isPrompt: true });
  });

  it('is not taken for prompt because it has once answered quickly with the end of its work', async () => {
    const reports = slowly({ result: 'short work' });
    const run = await started(twice, { reports });
    const { starts } = counted(run);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(starts()).toBe(2);
  });

  it('is forgotten at its first slow answer', async () => {
    let calls = 0;
    const task = (): ScriptedTask => ({
      after: { minutes: 1 },
      ...(++calls === 2 ? { answersAfter: { minutes: 1 } } : {}),
    });
    const { app } = await started(
      aFlow(async (ctx) => ctx.sleep({ days: 1 })),
      { reports: slowly({}, { task }) },
    );
    const start = (idempotencyKey: string) =>
      app.deps.transports.get('reports').start({
        request: { kind: 'tool', tool: 'one', arguments: {} },
        idempotencyKey,
        untilMs: app.clock.nowMs() + 600_000,
      });
    await start('quick');
    expect(await app.deps.store.servers.read('reports')).toMatchObject({ isPrompt: true });
    await Promise.all([start('slow'), app.pass({ minutes: 2 })]);
    expect(await app.deps.store.servers.read('reports')).not.toHaveProperty('isPrompt');
  });
});

describe('a start that is held back', () => {
  it('until the deadline of its call says that nothing was started, and why (F67)', async () => {
    for (const answersAtOnce of [true, false]) {
      const reports = slowly({ never: true }, { answersAtOnce });
      const run = await started(calling({ minutes: 2 }), { reports });
      await run.app.deps.store.servers.hold('reports', run.app.clock.nowMs() + 600_000);
      expect(await run.app.runToEnd(run.runId)).toMatchObject({
        status: 'failed',
        error: {
          code: 'REMOTE_TASK_TIMED_OUT',
          message:
            'remote task "write" on "reports" was not started within 120 s ("reports" is left alone for now: it asked for a pause)',
          details: { phase: 'start', reason: '"reports" is left alone for now: it asked for a pause' },
        },
      });
      expect(reports.starts).toEqual([]);
    }
  });

  it('by the limits of its server waits with its worker for a place, and takes none of another call', async () => {
    const reports = slowly({ answersAfter: { minutes: 2 }, result: 'written' });
    const flow = defineWorkflow<unknown>({
      name: 'flow',
      run: async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'write' })).result,
    });
    const app = createTestApp(
      defineApp({
        workflows: [flow],
        servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp', limits: { concurrency: 1 } }) },
      }),
      { servers: { reports } },
    );
    const runIds = [await app.start(flow, null), await app.start(flow, null)];
    await app.pass({ seconds: 115 });
    expect(reports.starts).toHaveLength(1);
    for (const runId of runIds) expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'written' });
    expect(reports.starts).toHaveLength(2);
    // Its slot is a lease that outlasts the call and is released as soon as the call ends.
    expect(app.clock.nowMs() - startMs).toBeLessThan(250 * S);
  });

  it('by a worker until the deadline says so too', async () => {
    const reports = slowly({ answersAfter: { minutes: 9 }, result: 'written' });
    const flow = defineWorkflow<unknown>({
      name: 'flow',
      run: async (ctx) =>
        (await ctx.callRemoteTask({ server: 'reports', tool: 'write', timeout: { minutes: 5 } })).result,
    });
    const limits = { perMinute: 1 };
    const app = createTestApp(
      defineApp({
        workflows: [flow],
        servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp', limits }) },
      }),
      { servers: { reports } },
    );
    // Another caller takes the one request of every minute.
    const taking = await setTaken(app);
    const runId = await app.start(flow, null);
    expect(await app.runToEnd(runId, { within: { minutes: 10 } })).toMatchObject({
      error: {
        code: 'REMOTE_TASK_TIMED_OUT',
        message: expect.stringMatching(
          /was not started within 300 s .*its limit of 1 requests a minute is reached/,
        ) as unknown,
      },
    });
    expect(reports.starts).toEqual([]);
    expect(taking).toBeDefined();
  });
});

/** Leaves nothing of the requests of any minute. */
async function setTaken(app: TestApp): Promise<TestApp> {
  const limits = await app.deps.store.servers.limits();
  for (let minute = 0; minute < 10; minute++) {
    const taken = { kind: 'starts', minute: startMs / 60_000 + minute, count: 1, readsBefore: undefined } as const;
    await limits.openMinute('reports', taken);
  }
  return app;
}
