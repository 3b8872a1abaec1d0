import { defineApp, defineWorkflow } from 'outwait';
import { describe, expect, it } from 'vitest';
import { requestControl } from '../../lib/operations/requests/control-run.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { aFlow, anApp, endedAfterMs, started, startMs, WatchedServer } from './support.js';

const exported = { server: 'reports', tool: 'export' };

describe('a run that the deployed code does not fit (EN-14)', () => {
  const good = aFlow(async (ctx) => {
    await ctx.step('prepare', () => 1);
    const outcome = await ctx.callRemoteTask(exported);
    return ctx.step('finish', () => outcome.result);
  });
  const bad = aFlow(async (ctx) => ctx.step('renamed', () => 1));

  it('is blocked with both commands, loses no settlement and goes on by itself after a fixed deploy (S0-124, B045)', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 1 }, result: { rows: 412 } } });
    const run = await started(good, { reports });
    const { app, runId } = run;
    await app.pass({ minutes: 30 });
    app.deploy(anApp(bad));
    await app.pass({ hours: 12 });
    expect(await app.show(runId)).toMatchObject({
      status: 'running',
      blocked: {
        code: 'NONDETERMINISM',
        details: { waitId: '1', recorded: 'step "prepare"', asked: 'step "renamed"' },
      },
    });

    const fixed = aFlow(async (ctx) => {
      await ctx.step('prepare', () => 2);
      const outcome = await ctx.callRemoteTask(exported);
      await ctx.step('new', () => 3);
      return ctx.step('finish', () => outcome.result);
    });
    app.deploy(anApp(fixed));
    await app.pass({ hours: 1 });
    expect(await app.show(runId)).toMatchObject({ status: 'completed', outcome: { result: { rows: 412 } } });
    expect(await app.show(runId)).not.toHaveProperty('blocked');
    expect(reports.starts).toHaveLength(1);
  });

  it('takes a settlement of a relay while it is blocked', async () => {
    const reports = new WatchedServer();
    const { app, runId } = await started(good, { reports });
    await app.settleDown();
    app.deploy(anApp(bad));
    await app.pass({ minutes: 1 });
    const token = app.deps.tokens.settleToken({ runId, waitId: '2' });
    const outcome = { kind: 'completed', result: 'by relay', isError: false } as const;
    expect(await settleToken(app.deps, { token, outcome })).toEqual({ settled: true });
    await app.pass({ hours: 3 });
    expect((await app.show(runId)).blocked?.code).toBe('NONDETERMINISM');
    app.deploy(anApp(good));
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 'by relay' });
  });

  it('takes in what happened meanwhile in the order in which it happened', async () => {
    const racing = aFlow(async (ctx) =>
      Promise.race(['a', 'b', 'c'].map(async (tool) => (await ctx.callRemoteTask({ server: 'reports', tool })).result)),
    );
    const { app, runId } = await started(racing, { reports: new WatchedServer() });
    await app.settleDown();
    app.deploy(anApp(bad));
    for (const waitId of ['2', '3', '1']) {
      await app.pass({ minutes: 1 });
      const token = app.deps.tokens.settleToken({ runId, waitId });
      await settleToken(app.deps, { token, outcome: { kind: 'completed', result: `by ${waitId}`, isError: false } });
    }
    app.deploy(anApp(racing));
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 'by 2' });
  });

  it('keeps a cancel until it can continue, and is not retried more often for it', async () => {
    let looks = 0;
    const { app, runId } = await started(good, { reports: new WatchedServer() });
    await app.settleDown();
    app.deploy(
      anApp(
        aFlow(async (ctx) => {
          looks++;
          await ctx.step('renamed', () => 1);
        }),
      ),
    );
    expect(await app.cancel(runId)).toBe(true);
    await app.pass({ hours: 2 });
    expect((await app.show(runId)).status).toBe('running');
    expect(looks).toBeLessThan(20);
    app.deploy(anApp(good));
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).status).toBe('cancelled');
  });

  it.each([
    ['by other code', anApp(aFlow(async (ctx) => ctx.step('renamed', () => 1)))],
    ['by code that is gone', defineApp({ workflows: [] })],
  ])('is paused and goes on being blocked, and is looked at at once when somebody asks: %s', async (_how, app) => {
    const sleeper = aFlow(async (ctx) => ctx.step('prepare', () => 1).then(() => ctx.sleep({ days: 1 })));
    const run = await started(sleeper);
    await run.app.settleDown();
    run.app.deploy(app);
    await run.app.signal(run.runId, 'any');
    await run.app.settleDown();
    const isNow = async (): Promise<string> => {
      const { blocked, pausedUntilMs } = await run.app.show(run.runId);
      return [blocked === undefined ? '' : 'blocked', pausedUntilMs === undefined ? '' : 'paused'].join('');
    };
    expect(await isNow()).toBe('blocked');
    await requestControl(run.app.deps, run.runId, 'pause');
    await run.app.settleDown();
    expect(await isNow()).toBe('paused');
    await requestControl(run.app.deps, run.runId, 'resume');
    await run.app.settleDown();
    // The resume is kept, like every other request.
    expect(await isNow()).toBe('blockedpaused');
    // The run is now retried once an hour.
    await run.app.pass({ hours: 4 });
    run.app.deploy(anApp(sleeper));
    await requestControl(run.app.deps, run.runId, 'retryNow');
    await run.app.settleDown();
    expect(await isNow()).toBe('');
  });

  it('fires its timers when it goes on, late but not lost', async () => {
    const sleeper = aFlow(async (ctx) => ctx.sleep({ hours: 1 }).then(() => ctx.now()));
    const { app, runId } = await started(sleeper);
    await app.settleDown();
    app.deploy(anApp(bad));
    await app.pass({ hours: 5 });
    app.deploy(anApp(sleeper));
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: startMs + 3_600_000 });
  });

  it('is retried less and less often, down to once an hour', async () => {
    const seen: number[] = [];
    const { app, runId } = await started(
      aFlow(async (ctx) => ctx.step('a', () => 1).then(() => ctx.sleep({ minutes: 1 }))),
    );
    await app.settleDown();
    app.deploy(
      anApp(
        aFlow(async (ctx) => {
          seen.push((app.clock.nowMs() - startMs) / 60_000);
          await ctx.step('b', () => 1);
        }),
      ),
    );
    await app.pass({ hours: 5 });
    // The sweep and the delayed wake may both bring it back at the same instant.
    expect([...new Set(seen)]).toEqual([1, 2, 3, 5, 9, 17, 33, 65, 125, 185, 245]);
    expect((await app.show(runId)).blocked?.details).toMatchObject({ sinceMs: startMs + 60_000 });
  });
});

describe('a run whose workflow is gone', () => {
  it('is blocked until a deploy brings it back', async () => {
    const flow = aFlow(async (ctx) => ctx.sleep({ hours: 1 }).then(() => 'back'));
    const { app, runId } = await started(flow);
    await app.settleDown();
    app.deploy(defineApp({ workflows: [] }));
    await app.pass({ hours: 2 });
    expect((await app.show(runId)).blocked).toMatchObject({ code: 'WORKFLOW_NOT_FOUND' });
    app.deploy(anApp(flow));
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 'back' });
  });
});

describe('a run that awaits something of its own', () => {
  it('is blocked, runs no step again meanwhile, and completes when the code is mended', async () => {
    let ran = 0;
    const { app, runId } = await started(
      aFlow(async (ctx) => {
        await ctx.step('a', () => ++ran);
        await new Promise(() => undefined);
      }),
    );
    await app.settleDown();
    expect((await app.show(runId)).blocked).toMatchObject({ code: 'WORKFLOW_STUCK' });
    await expect(app.runToEnd(runId)).rejects.toThrow(
      'the run is blocked: the workflow awaits a promise that is not from ctx',
    );
    await app.pass({ hours: 5 });
    expect(ran).toBe(1);
    app.deploy(anApp(aFlow(async (ctx) => ctx.step('a', () => 'again'))));
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 1 });
  });
});

describe('a deploy that a run does fit', () => {
  it('changes nothing for it: recorded steps keep their results, later ones run the new code', async () => {
    const version = (text: string): ReturnType<typeof aFlow> =>
      defineWorkflow({
        name: 'flow',
        version: text,
        run: async (ctx) => {
          const before = await ctx.step('before', () => text);
          await ctx.sleep({ days: 1 });
          return [before, await ctx.step('after', () => text)];
        },
      });
    const run = await started(version('old'));
    await run.app.pass({ hours: 1 });
    run.app.deploy(anApp(version('new')));
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: ['old', 'new'] });
    expect(await endedAfterMs(run)).toBe(86_400_000);
    expect((await run.app.show(run.runId)).version).toBe('old');
  });
});
