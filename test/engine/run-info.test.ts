import { defineApp, defineWorkflow, hasCode, type App, type RunInfo } from 'outwait';
import { createTestApp, replayHistory, scriptedServer, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import { defined } from '../../lib/base/defined.js';
import { showRun } from '../../lib/operations/views/show-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { startNamedRun } from '../../lib/operations/requests/start-named-run.js';
import { aFlow, started, startedIn } from './support.js';

const anyId = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
/** What JSON keeps of the facts. */
const facts = (info: RunInfo): unknown => JSON.parse(JSON.stringify(info));

const teller = defineWorkflow({ name: 'teller', run: async ({ info }) => Promise.resolve(facts(info)) });
const parent = defineWorkflow({
  name: 'parent',
  run: async (ctx) => ({ own: facts(ctx.info), child: await ctx.child(teller, null) }),
});

async function resultOf(app: TestApp, runId: string): Promise<unknown> {
  const outcome = await app.runToEnd(runId);
  if (outcome.status !== 'completed') throw new Error(`the run is ${outcome.status}`);
  return outcome.result;
}

/** The same run as one whose head an earlier version wrote, exported and replayed with the code of now. */
async function replayedAsOfBefore(app: TestApp, config: App, runId: string): Promise<unknown> {
  const { format, workflow, version, input, seed, events } = await app.history(runId);
  return replayHistory(config, { runId, workflow, version, seed, events, ...defined({ format, input }) });
}

describe('what a workflow knows of its run', () => {
  it('is its name, its version, and key and tags of its start', async () => {
    const app = createTestApp(defineApp({ workflows: [{ ...teller, version: '7' }] }));
    const runId = await app.start(teller, null, { key: 'order 1', tags: { region: 'north' } });
    const start = { key: 'order 1', tags: { region: 'north' } };
    expect(await resultOf(app, runId)).toEqual({ runId, workflow: 'teller', version: '7', ...start });
  });

  it('is the id of the caller where the run has one', async () => {
    const app = createTestApp(defineApp({ workflows: [teller] }));
    const { runId } = await startNamedRun(app.deps, { workflow: 'teller', id: 'order 4711' });
    expect(await resultOf(app, runId)).toMatchObject({ id: 'order 4711' });
    expect(await showRun(app.deps, runId)).toMatchObject({ id: 'order 4711' });
  });

  it('is no key, no id, no parent and no tags where there are none', async () => {
    const { app, runId } = await startedIn([teller]);
    expect(await resultOf(app, runId)).toEqual({ runId, workflow: 'teller', version: '1', tags: {} });
  });

  it('is the parent, of a child', async () => {
    const { app, runId } = await startedIn([parent, teller]);
    expect(await resultOf(app, runId)).toMatchObject({
      own: { runId, workflow: 'parent' },
      child: { workflow: 'teller', parent: { runId, workflow: 'parent' } },
    });
  });

  it('is kept by the run that it goes on as, which knows the one before', async () => {
    const chained = defineWorkflow<number>({
      name: 'chained',
      run: async (ctx, round) => (round < 2 ? ctx.continueAsNew(round + 1) : facts(ctx.info)),
    });
    const waiting = defineWorkflow({ name: 'waiting', run: async (ctx) => ctx.child(chained, 1) });
    const { app, runId } = await startedIn([waiting, chained]);
    expect(await resultOf(app, runId)).toMatchObject({
      parent: { runId, workflow: 'waiting' },
      previousRunId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });

    const named = await startNamedRun(app.deps, { workflow: 'chained', id: 'a', input: 1, tags: { of: 'a' } });
    expect(await resultOf(app, named.runId)).toMatchObject({ id: 'a', tags: { of: 'a' }, previousRunId: named.runId });
    const keyed = await app.start(chained, 1, { key: 'k' });
    expect(await resultOf(app, keyed)).toMatchObject({ key: 'k', previousRunId: keyed });
  });

  it('is who started it and the tenant, of children and continuations too, and none where none is known', async () => {
    const chained = defineWorkflow<number>({
      name: 'chained',
      run: async (ctx, round) => (round < 2 ? ctx.continueAsNew(round + 1) : facts(ctx.info)),
    });
    const { app } = await startedIn([parent, teller, chained]);
    const caller = { id: 'ada', tenant: 'acme', roles: ['operate'] } as const;
    const startAs = async (workflow: string, input: number) =>
      (await startRun({ ...app.deps, caller }, { workflow, input })).runId;
    const of = { owner: 'ada', tenant: 'acme' };
    const runId = await startAs('parent', 0);
    expect(await resultOf(app, runId)).toMatchObject({ own: of, child: of });
    expect(await resultOf(app, await startAs('chained', 1))).toMatchObject({ ...of, previousRunId: anyId });
    const unnamed = await resultOf(app, await app.start(teller, null));
    expect(Object.keys(unnamed as object)).toEqual(expect.not.arrayContaining(['owner', 'tenant']));
    // Elsewhere, as `outwait replay` does.
    expect(await replayHistory(defineApp({ workflows: [parent, teller] }), await app.history(runId))).toMatchObject({
      kind: 'clean',
      outcome: { result: { own: of } },
    });
  });

  it('cannot be changed by the workflow', async () => {
    const flow = aFlow(async ({ info }) => {
      expect(() => Object.assign(info, { key: 'other' })).toThrow(TypeError);
      expect(() => Object.assign(info.tags, { region: 'south' })).toThrow(TypeError);
      return Promise.resolve(facts(info));
    });
    const { app, runId } = await started(flow);
    expect(await resultOf(app, runId)).toMatchObject({ tags: {} });
  });

  it('is the same in an exported history', async () => {
    const config = defineApp({ workflows: [parent, teller] });
    const app = createTestApp(config);
    const runId = await app.start(parent, null, { key: 'k', tags: { a: 'b' } });
    const ended = await app.runToEnd(runId);
    const { runs } = await listRuns(app.deps, { limit: 100 });
    expect(runs).toHaveLength(2);
    for (const { runId: id } of runs) {
      const history = JSON.parse(JSON.stringify(await app.history(id))) as Awaited<ReturnType<TestApp['history']>>;
      expect(await replayHistory(config, history)).toMatchObject({ kind: 'clean' });
    }
    expect(ended).toMatchObject({ status: 'completed' });
  });

  it('is not there for a run whose history an earlier version exported, which replays all the same', async () => {
    const flow = defineWorkflow({
      name: 'teller',
      run: async ({ info: { key, parent: by, tags } }) => Promise.resolve([key === undefined, by === undefined, tags]),
    });
    const config = defineApp({ workflows: [flow] });
    const app = createTestApp(config);
    const runId = await app.start(flow, null);
    expect(await resultOf(app, runId)).toEqual([true, true, {}]);
    expect(await replayedAsOfBefore(app, config, runId)).toMatchObject({ kind: 'clean' });
  });
});

describe('the idempotency key of a remote call, asked of the workflow', () => {
  const reports = () => scriptedServer({ protocol: 'mcp', task: () => ({ after: { minutes: 1 }, result: {} }) });

  it('is the one that the server is sent', async () => {
    const server = reports();
    const flow = aFlow(async (ctx) => {
      const calls = ['a', 'b'].map((tool) => ctx.callRemoteTask({ server: 'reports', tool }));
      const keys = calls.map((call) => ctx.info.idempotencyKeyOf(call));
      await Promise.all(calls);
      return keys;
    });
    const { app, runId } = await started(flow, { reports: server });
    expect(await resultOf(app, runId)).toEqual(server.starts.map(({ key }) => key));
    expect(new Set(server.starts.map(({ key }) => key)).size).toBe(2);
  });

  it('is that of the workflow where the call has one, and that of the latest call with restarts', async () => {
    const ends = [{ failure: 'broken' }, { result: {} }];
    const server = scriptedServer({ protocol: 'mcp', task: () => ends.shift() ?? { never: true } });
    const flow = aFlow(async (ctx) => {
      const own = { idempotencyKey: 'mine', restart: { attempts: 2 } };
      const call = ctx.callRemoteTask({ server: 'reports', tool: 'a', ...own });
      const first = ctx.info.idempotencyKeyOf(call);
      await call;
      return [first, ctx.info.idempotencyKeyOf(call)];
    });
    const { app, runId } = await started(flow, { reports: server });
    expect(await resultOf(app, runId)).toEqual(['mine', 'mine#2']);
    expect(server.starts.map(({ key }) => key)).toEqual(['mine', 'mine#2']);
  });

  it('is missing for a call that was refused, and an error for what is no call', async () => {
    const flow = aFlow(async (ctx) => {
      const refused = ctx.callRemoteTask({ server: 'reports', tool: '' });
      const call = ctx.callRemoteTask({ server: 'reports', tool: 'a' });
      const codes = [call.then(() => 1), ctx.step('a', () => 1)].map((other) => {
        try {
          return ctx.info.idempotencyKeyOf(other);
        } catch (error) {
          return hasCode(error, 'INPUT_INVALID');
        }
      });
      await Promise.allSettled([refused, call]);
      return [ctx.info.idempotencyKeyOf(refused) === undefined, ...codes];
    });
    const { app, runId } = await started(flow, { reports: reports() });
    expect(await resultOf(app, runId)).toEqual([true, true, true]);
  });
});
