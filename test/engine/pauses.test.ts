import { describe, expect, it } from 'vitest';
import { requestControl } from '../../lib/operations/requests/control-run.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { aFlow, endedAfterMs, started, startMs, WatchedServer, type Started } from './support.js';

const control = async ({ app, runId }: Started, kind: 'pause' | 'resume' | 'retryNow'): Promise<boolean> => {
  const { accepted } = await requestControl(app.deps, runId, kind);
  await app.settleDown();
  return accepted;
};

describe('a paused run', () => {
  it('takes nothing in until it is resumed', async () => {
    const run = await started(aFlow(async (ctx) => ctx.signal('go')));
    await run.app.settleDown();
    await control(run, 'pause');
    await run.app.signal(run.runId, 'go', 1);
    await run.app.pass({ hours: 1 });
    expect(await run.app.show(run.runId)).toMatchObject({ status: 'running', pausedUntilMs: startMs + 86_400_000 });
    await control(run, 'resume');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 1 });
    expect(await endedAfterMs(run)).toBe(3_600_000);
  });

  it('runs no step meanwhile, not even its first', async () => {
    let ran = 0;
    const run = await started(aFlow(async (ctx) => ctx.step('a', () => ++ran)));
    await requestControl(run.app.deps, run.runId, 'pause');
    await run.app.pass({ hours: 5 });
    expect(ran).toBe(0);
    await control(run, 'resume');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 1 });
  });

  it('goes on by itself after 24 hours (S0-186)', async () => {
    const run = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
    await run.app.settleDown();
    await control(run, 'pause');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(await endedAfterMs(run)).toBe(86_400_000);
  });

  it('is paused 24 hours from the last pause on', async () => {
    const run = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
    await run.app.settleDown();
    await control(run, 'pause');
    await run.app.pass({ hours: 20 });
    await control(run, 'pause');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(await endedAfterMs(run)).toBe(158_400_000);
  });

  it('can be terminated', async () => {
    const reports = new WatchedServer();
    const run = await started(
      aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' })),
      { reports },
    );
    await run.app.settleDown();
    await control(run, 'pause');
    await requestStop(run.app.deps, { runId: run.runId, kind: 'terminate' });
    await run.app.pass({ minutes: 2 });
    expect((await run.app.show(run.runId)).status).toBe('terminated');
    expect(reports.cancels).toBe(1);
  });

  it('that is cancelled is cancelled when it goes on', async () => {
    const run = await started(aFlow(async (ctx) => ctx.sleep({ days: 9 })));
    await run.app.settleDown();
    await control(run, 'pause');
    expect(await run.app.cancel(run.runId, 'x')).toBe(true);
    await run.app.pass({ minutes: 5 });
    expect((await run.app.show(run.runId)).status).toBe('running');
    await control(run, 'resume');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled', reason: 'x' });
  });

  it('loses no settlement that comes meanwhile', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 10 }, result: 'done' } });
    const flow = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export' })).result);
    const run = await started(flow, { reports });
    await run.app.settleDown();
    await control(run, 'pause');
    await run.app.pass({ hours: 2 });
    expect((await run.app.show(run.runId)).status).toBe('running');
    await control(run, 'resume');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(await endedAfterMs(run)).toBe(7_200_000);
  });

  it('times out by its deadline all the same', async () => {
    const { app } = await started(aFlow(async (ctx) => ctx.sleep({ days: 9 })));
    const { startRun } = await import('../../lib/operations/requests/start-run.js');
    const { runId } = await startRun(app.deps, { workflow: 'flow', timeoutMs: 3_600_000 });
    await app.settleDown();
    await control({ app, runId }, 'pause');
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMED_OUT' } });
    expect(await endedAfterMs({ app, runId })).toBe(3_600_000);
  });

  it('that has ended takes neither a pause nor a resume', async () => {
    const run = await started(aFlow(async () => 1));
    await run.app.runToEnd(run.runId);
    expect([await control(run, 'pause'), await control(run, 'resume'), await control(run, 'retryNow')]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('may be resumed without having been paused, which changes nothing', async () => {
    const run = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
    await run.app.settleDown();
    expect(await control(run, 'resume')).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(await endedAfterMs(run)).toBe(3_600_000);
  });
});

describe('retry now', () => {
  it('tries a step at once that waits for its next attempt', async () => {
    let attempts = 0;
    const flow = aFlow(async (ctx) =>
      ctx.step(
        'a',
        () => {
          if (++attempts < 3) throw new Error('busy');
          return attempts;
        },
        { retry: { initialInterval: { hours: 5 }, maxInterval: { hours: 5 } } },
      ),
    );
    const run = await started(flow);
    await run.app.pass({ minutes: 1 });
    await control(run, 'retryNow');
    await run.app.pass({ minutes: 1 });
    await control(run, 'retryNow');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 3 });
    expect(await endedAfterMs(run)).toBe(120_000);
  });

  it('starts a remote task at once that waits for its next attempt', async () => {
    const reports = new WatchedServer({
      task: { result: 'done' },
      start: (attempt) =>
        attempt < 3
          ? { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'busy' }, retryAfterMs: 60_000 }
          : undefined,
    });
    const flow = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export' })).result);
    const run = await started(flow, { reports });
    await run.app.settleDown();
    await control(run, 'retryNow');
    await control(run, 'retryNow');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(await endedAfterMs(run)).toBe(0);
  });

  it('leaves timers alone', async () => {
    const run = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
    await run.app.settleDown();
    await control(run, 'retryNow');
    await run.app.runToEnd(run.runId);
    expect(await endedAfterMs(run)).toBe(3_600_000);
  });
});
