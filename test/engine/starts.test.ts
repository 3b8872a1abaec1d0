import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replayHistory } from '../../lib/operations/views/replay-history.js';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { startOrSignal, startRun } from '../../lib/operations/requests/start-run.js';
import { aFlow, endedAfterMs, eventTypes, started, startMs, WatchedServer } from './support.js';

const hourMs = 3_600_000;

describe('a delayed start', () => {
  it('runs nothing before its instant (S0-187)', async () => {
    const { app } = await started(aFlow(async (ctx) => ctx.now() - startMs));
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 48 * hourMs });
    await app.pass({ hours: 47 });
    expect(await app.show(runId)).toMatchObject({ status: 'running', startAtMs: startMs + 48 * hourMs, waits: [] });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 48 * hourMs });
  });

  it('keeps a signal that comes before it', async () => {
    const { app } = await started(aFlow(async (ctx) => [await ctx.signal('go'), ctx.now() - startMs]));
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 48 * hourMs });
    await app.settleDown();
    expect(await app.signal(runId, 'go', 'early')).toBe(true);
    await app.pass({ hours: 1 });
    expect(await eventTypes({ app, runId })).toEqual([]);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['early', 48 * hourMs] });
  });

  it('can be terminated before it, and never runs', async () => {
    const { app } = await started(aFlow(async (ctx) => ctx.step('a', () => 1)));
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 48 * hourMs });
    await app.pass({ hours: 1 });
    await requestStop(app.deps, { runId, kind: 'terminate', reason: 'no' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'terminated', reason: 'no' });
    expect(await endedAfterMs({ app, runId })).toBe(hourMs);
    expect(await eventTypes({ app, runId })).not.toContain('StepRequested');
  });

  it('that is cancelled before its instant ends at once, and none of its code runs', async () => {
    let calls = 0;
    const flow = aFlow(async (ctx) => {
      calls += 1;
      await ctx.sleep({ hours: 1 }).catch(() => undefined);
      return 'went on';
    });
    const { app } = await started(flow);
    await app.settleDown();
    const before = calls;
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 48 * hourMs });
    await app.pass({ hours: 1 });
    await app.signal(runId, 'early');
    expect(await app.cancel(runId, 'no need')).toBe(true);
    await app.settleDown();
    expect(await app.show(runId)).toMatchObject({
      status: 'cancelled',
      outcome: { status: 'cancelled', reason: 'no need' },
      endedAtMs: startMs + hourMs,
      unreadSignals: ['early'],
      waits: [],
    });
    expect(await app.cancel(runId)).toBe(false);
    expect(await eventTypes({ app, runId })).toEqual(['SignalReceived', 'CancelRequested', 'RunEnding', 'RunEnded']);
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'no need' });
    expect(calls).toBe(before);
    expect(await replayHistory(app.deps, app.deps.app, await app.history(runId))).toEqual({
      kind: 'clean',
      outcome: { status: 'cancelled', reason: 'no need' },
    });
    await expect(app.query(runId, 'any')).rejects.toMatchObject({ code: 'QUERY_NOT_FOUND' });
    await app.pass({ days: 3 });
    expect(calls).toBe(before);
  });

  it('races with a cancel rightly: told at its waits from the instant of its start on, ended at once before it', async () => {
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.sleep({ hours: 1 });
      } finally {
        await ctx.shield((inner) => inner.step('clean up', () => 'done'));
      }
    });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: -3, max: 3 }), fc.boolean(), async (offsetMs, isSeen) => {
        const { app } = await started(flow);
        const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 10_000 });
        await app.settleDown();
        app.clock.moveTo(startMs + 10_000 + offsetMs);
        // Whether the turn of the start has run when the cancel arrives.
        if (isSeen) await app.settleDown();
        await app.cancel(runId, 'why');
        expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'why' });
        const types = await eventTypes({ app, runId });
        expect(types.includes('RunStarted')).toBe(offsetMs >= 0);
        expect(types.includes('StepCompleted')).toBe(offsetMs >= 0);
        const history = await app.history(runId);
        expect((await replayHistory(app.deps, app.deps.app, history)).kind).toBe('clean');
      }),
      { numRuns: 30 },
    );
  });

  it.each([-1, Number.NaN, Infinity, 31_536_000_001])('of %s ms is refused (S0-187)', async (delayMs) => {
    const { app } = await started(aFlow(async () => 1));
    await expect(startRun(app.deps, { workflow: 'flow', delayMs })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('of 365 days is taken (S0-187)', async () => {
    const { app } = await started(aFlow(async () => 'a year later'));
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 31_536_000_000 });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'a year later' });
  });
});

describe('the timeout of a run', () => {
  it('fails it, closes its waits and cancels its remote task, without asking its code', async () => {
    const reports = new WatchedServer();
    let cleaned = 0;
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.callRemoteTask({ server: 'reports', tool: 'export' });
      } finally {
        await ctx.step('clean', () => ++cleaned);
      }
    });
    const { app } = await started(flow, { reports });
    const { runId } = await startRun(app.deps, { workflow: 'flow', timeoutMs: 2 * hourMs });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'failed',
      error: { code: 'RUN_TIMED_OUT', message: 'the run of "flow" did not end before its deadline' },
    });
    expect(await endedAfterMs({ app, runId })).toBe(2 * hourMs);
    expect(cleaned).toBe(0);
    expect(reports.cancels).toBe(1);
    expect((await app.show(runId)).waits).toEqual([]);
  });

  it('is counted from the start of a delayed run', async () => {
    const { app } = await started(aFlow(async (ctx) => ctx.sleep({ days: 9 })));
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: 5 * hourMs, timeoutMs: hourMs });
    await app.runToEnd(runId);
    expect(await endedAfterMs({ app, runId })).toBe(6 * hourMs);
  });

  it('does not touch a run that ends before it', async () => {
    const { app } = await started(aFlow(async (ctx) => ctx.sleep({ minutes: 59 })));
    const { runId } = await startRun(app.deps, { workflow: 'flow', timeoutMs: hourMs });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    await app.pass({ hours: 2 });
    expect((await app.show(runId)).status).toBe('completed');
  });

  it.each([0, -1, Number.NaN, Infinity])('of %s ms is refused', async (timeoutMs) => {
    const { app } = await started(aFlow(async () => 1));
    await expect(startRun(app.deps, { workflow: 'flow', timeoutMs })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

describe('start or signal (S0-164, EN-8)', () => {
  const flow = aFlow(async (ctx) => {
    const got: unknown[] = [];
    for (;;) {
      const payload = await ctx.signal('add');
      if (payload === 'end') return got;
      got.push(payload);
    }
  });
  const add = (payload: string | number, key?: string) => ({
    workflow: 'flow',
    key: 'cart-7',
    signal: { name: 'add', payload, ...(key === undefined ? {} : { key }) },
  });

  it('starts the run of a key once, and gives it every signal', async () => {
    const { app } = await started(flow);
    const first = await startOrSignal(app.deps, add(1));
    const others = await Promise.all([2, 3, 'end'].map(async (n) => startOrSignal(app.deps, add(n))));
    expect(first.deduplicated).toBe(false);
    expect(others).toEqual([1, 2, 3].map(() => ({ runId: first.runId, deduplicated: true })));
    expect(await app.runToEnd(first.runId)).toEqual({ status: 'completed', result: [1, 2, 3] });
  });

  it('by twenty callers at once makes one run that is given twenty signals', async () => {
    const { app } = await started(flow);
    const answers = await Promise.all(Array.from({ length: 20 }, async (_, n) => startOrSignal(app.deps, add(n))));
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    const runId = answers[0]?.runId ?? '';
    await app.settleDown();
    await app.signal(runId, 'add', 'end');
    const outcome = await app.runToEnd(runId);
    expect(outcome).toMatchObject({ status: 'completed' });
    expect([...((outcome as { readonly result?: unknown }).result as number[])].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n),
    );
  });

  it('with a key on the signal gives that signal once', async () => {
    const { app } = await started(flow);
    for (let time = 0; time < 3; time++) await startOrSignal(app.deps, add(1, 'same'));
    const { runId } = await startOrSignal(app.deps, add('end'));
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [1] });
  });

  it('is refused once the run of the key has ended, and changes nothing', async () => {
    const { app } = await started(flow);
    const { runId } = await startOrSignal(app.deps, add('end'));
    await app.runToEnd(runId);
    const before = await app.history(runId);
    await expect(startOrSignal(app.deps, add(1))).rejects.toMatchObject({ code: 'RUN_ENDED' });
    expect(await app.history(runId)).toEqual(before);
  });

  it('with a signal that is too large starts nothing', async () => {
    const { app } = await started(flow);
    await expect(startOrSignal(app.deps, add('x'.repeat(262_144)))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    const { runs } = await listRuns(app.deps, { limit: 100 });
    expect(runs).toHaveLength(1);
  });
});

describe('tags', () => {
  it('are in the lists of runs, which can be narrowed to them', async () => {
    const { app } = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
    const tagged = async (tags: Record<string, string>): Promise<string> =>
      (await startRun(app.deps, { workflow: 'flow', tags })).runId;
    const [a, b] = [await tagged({ team: 'ops', env: 'prod' }), await tagged({ team: 'ops', env: 'test' })];
    await app.settleDown();
    const idsOf = async (tags: Record<string, string>): Promise<string[]> =>
      (await listRuns(app.deps, { limit: 100, tags })).runs.map(({ runId }) => runId).sort();
    expect(await idsOf({ team: 'ops' })).toEqual([a, b].sort());
    expect(await idsOf({ team: 'ops', env: 'test' })).toEqual([b]);
    expect(await idsOf({ team: 'sales' })).toEqual([]);
    await app.runToEnd(a);
    const { runs } = await listRuns(app.deps, { limit: 100, status: 'completed', tags: { env: 'prod' } });
    expect(runs).toMatchObject([{ runId: a, tags: { team: 'ops', env: 'prod' } }]);
  });

  it.each([
    ['eleven', Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`t${n}`, 'v']))],
    ['an empty name', { '': 'v' }],
    ['a name of 65 characters', { ['n'.repeat(65)]: 'v' }],
    ['a value of 257 characters', { n: 'v'.repeat(257) }],
  ])('are refused: %s', async (_, tags) => {
    const { app } = await started(aFlow(async () => 1));
    await expect(startRun(app.deps, { workflow: 'flow', tags })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
