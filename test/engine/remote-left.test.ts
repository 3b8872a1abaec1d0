import { a2aAgent, defineApp, mcpServer, type RemoteCall } from 'outwait';
import { createTestApp, scriptedServer, type ScriptedTask } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { CancelReply, StartReply, StartRequest } from '../../lib/remote/transport.js';
import { cancelRemoteTask } from '../../lib/operations/requests/cancel-remote-task.js';
import { listRemoteTasks } from '../../lib/operations/views/list-remote-tasks.js';
import { pollRemoteTask } from '../../lib/operations/requests/poll-remote-task.js';
import { stopRemote } from '../../lib/operations/remote-task/stop-remote.js';
import { aFlow, started, startMs, WatchedServer, type Started } from './support.js';

const page = { orphaned: true, limit: 100 } as const;

function calling(call: Partial<RemoteCall>): ReturnType<typeof aFlow> {
  return aFlow(async (ctx) =>
    ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 6 }, ...call } as RemoteCall),
  );
}

/** Races two branches: the call loses after an hour, and the run continues for a day. */
function losing(call: Partial<RemoteCall>): ReturnType<typeof aFlow> {
  return aFlow(async (ctx) => {
    await ctx.race([
      async (c) => c.callRemoteTask({ server: 'reports', tool: 'export', ...call } as RemoteCall),
      async (c) => c.sleep({ hours: 1 }),
    ]);
    await ctx.sleep({ days: 1 });
  });
}

async function orphansOf({ app }: Started): Promise<readonly unknown[]> {
  const { tasks } = await listRemoteTasks(app.deps, page);
  return tasks.map(({ waitId, server, taskId, state, sinceMs }) => {
    return { waitId, server, taskId, state, sinceS: (sinceMs - startMs) / 1_000 };
  });
}

class UnansweringServer extends WatchedServer {
  override async cancel(): Promise<CancelReply> {
    this.cancels++;
    return { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'status 503' } };
  }
}

describe('a task whose wait ends first', () => {
  it.each<[string, Partial<RemoteCall>, number]>([
    ['is cancelled at its timeout, and not left, where the call says nothing', {}, 1],
    ['is left at its timeout where the call says so', { onTimeout: 'leave' }, 0],
    ['is cancelled at its timeout though a cancel would leave it', { onCancel: 'leave' }, 1],
  ])('%s (GB-04, S2-16, S2-17, A2A-C27)', async (_, call, cancels) => {
    const reports = new WatchedServer();
    const run = await started(calling(call), { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    await run.app.pass({ hours: 1 });
    expect(reports.cancels).toBe(cancels);
    const left = { waitId: '1', server: 'reports', taskId: 'task-1', state: 'left', sinceS: 21_600 };
    expect(await orphansOf(run)).toEqual(cancels === 0 ? [left] : []);
  });

  it.each<[string, Partial<RemoteCall>, number]>([
    ['is cancelled with its run, once', {}, 1],
    ['is left by a cancel of its run where the call says so', { onCancel: 'leave' }, 0],
  ])('%s (GB-04, A2A-C30)', async (_, call, cancels) => {
    const reports = new WatchedServer();
    const run = await started(calling(call), { reports });
    await run.app.pass({ minutes: 5 });
    await run.app.cancel(run.runId);
    await run.app.pass({ hours: 2 });
    expect((await run.app.show(run.runId)).status).toBe('cancelled');
    expect(reports.cancels).toBe(cancels);
    expect(await orphansOf(run)).toHaveLength(1 - cancels);
  });

  it('is left when it loses a race, where the call says so, while the run goes on (GB-04)', async () => {
    const reports = new WatchedServer();
    const run = await started(losing({ onCancel: 'leave' }), { reports });
    await run.app.pass({ hours: 2 });
    expect(reports.cancels).toBe(0);
    expect(await orphansOf(run)).toEqual([
      { waitId: '1', server: 'reports', taskId: 'task-1', state: 'left', sinceS: 3_600 },
    ]);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(reports.cancels).toBe(0);
  });

  it('is left by a terminate too, and by a run that ends without it', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) =>
      Promise.race([
        ctx.callRemoteTask({ server: 'reports', tool: 'export', onCancel: 'leave' }),
        ctx.sleep({ minutes: 5 }),
      ]),
    );
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(reports.cancels).toBe(0);
    expect(await orphansOf(run)).toHaveLength(1);
  });

  it('whose server refuses the cancel fails nothing, and is listed (GB-04, A2A-C31)', async () => {
    const reports = new WatchedServer({ task: { never: true, refusesCancel: true } });
    const run = await started(losing({}), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(reports.cancels).toBe(1);
    expect(await run.app.deps.store.tokens.read(run.runId, '1')).toMatchObject({
      cancel: { kind: 'refused', atMs: startMs + 3_600_000 },
    });
    expect(await orphansOf(run)).toMatchObject([{ state: 'refused' }]);
  });

  it('whose server does not answer is retried for a day, then given up and listed', async () => {
    const reports = new UnansweringServer();
    const run = await started(calling({}), { reports });
    await run.app.pass({ minutes: 5 });
    await run.app.cancel(run.runId);
    await run.app.pass({ hours: 12 });
    expect(await orphansOf(run)).toEqual([]);
    expect(reports.cancels).toBeGreaterThan(100);
    await run.app.pass({ hours: 13 });
    const { cancels } = reports;
    await run.app.pass({ days: 1 });
    expect(reports.cancels).toBe(cancels);
    expect(await orphansOf(run)).toMatchObject([{ state: 'gaveUp' }]);
  });

  it.each<[string, Partial<RemoteCall>, number]>([
    ['is cancelled with the handle in hand', {}, 1],
    ['is left where the call says so, and listed', { onCancel: 'leave' }, 0],
  ])('before its start is answered %s (GB-05, A2A-C32)', async (_, call, cancels) => {
    let answer: () => void = () => undefined;
    class SlowServer extends WatchedServer {
      override async start(request: StartRequest): Promise<StartReply> {
        await new Promise<void>((resolve) => (answer = resolve));
        return super.start(request);
      }
    }
    const reports = new SlowServer();
    const run = await started(calling(call), { reports });
    const turn = run.app.settleDown();
    for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve));
    // Another owner ends the run meanwhile.
    const { store } = run.app.deps;
    await store.tokens.close(run.runId, '1', { writerId: 'w', atMs: startMs, outcome: 'run_ended' });
    answer();
    await turn;
    // Repeats what the end effects of that owner do.
    await store.tokens.clearMarker(run.runId, '1', { dueAtMs: startMs, hasHandle: cancels === 0 });
    expect(reports.starts).toHaveLength(1);
    expect(reports.cancels).toBe(cancels);
    expect(await orphansOf(run)).toHaveLength(1 - cancels);
  });
});

describe('the list of remote tasks (GB-32)', () => {
  it('has those of runs under way by server, each with its state', async () => {
    const task: ScriptedTask = { never: true };
    const reports = new WatchedServer({ task });
    const supplier = new WatchedServer({ protocol: 'a2a', task });
    const flow = aFlow(async (ctx) =>
      Promise.all([
        ctx.callRemoteTask({ server: 'reports', tool: 'export' }),
        ctx.callRemoteTask({ server: 'supplier', skill: 'quote' }),
      ]),
    );
    const { app, runId } = await started(flow, { reports, supplier });
    await app.pass({ minutes: 1 });
    const all = await listRemoteTasks(app.deps, { orphaned: false, limit: 20 });
    const shown = { state: 'working', stateSinceMs: startMs, changedAtMs: startMs };
    expect(all.tasks).toEqual([
      { runId, waitId: '1', server: 'reports', taskId: 'task-1', state: 'open', sinceMs: startMs, task: shown },
      { runId, waitId: '2', server: 'supplier', taskId: 'task-1', state: 'open', sinceMs: startMs, task: shown },
    ]);
    const some = await listRemoteTasks(app.deps, { orphaned: false, limit: 20, server: 'supplier' });
    expect(some.tasks.map(({ waitId }) => waitId)).toEqual(['2']);
    expect((await listRemoteTasks(app.deps, page)).tasks).toEqual([]);
  });

  it('has all orphans, page by page, also of runs that have ended', async () => {
    const flow = aFlow(async (ctx) => {
      const calls = ['a', 'b', 'c'].map((tool) => ctx.callRemoteTask({ server: 'reports', tool, onCancel: 'leave' }));
      return Promise.race([...calls, ctx.sleep({ minutes: 5 })]);
    });
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.runToEnd(runId);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const { tasks, nextAfter } = await listRemoteTasks(app.deps, {
        orphaned: true,
        limit: 2,
        ...(after === undefined ? {} : { after }),
      });
      seen.push(...tasks.map(({ waitId }) => waitId));
      after = nextAfter;
    } while (after !== undefined);
    expect(seen.sort()).toEqual(['1', '2', '3']);
  });
});

describe('a task that its server does not know yet', () => {
  const lagging = { never: true, knownFrom: { seconds: 30 } } as const;
  const isCancelled = async (reports: WatchedServer): Promise<boolean> => {
    const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 'task-1' } as const;
    return (await reports.get(handle)).kind === 'ended';
  };

  it('F07 is asked again to stop within the grace that reads have, and then stops', async () => {
    const reports = new WatchedServer({ task: lagging });
    const run = await started(calling({}), { reports });
    await run.app.pass({ seconds: 2 });
    await run.app.cancel(run.runId);
    await run.app.pass({ seconds: 10 });
    expect(reports.cancels).toBeGreaterThan(0);
    expect(await run.app.deps.store.tokens.read(run.runId, '1')).not.toHaveProperty('cancel');
    await run.app.pass({ minutes: 3 });
    expect(await isCancelled(reports)).toBe(true);
    expect(await run.app.deps.store.tokens.read(run.runId, '1')).toMatchObject({ cancel: { kind: 'sent' } });
    expect(await orphansOf(run)).toEqual([]);
    const { cancels } = reports;
    await run.app.pass({ hours: 1 });
    expect(reports.cancels).toBe(cancels);
  });

  it('F07 is asked again when it loses a race, while the run goes on', async () => {
    const reports = new WatchedServer({ task: lagging });
    const flow = aFlow(async (ctx) => {
      await ctx.race([
        async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
        async (c) => c.sleep({ seconds: 1 }),
      ]);
      await ctx.sleep({ days: 1 });
    });
    const run = await started(flow, { reports });
    await run.app.pass({ minutes: 3 });
    expect(await isCancelled(reports)).toBe(true);
  });

  it('F07 is gone after that, and is not asked for any longer', async () => {
    const reports = new WatchedServer({ task: { never: true, goneAfter: { seconds: 0 } } });
    const run = await started(calling({}), { reports });
    await run.app.pass({ seconds: 2 });
    await run.app.cancel(run.runId);
    await run.app.pass({ minutes: 5 });
    const { cancels } = reports;
    expect(cancels).toBeGreaterThan(1);
    await run.app.pass({ hours: 1 });
    expect(reports.cancels).toBe(cancels);
    expect(await orphansOf(run)).toEqual([]);
  });

  it('F07 is gone at the first word of it where it started long ago', async () => {
    const reports = new WatchedServer({ task: { never: true, goneAfter: { minutes: 4 } } });
    const run = await started(calling({}), { reports });
    await run.app.pass({ seconds: 270 });
    await run.app.cancel(run.runId);
    await run.app.pass({ hours: 1 });
    expect(reports.cancels).toBe(1);
  });

  it('F07 is asked again where its start was answered after its wait had ended', async () => {
    let answer: () => void = () => undefined;
    class SlowServer extends WatchedServer {
      override async start(request: StartRequest): Promise<StartReply> {
        const reply = await super.start(request);
        await new Promise<void>((resolve) => (answer = resolve));
        return reply;
      }
      override async cancel(handle: Parameters<WatchedServer['cancel']>[0]): Promise<CancelReply> {
        const scripted = await super.cancel(handle);
        return this.cancels === 1 ? { kind: 'gone', error: { code: 'REMOTE_UNREACHABLE', message: 'no' } } : scripted;
      }
    }
    const reports = new SlowServer();
    const run = await started(calling({}), { reports });
    const turn = run.app.settleDown();
    for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve));
    // Another owner has ended the run long before this frozen one learns of its task.
    const close = { writerId: 'w', atMs: startMs - 600_000, outcome: 'run_ended' } as const;
    await run.app.deps.store.tokens.close(run.runId, '1', close);
    answer();
    await turn;
    expect(reports.cancels).toBe(1);
    const token = (await run.app.deps.store.tokens.read(run.runId, '1'))!;
    expect(token.handle?.taskId).toBe('task-1');
    const unknown = { kind: 'gone', error: { code: 'REMOTE_UNREACHABLE', message: 'no' } } as const;
    reports.cancel = async () => unknown;
    expect(await stopRemote(run.app.deps, token, { remainingMs: () => 60_000 })).toBe('later');
    await run.app.pass({ minutes: 1 });
    expect(await stopRemote(run.app.deps, token, { remainingMs: () => 60_000 })).toMatchObject({
      cancel: { kind: 'sent' },
    });
  });

  it('F07 is not called cancelled when an operator asks too early', async () => {
    const reports = new WatchedServer({ task: lagging });
    const run = await started(calling({}), { reports });
    await run.app.pass({ seconds: 2 });
    expect(await cancelRemoteTask(run.app.deps, run.runId, '1')).toMatchObject({
      cancelled: false,
      reason: 'unanswered',
      error: { message: 'no such task' },
    });
    await run.app.pass({ minutes: 1 });
    expect(await cancelRemoteTask(run.app.deps, run.runId, '1')).toEqual({ cancelled: true });
  });

  it('F07 stays an orphan when an operator asks too early', async () => {
    const reports = new WatchedServer({ task: lagging });
    const run = await started(calling({ timeout: { seconds: 5 }, onTimeout: 'leave' }), { reports });
    await run.app.runToEnd(run.runId);
    expect((await cancelRemoteTask(run.app.deps, run.runId, '1')).cancelled).toBe(false);
    expect(await orphansOf(run)).toHaveLength(1);
    await run.app.pass({ minutes: 1 });
    expect((await cancelRemoteTask(run.app.deps, run.runId, '1')).cancelled).toBe(true);
    expect(await orphansOf(run)).toEqual([]);
  });
});

describe('an operator', () => {
  it('cancels an orphan, which then leaves the list (GB-32)', async () => {
    const reports = new WatchedServer();
    const run = await started(calling({ onTimeout: 'leave' }), { reports });
    await run.app.runToEnd(run.runId);
    expect(await orphansOf(run)).toHaveLength(1);
    expect(await cancelRemoteTask(run.app.deps, run.runId, '1')).toEqual({ cancelled: true });
    expect(reports.cancels).toBe(1);
    expect(await orphansOf(run)).toEqual([]);
    expect((await run.app.deps.store.lists.orphans(10)).rows).toEqual([]);
  });

  it('is told when the server refuses, and the task stays on the list', async () => {
    const reports = new WatchedServer({ task: { never: true, refusesCancel: true } });
    const run = await started(calling({ onTimeout: 'leave' }), { reports });
    await run.app.runToEnd(run.runId);
    expect(await cancelRemoteTask(run.app.deps, run.runId, '1')).toEqual({
      cancelled: false,
      reason: 'refused',
      error: { code: 'REMOTE_UNREACHABLE', message: 'the task cannot be cancelled' },
    });
    expect(await orphansOf(run)).toMatchObject([{ state: 'refused' }]);
  });

  it('cancels a task that a run waits for, and the run hears of it at once', async () => {
    const reports = new WatchedServer();
    const run = await started(calling({}), { reports });
    await run.app.pass({ hours: 3 });
    expect(await cancelRemoteTask(run.app.deps, run.runId, '1')).toEqual({ cancelled: true });
    await run.app.settleDown();
    expect(await run.app.show(run.runId)).toMatchObject({
      outcome: { status: 'failed', error: { code: 'REMOTE_TASK_CANCELLED' } },
    });
  });

  it('has a task read out of turn (GB-36)', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 3 }, result: 'rows' } });
    const run = await started(calling({}), { reports });
    await run.app.pass({ hours: 3 });
    const before = reports.reads;
    expect(await pollRemoteTask(run.app.deps, run.runId, '1')).toEqual({ accepted: true });
    await run.app.settleDown();
    expect(reports.reads).toBe(before + 1);
    expect((await run.app.show(run.runId)).status).toBe('completed');
    expect(await pollRemoteTask(run.app.deps, run.runId, '1')).toEqual({ accepted: false });
  });

  it.each(['2', '0', 'x'])('is told that wait %s has no remote task', async (waitId) => {
    const { app, runId } = await started(calling({}), { reports: new WatchedServer() });
    await app.settleDown();
    const notFound = { code: 'REMOTE_TASK_NOT_FOUND' };
    await expect(cancelRemoteTask(app.deps, runId, waitId)).rejects.toMatchObject(notFound);
    await expect(pollRemoteTask(app.deps, runId, waitId)).rejects.toMatchObject(notFound);
  });

  it('is told that the server is no longer configured', async () => {
    const reports = scriptedServer({ protocol: 'mcp', task: () => ({ never: true }) });
    const flow = calling({ onTimeout: 'leave' });
    const servers = { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) };
    const app = createTestApp(defineApp({ workflows: [flow], servers }), { servers: { reports } });
    const runId = await app.start(flow, null);
    await app.runToEnd(runId);
    const others = { other: a2aAgent({ url: 'https://other.example.com/a2a' }) };
    app.deploy(defineApp({ workflows: [flow], servers: others }));
    expect(await cancelRemoteTask(app.deps, runId, '1')).toMatchObject({
      cancelled: false,
      reason: 'unanswered',
      error: { code: 'SERVER_NOT_FOUND' },
    });
    expect(reports.cancels).toBe(0);
  });
});
