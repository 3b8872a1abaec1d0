import { defineApp, defineWorkflow, type App, type WorkflowContext } from 'outwait';
import { createTestApp, replayHistory } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Flow } from './support.js';

const version = (version: string, run: (ctx: WorkflowContext) => Promise<unknown> = waits(version)): Flow =>
  defineWorkflow<unknown>({ name: 'flow', version, run });

/** Code that no other version fits. */
function waits(text: string): (ctx: WorkflowContext) => Promise<unknown> {
  return async (ctx) => {
    ctx.onQuery('version', () => text);
    await ctx.step(`before ${text}`, () => 1);
    await ctx.sleep({ days: 1 });
    return ctx.step(`after ${text}`, () => text, { long: text === '1' });
  };
}

describe('runs of a version that the app has kept (EN-14)', () => {
  it('go on with its code, long steps and queries too, while new runs are started with the newer one', async () => {
    const flow = version('1');
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const old = await app.start(flow, null);
    await app.pass({ hours: 1 });
    app.deploy(defineApp({ workflows: [version('2')], earlier: [version('1')] }));
    const young = await app.start(flow, null);
    await app.pass({ hours: 1 });
    expect(await app.query(old, 'version')).toBe('1');
    expect(await app.query(young, 'version')).toBe('2');
    expect(await app.runToEnd(old)).toEqual({ status: 'completed', result: '1' });
    expect(await app.runToEnd(young)).toEqual({ status: 'completed', result: '2' });
    expect([(await app.show(old)).version, (await app.show(young)).version]).toEqual(['1', '2']);
  });

  it('go on with its code also where the process remembers them', async () => {
    const flow = version('1', async (ctx) => [await ctx.signal('go'), await ctx.signal('go')]);
    const kept = version('1', async (ctx) => [await ctx.signal('go'), await ctx.signal('go'), 'kept']);
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const runId = await app.start(flow, null);
    await app.signal(runId, 'go', 1);
    await app.settleDown();
    app.deploy(defineApp({ workflows: [version('2')], earlier: [kept] }));
    await app.signal(runId, 'go', 2);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [1, 2, 'kept'] });
  });

  it('end though their workflow starts no runs any more', async () => {
    const flow = version('1');
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const runId = await app.start(flow, null);
    await app.pass({ hours: 1 });
    app.deploy(defineApp({ workflows: [], earlier: [flow] }));
    await expect(app.start(flow, null)).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: '1' });
  });

  it('go over to the newer one where they go on as a new run', async () => {
    const flow = version('1', async (ctx) => {
      await ctx.sleep({ hours: 2 });
      return ctx.continueAsNew(null);
    });
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const runId = await app.start(flow, null);
    await app.pass({ hours: 1 });
    app.deploy(defineApp({ workflows: [version('2')], earlier: [flow] }));
    await app.pass({ hours: 2 });
    const next = (await app.show(runId)).nextRunId ?? '';
    expect((await app.show(next)).version).toBe('2');
    expect(await app.runToEnd(next)).toEqual({ status: 'completed', result: '2' });
  });

  it('are replayed with its code, and with the newer one when it is kept no longer', async () => {
    const flow = version('1');
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const runId = await app.start(flow, null);
    await app.pass({ hours: 1 });
    const history = await app.history(runId);
    const replayed = async (config: App): Promise<string> => (await replayHistory(config, history)).kind;
    expect(await replayed(defineApp({ workflows: [version('2')], earlier: [flow] }))).toBe('clean');
    expect(await replayed(defineApp({ workflows: [version('2')] }))).toBe('differs');
  });
});
