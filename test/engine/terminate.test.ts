import { describe, expect, it } from 'vitest';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { aFlow, anApp, eventTypes, started, WatchedServer } from './support.js';

describe('a terminate', () => {
  it('ends a run without its code, closes its waits and cancels its remote tasks', async () => {
    let cleaned = 0;
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) => {
      try {
        await Promise.all([ctx.callRemoteTask({ server: 'reports', tool: 'export' }), ctx.sleep({ days: 1 })]);
      } finally {
        cleaned++;
      }
    });
    const run = await started(flow, { reports });
    await run.app.pass({ hours: 1 });
    expect(await requestStop(run.app.deps, { runId: run.runId, kind: 'terminate', reason: 'stuck' })).toEqual({
      accepted: true,
    });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'terminated', reason: 'stuck' });
    await run.app.pass({ hours: 1 });
    expect(cleaned).toBe(0);
    expect(reports.cancels).toBe(1);
    expect((await run.app.show(run.runId)).waits).toEqual([]);
    expect((await eventTypes(run)).slice(-3)).toEqual(['TerminateRequested', 'RunEnding', 'RunEnded']);
  });

  it('goes before a cancel that came with it', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.sleep({ days: 1 })));
    await app.settleDown();
    await app.cancel(runId);
    await requestStop(app.deps, { runId, kind: 'terminate' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'terminated' });
  });

  it('also ends a run that is blocked', async () => {
    const { app, runId } = await started(
      aFlow(async (ctx) => ctx.step('a', () => 1).then(() => ctx.sleep({ days: 1 }))),
    );
    await app.settleDown();
    app.deploy(anApp(aFlow(async (ctx) => ctx.step('b', () => 1))));
    await app.pass({ days: 2 });
    expect((await app.show(runId)).blocked).toMatchObject({ code: 'NONDETERMINISM' });
    await requestStop(app.deps, { runId, kind: 'terminate' });
    await app.settleDown();
    expect(await app.show(runId)).toMatchObject({ status: 'terminated', outcome: { status: 'terminated' } });
    expect(await app.show(runId)).not.toHaveProperty('blocked');
  });

  it('of a run that has ended is not accepted', async () => {
    const { app, runId } = await started(aFlow(async () => 1));
    await app.runToEnd(runId);
    expect(await requestStop(app.deps, { runId, kind: 'terminate' })).toEqual({ accepted: false });
  });
});
