import type { TaskProgress, WorkflowContext } from 'outwait';
import { scriptedServer, type ScriptedState } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { defined } from '../../lib/base/defined.js';
import { formatWhy } from '../../lib/cli/format.js';
import type { PollReply } from '../../lib/remote/transport.js';
import { explainRun } from '../../lib/operations/views/explain-run.js';
import { listRemoteTasks } from '../../lib/operations/views/list-remote-tasks.js';
import { readRemoteTaskNow } from '../../lib/operations/views/read-remote-task.js';
import { aFlow, started, startMs, WatchedServer } from './support.js';
import { heardMetrics } from '../support/outputs/heard.js';

const states: readonly ScriptedState[] = [
  { from: { seconds: 0 }, state: 'submitted' },
  { from: { seconds: 8 }, state: 'working', message: 'reading', progress: 0, total: 3 },
  { from: { minutes: 2 }, state: 'working', message: 'counting', progress: 1, total: 3 },
  { from: { minutes: 4 }, state: 'working', message: 'writing', progress: 2, total: 3 },
];
const aTask = (shown = states) =>
  scriptedServer({ protocol: 'a2a', task: () => ({ after: { minutes: 6 }, result: 'done', states: shown }) });

/** A flow that calls the task, and returns what its handler has heard. */
const hearing = (onProgress: (shown: TaskProgress, heard: string[], ctx: WorkflowContext) => Promise<void> | void) =>
  aFlow(async (ctx) => {
    const heard: string[] = [];
    await ctx.callRemoteTask({
      ...{ server: 'supplier', skill: 'order' },
      onProgress: (shown, inner) => onProgress(shown, heard, inner),
    });
    return heard;
  });

describe('the trail of a remote task (S2-21)', () => {
  it('has each change that a read shows, and stays when the wait has ended', async () => {
    const flow = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'supplier', skill: 'order' })).result);
    const { app, runId } = await started(flow, { supplier: aTask() });
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed' });
    const token = await app.deps.store.tokens.read(runId, '1');
    expect(token?.trail?.changes.map(({ state, message, progress }) => [state, message, progress])).toEqual([
      ['submitted', undefined, undefined],
      ['working', 'reading', 0],
      ['working', 'counting', 1],
      ['working', 'writing', 2],
      ['completed', undefined, undefined],
    ]);
    expect(token?.trail).toMatchObject({ count: 5 });
    expect(token?.trail?.changes[1]?.atMs).toBe(startMs + 10_000);
  });
});

describe('onProgress of a call', () => {
  it('hears of each change in order, before the call ends, and a replay hears the same', async () => {
    const flow = hearing(({ state, message, progress, total }, heard) => {
      heard.push(`${state} ${message ?? '-'} ${progress ?? '-'}/${total ?? '-'}`);
    });
    const { app, runId } = await started(flow, { supplier: aTask() });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: ['submitted - -/-', 'working reading 0/3', 'working counting 1/3', 'working writing 2/3'],
    });
  });

  it('hears one at a time: of changes that come while it waits, the last, and the call does not wait for it', async () => {
    const flow = hearing(async ({ message = '-' }, heard, ctx) => {
      heard.push(message);
      await ctx.sleep({ minutes: 3 });
      heard.push(`after ${message}`);
    });
    const { app, runId } = await started(flow, { supplier: aTask() });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: ['-', 'after -', 'counting', 'after counting', 'writing'],
    });
  });

  it('fails the call if it throws, and the task is cancelled', async () => {
    const supplier = aTask();
    const { app, runId } = await started(
      hearing(({ progress }) => {
        if (progress === 1) throw new Error('enough');
      }),
      { supplier },
    );
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { message: 'enough' } });
    expect(supplier.cancels).toBe(1);
  });

  it('hears of a change whose wake was lost, by the next read', async () => {
    const flow = hearing(({ state }, heard) => void heard.push(state));
    const shown = [
      { from: { seconds: 0 }, state: 'working' },
      { from: { seconds: 61 }, state: 'paused' },
    ];
    const { app, runId } = await started(flow, { supplier: aTask(shown) });
    await app.pass({ minutes: 1 });
    const { queues } = app.deps;
    const send = queues.sendTurn.bind(queues);
    Object.assign(queues, { sendTurn: async () => undefined });
    await app.pass({ seconds: 10 });
    Object.assign(queues, { sendTurn: send });
    expect((await app.deps.store.tokens.read(runId, '1'))?.trail?.changes.at(-1)?.state).toBe('paused');
    expect(JSON.stringify(await app.history(runId))).not.toContain('paused');
    await app.pass({ seconds: 30 });
    expect(JSON.stringify(await app.history(runId))).toContain('paused');
  });

  it('costs a turn only where a call has a handler, and a read without a change none', async () => {
    const without = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'supplier', skill: 'order' })).result);
    const { app, runId } = await started(without, { supplier: aTask() });
    await app.runToEnd(runId);
    expect((await app.history(runId)).events.map(({ type }) => type)).not.toContain('RemoteTaskProgressed');
    const heard = await started(
      hearing(() => undefined),
      { supplier: aTask() },
    );
    let wakes = 0;
    const { queues } = heard.app.deps;
    const send = queues.sendTurn.bind(queues);
    Object.assign(queues, {
      sendTurn: (...given: Parameters<typeof send>) => {
        wakes++;
        return send(...given);
      },
    });
    await heard.app.runToEnd(heard.runId);
    // Three reads show changes, and one shows the end.
    expect(wakes).toBe(4);
    const { events } = await heard.app.history(heard.runId);
    expect(events.filter(({ type }) => type === 'RemoteTaskProgressed')).toHaveLength(4);
  });

  it('publishes a change at most once a minute (RemoteTaskProgressed)', async () => {
    const shown = Array.from({ length: 13 }, (_, n) => ({ from: { seconds: n * 10 }, state: 'working', progress: n }));
    const { app, runId } = await started(
      hearing(() => undefined),
      { supplier: aTask(shown) },
      { bus: true },
    );
    await app.runToEnd(runId);
    const published = app.lifecycleEvents().filter((event) => event.type === 'RemoteTaskProgressed');
    const times = published.map(({ atMs }) => atMs - startMs);
    expect(times.length).toBeGreaterThan(1);
    for (const [at, time] of times.slice(1).entries()) expect(time - times[at]!).toBeGreaterThanOrEqual(60_000);
    expect(published[0]).toMatchObject({ waitId: '1', server: 'supplier', name: 'order', number: 1 });
    expect(JSON.stringify(published)).not.toContain('"state"');
  });
});

describe('the writes of a task', () => {
  const reads = async (read: (n: number) => PollReply): Promise<number> => {
    let writes = 0;
    const supplier = new WatchedServer({ protocol: 'a2a', read });
    const flow = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'supplier', skill: 'order' }));
    const { app } = await started(flow, { supplier });
    await app.pass({ minutes: 20 });
    const { polls } = app.deps.store;
    for (const method of ['claim', 'record'] as const) {
      const original = polls[method].bind(polls) as (...given: unknown[]) => unknown;
      Object.assign(polls, { [method]: (...given: unknown[]) => (writes++, original(...given)) });
    }
    await app.pass({ hours: 6 });
    return writes;
  };

  it('of a task whose message changes with each read are at most a fifth more than of one that never changes', async () => {
    const quiet = await reads(() => ({ kind: 'working', state: 'working' }));
    const chatty = await reads((n) => ({ kind: 'working', state: 'working', note: `part ${n}` }));
    expect(quiet).toBeGreaterThan(60);
    // A chain of messages has ten reads at most; the first of the next one is claimed again.
    expect(chatty).toBeLessThanOrEqual(quiet * 1.2);
  });
});

describe('what is known of a remote task', () => {
  const waiting = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'supplier', skill: 'order' })).result);

  it('is shown with the run, with its last changes, and in the list of remote tasks', async () => {
    const { app, runId } = await started(waiting, { supplier: aTask() });
    await app.pass({ minutes: 3 });
    const { waits } = await app.show(runId);
    expect(waits).toMatchObject([
      {
        task: { state: 'working', message: 'counting', progress: 1, total: 3, stateSinceMs: startMs + 10_000 },
        changes: [{ state: 'submitted' }, { message: 'reading' }, { message: 'counting' }],
      },
    ]);
    expect(waits[0]).not.toHaveProperty('stale');
    const { tasks } = await listRemoteTasks(app.deps, { orphaned: false, limit: 5 });
    expect(tasks).toMatchObject([{ state: 'open', taskId: 'task-1', task: { state: 'working', progress: 1 } }]);
    const why = formatWhy(await explainRun(app.deps, runId));
    expect(why).toContain('working since 2026-01-01T00:00:10.000Z (1 of 3): "counting"');
  });

  it('is read on request with the credentials of the server, and nothing is written', async () => {
    const { app, runId } = await started(waiting, { supplier: aTask() });
    await app.pass({ minutes: 3 });
    const before = await app.deps.store.tokens.read(runId, '1');
    app.clock.moveTo(startMs + 250_000);
    expect(await readRemoteTaskNow(app.deps, 'supplier', 'task-1')).toEqual({
      ...{ server: 'supplier', taskId: 'task-1', kind: 'working' },
      ...{ state: 'working', message: 'writing', progress: 2, total: 3, atMs: startMs + 250_000 },
      waits: [{ runId, waitId: '1', open: true, nextAtMs: before?.dueAtMs, deadlineAtMs: startMs + 86_400_000 }],
      next: 'the run that waits for the task reads it again by itself',
    });
    expect(await app.deps.store.tokens.read(runId, '1')).toEqual(before);
  });

  it('has the number that a server tells of a task for which no run waits', async () => {
    const { app } = await started(waiting, { supplier: aTask() });
    const said = { state: 'paused', note: 'two to go', progress: 1, total: 3 };
    const adopt = () => Promise.resolve({ kind: 'started', handle: {}, ...said });
    Object.assign(app.deps, { transports: { get: () => ({ adopt }) } });
    const shown = { kind: 'working', state: 'paused', message: 'two to go', progress: 1, total: 3 };
    expect(await readRemoteTaskNow(app.deps, 'supplier', 'task-7')).toMatchObject(shown);
  });

  it('is read also if no run waits for the task, and an unknown one is named in words', async () => {
    const supplier = aTask();
    const { app } = await started(waiting, { supplier });
    supplier.begin('task-7', { never: true });
    expect(await readRemoteTaskNow(app.deps, 'supplier', 'task-7')).toMatchObject({
      ...{ kind: 'working', state: 'working', waits: [] },
      next: 'no run waits for the task: a workflow can attach to it (ctx.attachRemoteTask)',
    });
    expect(await readRemoteTaskNow(app.deps, 'supplier', 'task-9')).toMatchObject({
      kind: 'missing',
      next: 'the server does not know the task: check the id, and whether the credentials of the server may see the task',
    });
    await expect(readRemoteTaskNow(app.deps, 'nobody', 'task-1')).rejects.toMatchObject({
      code: 'REMOTE_TASK_NOT_FOUND',
      message: 'no server is named "nobody"; known servers: reports, supplier',
    });
  });
});

describe('a task that no longer changes (S2-17)', () => {
  it('is stale after an hour: in the list, in what explains the run, and in the metric', async () => {
    const counted: string[] = [];
    const flow = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'supplier', skill: 'order' }));
    const supplier = scriptedServer({ protocol: 'a2a', task: () => ({ never: true }) });
    const { app, runId } = await started(flow, { supplier });
    Object.assign(app.deps, { metrics: heardMetrics({ put: (name: string) => void counted.push(name) }) });
    const stale = async (staleAfterMs?: number): Promise<number> =>
      (await listRemoteTasks(app.deps, { orphaned: false, limit: 5, stale: true, ...defined({ staleAfterMs }) })).tasks
        .length;
    await app.pass({ minutes: 59 });
    expect([await stale(), await stale(59 * 60_000), counted.includes('StaleTasks')]).toEqual([0, 1, false]);
    await app.pass({ minutes: 10 });
    expect([await stale(), counted.includes('StaleTasks')]).toEqual([1, true]);
    expect(await app.show(runId)).toMatchObject({ waits: [{ stale: true }] });
    expect(formatWhy(await explainRun(app.deps, runId))).toContain('stale: no change since 2026-01-01T00:00:00.000Z');
  });
});
