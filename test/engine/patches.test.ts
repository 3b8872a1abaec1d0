import type { WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import { aFlow, anApp, eventTypes, started, type Flow } from './support.js';

const old = aFlow(async (ctx) => {
  const first = await ctx.step('pay', () => 'old way');
  await ctx.sleep({ hours: 1 });
  await ctx.step('close', () => 1);
  return first;
});
const patched = aFlow(async (ctx) => {
  const first = ctx.patched('pay-2')
    ? await ctx.step('pay again', () => 'new way')
    : await ctx.step('pay', () => 'old way');
  await ctx.sleep({ hours: 1 });
  await ctx.step('close', () => 1);
  return first;
});

describe('a patch (EN-14)', () => {
  it('is off for a run that went by with the old code', async () => {
    const { app, runId } = await started(old);
    await app.pass({ minutes: 1 });
    app.deploy(anApp(patched));
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'old way' });
  });

  it('is on for a new run, and recorded once', async () => {
    const run = await started(patched);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'new way' });
    expect((await eventTypes(run)).filter((type) => type === 'PatchRecorded')).toHaveLength(1);
  });

  it('is on for a run that had not come there yet', async () => {
    const before = (rest: (ctx: WorkflowContext) => Promise<unknown>): Flow =>
      aFlow(async (ctx) => {
        await ctx.sleep({ hours: 1 });
        return rest(ctx);
      });
    const { app, runId } = await started(before(async (ctx) => ctx.step('old', () => 'old way')));
    await app.pass({ minutes: 1 });
    app.deploy(
      anApp(
        before(async (ctx) => (ctx.patched('p') ? ctx.step('new', () => 'new way') : ctx.step('old', () => 'old way'))),
      ),
    );
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'new way' });
  });

  it('says the same each time in a loop that was begun with the old code', async () => {
    const loop = (body: (ctx: WorkflowContext, round: number) => Promise<unknown>): Flow =>
      aFlow(async (ctx) => {
        const results: unknown[] = [];
        for (let round = 0; round < 4; round++) {
          results.push(await body(ctx, round));
          await ctx.sleep({ hours: 1 });
        }
        return results;
      });
    const { app, runId } = await started(loop(async (ctx) => ctx.step('a', () => 'old')));
    await app.pass({ minutes: 90 });
    app.deploy(
      anApp(loop(async (ctx) => (ctx.patched('p') ? ctx.step('b', () => 'new') : ctx.step('a', () => 'old')))),
    );
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['old', 'old', 'old', 'old'] });
  });

  it('of another id is another patch', async () => {
    const flow = aFlow(async (ctx) => [ctx.patched('a'), ctx.patched('b'), ctx.patched('a')]);
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [true, true, true] });
  });

  it('may be taken out of the code once every run has it: its mark in the history does no harm', async () => {
    const { app, runId } = await started(patched);
    await app.pass({ minutes: 1 });
    app.deploy(
      anApp(
        aFlow(async (ctx) => {
          const first = await ctx.step('pay again', () => 'new way');
          await ctx.sleep({ hours: 1 });
          await ctx.step('close', () => 1);
          return first;
        }),
      ),
    );
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'new way' });
  });
});
