import { replayHistory, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { aFlow, anApp, started, WatchedServer } from './support.js';

describe('a query', () => {
  const flow = aFlow(async (ctx) => {
    const done: string[] = [];
    ctx.onQuery('done', (input) => (input === undefined ? done : done.includes(input as string)));
    ctx.onQuery('broken', () => {
      throw new Error('no idea');
    });
    ctx.onQuery('big', () => 1n);
    ctx.onQuery('later', async () => Promise.reject(new Error('too late')));
    await ctx.step('a', () => 1);
    done.push('a');
    await ctx.sleep({ hours: 1 });
    done.push('slept');
    return 'end';
  });

  it('is answered by the workflow as it stands, and changes nothing', async () => {
    const { app, runId } = await started(flow);
    expect(await app.query(runId, 'done').catch((error: unknown) => (error as { code: string }).code)).toBe(
      'QUERY_NOT_FOUND',
    );
    await app.pass({ minutes: 5 });
    const before = await app.history(runId);
    expect(await app.query(runId, 'done')).toEqual(['a']);
    expect(await app.query(runId, 'done', 'slept')).toBe(false);
    expect(await app.history(runId)).toEqual(before);
    await app.pass({ hours: 1 });
    expect(await app.query(runId, 'done')).toEqual(['a', 'slept']);
  });

  it('replays remote calls without calling anybody, as does the replay of a history (MCP-49, A2A-C51)', async () => {
    const calling = aFlow(async (ctx) => {
      const { result } = await ctx.callRemoteTask({ server: 'reports', tool: 'export' });
      ctx.onQuery('result', () => result);
      return result;
    });
    const reports = new WatchedServer({ task: { after: { minutes: 9 }, result: 'rows' } });
    const { app, runId } = await started(calling, { reports });
    await app.runToEnd(runId);
    const calls = () => [reports.starts.length, reports.reads, reports.cancels, reports.looks];
    const [before, history] = [calls(), await app.history(runId)];
    expect(before[0]).toBe(1);
    expect(await app.query(runId, 'result')).toBe('rows');
    expect(await replayHistory(anApp(calling), history)).toEqual({
      kind: 'clean',
      outcome: { status: 'completed', result: 'rows' },
    });
    expect(calls()).toEqual(before);
    expect(await app.history(runId)).toEqual(history);
  });

  it('is answered after the end, and of a cancelled run', async () => {
    const { app, runId } = await started(flow);
    await app.runToEnd(runId);
    expect(await app.query(runId, 'done')).toEqual(['a', 'slept']);
    const cancelled = await started(flow);
    await cancelled.app.settleDown();
    await cancelled.app.cancel(cancelled.runId);
    await cancelled.app.runToEnd(cancelled.runId);
    expect(await cancelled.app.query(cancelled.runId, 'done')).toEqual(['a']);
  });

  it('without a handler is refused with the names of those that exist', async () => {
    const { app, runId } = await started(flow);
    await app.settleDown();
    await expect(app.query(runId, 'other')).rejects.toMatchObject({
      code: 'QUERY_NOT_FOUND',
      message: 'the workflow has no query "other"; it has done, broken, big, later',
    });
  });

  it.each([
    ['broken', 'query "broken" failed: no idea'],
    ['big', /^query "big" failed: /],
    ['later', 'query "later" failed: its handler returned a promise; a query must answer synchronously'],
  ])('whose handler fails is an error of the caller alone: %s', async (name, message) => {
    const { app, runId } = await started(flow);
    await app.settleDown();
    await expect(app.query(runId, name)).rejects.toMatchObject({
      code: 'QUERY_FAILED',
      message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
    });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'end' });
  });

  it('whose handler changes what it answers with does not change the workflow', async () => {
    const shared = aFlow(async (ctx) => {
      const list = [1];
      ctx.onQuery('list', () => list);
      await ctx.sleep({ hours: 1 });
      return list;
    });
    const { app, runId } = await started(shared);
    await app.settleDown();
    ((await app.query(runId, 'list')) as number[]).push(2);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [1] });
  });

  it.each([
    [4_999, 'answered'],
    [5_001, 'QUERY_TIMED_OUT'],
  ])('whose replay takes %s ms by the clock is %s (S0-185)', async (takesMs, expected) => {
    let slow = 0;
    const deployed: { app?: TestApp } = {};
    let reached = 0;
    const slowly = aFlow(async (ctx) => {
      ctx.onQuery('done', () => 'answered');
      for (let n = 0; n < 3; n++) {
        await ctx.sleep({ minutes: 1 });
        reached = n;
        // The code takes long between two waits.
        if (n === 0) deployed.app?.clock.moveTo(deployed.app.clock.nowMs() + slow);
      }
    });
    const run = await started(slowly);
    const { app } = run;
    deployed.app = app;
    await app.pass({ minutes: 2 });
    const before = await app.history(run.runId);
    slow = takesMs;
    expect(await app.query(run.runId, 'done').catch((error: unknown) => (error as { code: string }).code)).toBe(
      expected,
    );
    // Waits after the limit are not replayed.
    expect(reached).toBe(expected === 'answered' ? 1 : 0);
    slow = 0;
    expect(await app.history(run.runId)).toEqual(before);
    expect(await app.query(run.runId, 'done')).toBe('answered');
  });

  it('of an unknown run is refused', async () => {
    const { app } = await started(flow);
    await expect(app.query('f'.repeat(32), 'done')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('of a run that the deployed code does not fit says so', async () => {
    const { app, runId } = await started(flow);
    await app.pass({ minutes: 5 });
    app.deploy(anApp(aFlow(async (ctx) => ctx.step('other', () => 1))));
    await expect(app.query(runId, 'done')).rejects.toMatchObject({ code: 'NONDETERMINISM' });
  });
});

describe('progress', () => {
  it('is shown as last reported, and stays after the end', async () => {
    const flow = aFlow(async (ctx) => {
      ctx.progress({ done: 1, of: 3 });
      await ctx.sleep({ hours: 1 });
      ctx.progress('nearly');
      await ctx.sleep({ hours: 1 });
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    expect((await app.show(runId)).progress).toEqual({ done: 1, of: 3 });
    await app.pass({ hours: 1 });
    expect((await app.show(runId)).progress).toBe('nearly');
    await app.runToEnd(runId);
    expect((await app.show(runId)).progress).toBe('nearly');
    const { events } = await app.history(runId);
    expect(events.filter(({ type }) => type === 'ProgressReported')).toHaveLength(2);
  });

  it('is cut to 1 KiB on a character boundary (S0-183)', async () => {
    const flow = aFlow(async (ctx) => {
      ctx.progress(`x${'é'.repeat(600)}`);
      await ctx.sleep({ hours: 1 });
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    const shown = (await app.show(runId)).progress as string;
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(1024);
    expect(Buffer.byteLength(shown)).toBeGreaterThan(1015);
    expect(shown).not.toContain('\uFFFD');
  });

  it('that is not a string and takes more than 1 KiB is kept as text, cut (S0-183)', async () => {
    const { app, runId } = await started(
      aFlow(async (ctx) => {
        ctx.progress({ text: 'x'.repeat(2_000) });
      }),
    );
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    expect((await app.show(runId)).progress).toBe(`{"text":"${'x'.repeat(1_015)}`);
  });
});
