import { askPerson, defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp, scriptedServer, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { EventBus } from '../../lib/bus/event-bus.js';
import { MemoryBus } from '../../lib/bus/memory-bus.js';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import type { LifecycleEvent } from '../../lib/history/lifecycle-event.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { WarmRuns } from '../../lib/operations/warm-runs.js';
import { aFlow, anApp, started, startMs } from './support.js';

const exported = { server: 'reports', tool: 'export' };
const mcp = (task: Parameters<typeof scriptedServer>[0]['task']) => scriptedServer({ protocol: 'mcp', task });

/** Runs a workflow with a bus, and returns what was published. */
async function toldOf(
  run: (ctx: WorkflowContext) => Promise<unknown>,
  task: Parameters<typeof mcp>[0] = () => ({}),
): Promise<{ readonly app: TestApp; readonly runId: string }> {
  return started(aFlow(run), { reports: mcp(task) }, { bus: true });
}

const typesOf = (events: readonly LifecycleEvent[]): readonly string[] => events.map(({ type }) => type);

describe('lifecycle events', () => {
  it('tell of a run and its remote task where each began and ended', async () => {
    const { app, runId } = await toldOf(
      async (ctx) => (await ctx.callRemoteTask(exported)).result,
      () => ({ after: { hours: 1 }, result: { rows: 4 } }),
    );
    await app.settleDown();
    const run = { runId, workflow: 'flow', version: '1' };
    const task = { waitId: '1', server: 'reports', name: 'export' };
    // Published as soon as the task runs, although its end is an hour away.
    expect(app.lifecycleEvents()).toEqual([
      { ...run, type: 'RunStarted', eventId: `${runId}:1:0`, seq: 1, atMs: startMs },
      { ...run, ...task, type: 'RemoteTaskStarted', eventId: `${runId}:2:0`, seq: 2, atMs: startMs, protocol: 'mcp' },
    ]);
    await app.runToEnd(runId);
    const [, , settled, completed] = app.lifecycleEvents();
    expect(settled).toEqual({
      ...run,
      ...task,
      type: 'RemoteTaskSettled',
      eventId: `${runId}:3:0`,
      seq: 3,
      atMs: settled?.atMs,
      outcome: 'completed',
      isError: false,
      settledBy: 'poll',
    });
    expect(completed).toMatchObject({ type: 'RunCompleted', eventId: `${runId}:3:2`, seq: 3 });
    expect(app.lifecycleEvents()).toHaveLength(4);
  });

  it('tell of a failure by its code and hold no text, payload or id of anybody else', async () => {
    const secret = 'canary-4711';
    const { app, runId } = await toldOf(
      async (ctx) => {
        await ctx.callRemoteTask({ ...exported, arguments: { of: secret } });
      },
      () => ({ after: { minutes: 5 }, failure: secret }),
    );
    await app.runToEnd(runId);
    const events = app.lifecycleEvents();
    expect(events).toMatchObject([
      { type: 'RunStarted' },
      { type: 'RemoteTaskStarted' },
      { type: 'RemoteTaskSettled', outcome: 'failed', code: 'REMOTE_TASK_FAILED' },
      { type: 'RunFailed', code: 'REMOTE_TASK_FAILED' },
    ]);
    const { taskId } = (await app.history(runId)).events.flatMap((event) =>
      event.type === 'RemoteTaskStarted' ? [event.handle] : [],
    )[0]!;
    expect(JSON.stringify(events)).not.toContain(secret);
    expect(JSON.stringify(events)).not.toContain(taskId);
  });

  it('say that a result is an error, and which task timed out', async () => {
    const { app, runId } = await toldOf(
      async (ctx) => {
        await ctx.callRemoteTask(exported);
        await ctx.callRemoteTask({ server: 'reports', tool: 'never', timeout: { minutes: 5 } }).catch(() => undefined);
      },
      (request) => (request.kind === 'tool' && request.tool === 'never' ? { never: true } : { isError: true }),
    );
    await app.runToEnd(runId);
    expect(app.lifecycleEvents().filter(({ type }) => type === 'RemoteTaskSettled')).toMatchObject([
      { name: 'export', outcome: 'completed', isError: true },
      { name: 'never', outcome: 'timed_out', settledBy: 'timeout' },
    ]);
  });

  it('tell of a task that the end of its run closes, ahead of that end', async () => {
    const { app, runId } = await toldOf(
      async (ctx) => ctx.callRemoteTask(exported),
      () => ({ never: true }),
    );
    await app.pass({ minutes: 1 });
    await app.cancel(runId, 'enough');
    await app.runToEnd(runId);
    expect(app.lifecycleEvents().slice(2)).toMatchObject([
      { eventId: `${runId}:4:0:1`, type: 'RemoteTaskSettled', waitId: '1', outcome: 'run_ended', settledBy: 'end' },
      { eventId: `${runId}:4:0`, type: 'RunCancelled' },
    ]);
    expect(JSON.stringify(app.lifecycleEvents())).not.toContain('enough');
  });

  it('tell of a task that lost a race while its run goes on', async () => {
    const { app, runId } = await toldOf(
      async (ctx) => {
        await ctx.race([(branch) => branch.callRemoteTask(exported), (branch) => branch.sleep({ minutes: 1 })]);
        await ctx.sleep({ days: 1 });
      },
      () => ({ never: true }),
    );
    await app.runToEnd(runId);
    expect(app.lifecycleEvents().slice(2)).toMatchObject([
      { type: 'RemoteTaskSettled', waitId: '1', outcome: 'abandoned', settledBy: 'end' },
      { type: 'RunCompleted' },
    ]);
  });

  it('tell of a question for a person when it can be found under its id, without its text', async () => {
    const { app, runId } = await toldOf(
      async (ctx) => {
        await ctx.ask({ message: 'Really?', server: 'reports', timeout: { hours: 2 } });
        await ctx.callRemoteTask({ ...exported, onInput: askPerson() });
      },
      () => ({ asks: [{ message: 'Sure?' }] }),
    );
    await app.settleDown();
    const [own] = await app.inputs();
    await app.answer(own?.inputId ?? '', { action: 'accept' });
    await app.pass({ minutes: 10 });
    const [remote] = await app.inputs();
    const asked = app.lifecycleEvents().filter(({ type }) => type === 'InputRequired');
    expect(asked).toMatchObject([
      { inputId: own?.inputId, waitId: '1', server: 'reports', deadlineAtMs: startMs + 7_200_000 },
      { inputId: remote?.inputId, waitId: '3' },
    ]);
    expect(JSON.stringify(asked)).not.toMatch(/Really|Sure/);
    expect(asked.every((event) => event.runId === runId)).toBe(true);
  });

  it('say whose child a run is, and which run it goes on as', async () => {
    const child = defineWorkflow({ name: 'child', run: async () => 'done' });
    const parent = defineWorkflow<string>({
      name: 'parent',
      run: async (ctx, round) => {
        if (round === 'second') return;
        await ctx.child(child, null);
        return ctx.continueAsNew('second');
      },
    });
    const app = createTestApp(defineApp({ workflows: [parent, child] }), { bus: true });
    const runId = await app.start(parent, 'first');
    await app.runToEnd(runId);
    await app.settleDown();
    const of = (id: string | undefined) => app.lifecycleEvents().filter((event) => event.runId === id);
    const { nextRunId } = await app.show(runId);
    expect(of(runId)).toMatchObject([{ type: 'RunStarted' }, { type: 'RunContinued', nextRunId }]);
    expect(of(nextRunId)).toMatchObject([{ type: 'RunStarted', previousRunId: runId }, { type: 'RunCompleted' }]);
    const ofChild = app.lifecycleEvents().filter(({ workflow }) => workflow === 'child');
    expect(ofChild).toMatchObject([{ type: 'RunStarted', parentRunId: runId }, { type: 'RunCompleted' }]);
  });

  it('carry the tags of their run', async () => {
    const { app } = await toldOf(async () => 1);
    const { runId } = await startRun(app.deps, { workflow: 'flow', input: null, tags: { team: 'a' } });
    await app.settleDown();
    const events = app.lifecycleEvents().filter((event) => event.runId === runId);
    expect(events).toMatchObject([{ tags: { team: 'a' } }, { tags: { team: 'a' } }]);
  });

  it('tell of a cancel ahead of a delayed start without a start', async () => {
    const { app } = await toldOf(async () => 1);
    const { runId } = await startRun(app.deps, { workflow: 'flow', input: null, delayMs: 60_000 });
    await app.cancel(runId);
    await app.pass({ minutes: 5 });
    expect(typesOf(app.lifecycleEvents().filter((event) => event.runId === runId))).toEqual(['RunCancelled']);
  });

  it('cost a run nothing without a bus: no commit and no attribute', async () => {
    const flow = aFlow(async (ctx) => (await ctx.callRemoteTask(exported)).result);
    const without = await started(flow, { reports: mcp(() => ({ after: { hours: 1 } })) });
    await without.app.runToEnd(without.runId);
    const records = await without.app.deps.store.runs.read(without.runId);
    expect(records?.commits).toHaveLength(2);
    expect(records?.head).not.toHaveProperty('publishedSeq');
    expect(() => without.app.lifecycleEvents()).toThrow('bus: true');
  });
});

describe('a run that was started without a bus', () => {
  it('tells nothing when there is one', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.signal('go');
      await ctx.ask({ message: 'Really?' });
    });
    const app = createTestApp(anApp(flow));
    const runId = await app.start(
      aFlow(async () => 1),
      null,
    );
    await app.settleDown();
    const bus = new MemoryBus();
    // Another process, without warm runs.
    const deps = { ...app.deps, bus, warmRuns: new WarmRuns() };
    await signalRun(app.deps, runId, { name: 'go' });
    await runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    const [asked] = await app.inputs();
    await app.answer(asked?.inputId ?? '', { action: 'accept' });
    await runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    expect((await app.show(runId)).status).toBe('completed');
    expect(bus.events).toEqual([]);
  });
});

describe('a run whose turns have little time left', () => {
  it('publishes before it hands on to the next turn, and says so', async () => {
    const app = createTestApp(anApp(aFlow(async (ctx) => ctx.step('work', () => 1))));
    const bus = new MemoryBus();
    const deps = { ...app.deps, bus };
    const { runId } = await startRun(deps, { workflow: 'flow', input: null });
    // Less time than a step may take, which is 30 s.
    await runTurn(deps, { runId }, { remainingMs: () => 15_000 });
    await runTurn(deps, { runId }, { remainingMs: () => 15_000 });
    expect(typesOf(bus.events)).toEqual(['RunStarted']);
    expect(await deps.store.heads.read(runId)).toMatchObject({ publishedSeq: 1, dueAtMs: startMs });
  });

  it('lets a slow bus know when to give up', async () => {
    const app = createTestApp(anApp(aFlow(async (ctx) => ctx.sleep({ days: 30 }))));
    const asked: unknown[] = [];
    let remainingMs = 60_000;
    const bus: EventBus = {
      publish: async (_, hasTime) => {
        asked.push(hasTime?.());
        remainingMs = 9_999;
        asked.push(hasTime?.());
      },
    };
    const deps = { ...app.deps, bus };
    const { runId } = await startRun(deps, { workflow: 'flow', input: null });
    await runTurn(deps, { runId }, { remainingMs: () => remainingMs });
    expect(asked).toEqual([true, false]);
  });

  it('publishes in a later one, and the sweep brings it back for that', async () => {
    const app = createTestApp(anApp(aFlow(async (ctx) => ctx.sleep({ days: 30 }))));
    const bus = new MemoryBus();
    const deps = { ...app.deps, bus };
    const { runId } = await startRun(deps, { workflow: 'flow', input: null });
    await runTurn(deps, { runId }, { remainingMs: () => 9_000 });
    expect(bus.events).toEqual([]);
    app.clock.moveTo(startMs + 61_000);
    expect(await fanOutDue(deps)).toMatchObject({ wakes: 1, oldestDueAgeMs: 61_000 });
    await runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
    expect(typesOf(bus.events)).toEqual(['RunStarted']);
    expect((await deps.store.heads.read(runId))?.dueAtMs).toBe(startMs + 30 * 86_400_000);
  });
});
