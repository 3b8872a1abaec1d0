import { describe, expect, it } from 'vitest';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { aFlow, endedAfterMs, eventTypes, started, WatchedServer, withTimePassing } from './support.js';

const slept = aFlow(async (ctx) => ctx.sleep({ days: 1 }));

describe('a cancel (EN-9)', () => {
  it('ends a run that waits, at once and with its reason', async () => {
    const run = await started(slept);
    await run.app.pass({ hours: 1 });
    expect(await run.app.cancel(run.runId, 'too dear')).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled', reason: 'too dear' });
    expect(await endedAfterMs(run)).toBe(3_600_000);
    expect((await run.app.show(run.runId)).status).toBe('cancelled');
  });

  it('before the first turn starts nothing', async () => {
    let ran = 0;
    const { app, runId } = await started(aFlow(async (ctx) => ctx.step('a', () => ran++)));
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled' });
    expect(ran).toBe(0);
  });

  it('cancels the remote task, once, and closes its wait', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' }));
    const run = await started(flow, { reports });
    await run.app.pass({ minutes: 5 });
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled' });
    await run.app.pass({ hours: 2 });
    expect(reports.cancels).toBe(1);
    expect((await eventTypes(run)).slice(-3)).toEqual(['CancelRequested', 'RunEnding', 'RunEnded']);
  });

  it('lets cleanup do its steps, its waits and its remote calls', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 2 }, result: 'undone' } });
    const done: unknown[] = [];
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.sleep({ days: 1 });
      } finally {
        await ctx.step('note', () => done.push('noted'));
        await ctx.sleep({ minutes: 1 });
        done.push((await ctx.callRemoteTask({ server: 'reports', tool: 'undo' })).result);
      }
    });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ hours: 1 });
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled' });
    expect(done).toContain('noted');
    expect(done.at(-1)).toBe('undone');
    expect(reports.cancels).toBe(0);
  });

  it('that the workflow swallows lets the run complete', async () => {
    const flow = aFlow(async (ctx) => ctx.sleep({ days: 1 }).catch(() => ctx.step('instead', () => 'early')));
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'early' });
  });

  it('also stops the timers that it closed: they never fire', async () => {
    const flow = aFlow(async (ctx) => ctx.sleep({ hours: 1 }).catch(() => ctx.sleep({ hours: 3 })));
    const run = await started(flow);
    await run.app.settleDown();
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    const { events } = await run.app.history(run.runId);
    expect(events.flatMap((event) => (event.type === 'TimerFired' ? event.waitId : []))).toEqual(['2']);
  });

  it('gives way to another error that cleanup throws', async () => {
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.sleep({ days: 1 });
      } finally {
        throw new Error('cleanup broke');
      }
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({
      status: 'failed',
      error: {
        ...{ code: 'WORKFLOW_FAILED', message: 'cleanup broke', name: 'Error' },
        details: { at: expect.stringContaining(`${import.meta.filename}:`) as unknown },
      },
    });
  });

  it('that comes a second time interrupts cleanup, and the first reason stays', async () => {
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.sleep({ days: 1 });
      } finally {
        await ctx.sleep({ days: 2 });
      }
    });
    const run = await started(flow);
    await run.app.settleDown();
    expect(await run.app.cancel(run.runId, 'first')).toBe(true);
    await run.app.pass({ hours: 1 });
    expect((await run.app.show(run.runId)).status).toBe('running');
    expect(await run.app.cancel(run.runId, 'second')).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled', reason: 'first' });
    expect(await endedAfterMs(run)).toBe(3_600_000);
  });

  it('with an id that is known already is the same cancel', async () => {
    const flow = aFlow(async (ctx) => ctx.sleep({ days: 1 }).catch(() => ctx.sleep({ days: 2 })));
    const run = await started(flow);
    await run.app.settleDown();
    for (let time = 0; time < 3; time++) {
      expect(await requestStop(run.app.deps, { runId: run.runId, kind: 'cancel', requestId: 'one' })).toEqual({
        accepted: true,
      });
      await run.app.settleDown();
    }
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect((await eventTypes(run)).filter((type) => type === 'CancelRequested')).toHaveLength(1);
    expect(await requestStop(run.app.deps, { runId: run.runId, kind: 'cancel', requestId: 'one' })).toEqual({
      accepted: true,
    });
  });

  it('of a run that has ended is not accepted and changes nothing', async () => {
    const run = await started(aFlow(async () => 'done'));
    await run.app.runToEnd(run.runId);
    expect(await run.app.cancel(run.runId)).toBe(false);
    await run.app.pass({ hours: 2 });
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
  });

  it.each(['f'.repeat(32), 'no id', ''])('of the unknown run "%s" is refused', async (runId) => {
    const { app } = await started(slept);
    await expect(app.cancel(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('reaches a run in the middle of a step within two seconds and aborts the step', async () => {
    let signal: AbortSignal | undefined;
    const flow = aFlow(async (ctx) =>
      ctx.step('slow', async (step) => {
        signal = step.signal;
        await run.app.cancel(run.runId);
        return new Promise<never>(() => undefined);
      }),
    );
    const run = await started(flow);
    expect(await withTimePassing(run.app, run.app.runToEnd(run.runId))).toEqual({ status: 'cancelled' });
    expect(signal?.aborted).toBe(true);
    expect(await endedAfterMs(run)).toBe(2_000);
  });

  it('rejects many open waits in one fixed order, and the history replays (B035)', async () => {
    const order: string[] = [];
    const flow = aFlow(async (ctx) => {
      const waits = ['r1', 'r2', 'r3'].map(async (tool) =>
        ctx.callRemoteTask({ server: 'reports', tool }).catch(async () => {
          order.push(tool);
          await ctx.step(`undo ${tool}`, () => 1);
        }),
      );
      const timers = [1, 2].map(async (days) => ctx.sleep({ days }).catch(() => order.push(`${days} d`)));
      await Promise.all([...waits, ...timers]);
      await ctx.sleep({ minutes: 5 });
      return 'tidy';
    });
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.pass({ minutes: 1 });
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'tidy' });
    const first = ['r1', 'r2', 'r3', '1 d', '2 d'];
    expect(order.slice(0, 5)).toEqual(first);
    // Each later turn has replayed the same order.
    expect(order).toEqual(Array.from({ length: order.length / 5 }, () => first).flat());
  });
});
