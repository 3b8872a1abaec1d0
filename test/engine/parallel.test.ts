import fc from 'fast-check';
import { scriptedServer } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { aFlow, endedAfterMs, started, WatchedServer } from './support.js';

describe('Promise.race of a remote task and a timer (GB-01, EN-2)', () => {
  const flow = aFlow(async (ctx) =>
    Promise.race([
      ctx.callRemoteTask({ server: 'reports', tool: 'export' }).then(({ result }) => result),
      ctx.sleep({ minutes: 10 }).then(() => 'too late'),
    ]),
  );

  it('is won by the task that ends before the timer', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 9 }, result: 'rows' } });
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(reports.cancels).toBe(0);
  });

  it('is won by the timer otherwise; the run ends at once and the task is cancelled (B037, B039)', async () => {
    const reports = new WatchedServer();
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'too late' });
    expect(await endedAfterMs(run)).toBe(600_000);
    await run.app.pass({ hours: 1 });
    expect(reports.cancels).toBe(1);
    const token = run.app.deps.tokens.settleToken({ runId: run.runId, waitId: '1' });
    const outcome = { kind: 'completed', result: 1, isError: false } as const;
    expect(await settleToken(run.app.deps, { token, outcome })).toEqual({ settled: false, reason: 'run_ended' });
  });
});

describe('Promise.all of 20 remote tasks (GB-01, EN-2)', () => {
  it('gives its values in its own order, whatever the order in which they end', async () => {
    const minutesOfEach = fc.shuffledSubarray(
      Array.from({ length: 20 }, (_, index) => index + 1),
      { minLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(minutesOfEach, async (minutes) => {
        const reports = scriptedServer({
          protocol: 'mcp',
          task: (request) => {
            const index = request.kind === 'tool' ? Number(request.arguments['index']) : 0;
            return { after: { minutes: minutes[index]! }, result: index };
          },
        });
        const flow = aFlow(async (ctx) =>
          Promise.all(
            Array.from({ length: 20 }, async (_, index) => {
              const outcome = await ctx.callRemoteTask({ server: 'reports', tool: 'export', arguments: { index } });
              return outcome.result;
            }),
          ),
        );
        const { app, runId } = await started(flow, { reports });
        expect(await app.runToEnd(runId)).toEqual({
          status: 'completed',
          result: Array.from({ length: 20 }, (_, index) => index),
        });
        expect(reports.starts).toHaveLength(20);
      }),
      { numRuns: 10 },
    );
  });

  it('waits for the last of them (B044)', async () => {
    const flow = aFlow(async (ctx) =>
      Promise.all(['a', 'b'].map(async (tool) => (await ctx.callRemoteTask({ server: 'reports', tool })).result)),
    );
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.settleDown();
    const settle = async (waitId: string): Promise<unknown> =>
      settleToken(app.deps, {
        token: app.deps.tokens.settleToken({ runId, waitId }),
        outcome: { kind: 'completed', result: `by ${waitId}`, isError: false },
      });
    await settle('2');
    await app.settleDown();
    expect((await app.show(runId)).waits.map(({ waitId }) => waitId)).toEqual(['1']);
    await settle('1');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['by 1', 'by 2'] });
  });
});

describe('a race of many settlements and a timer (B036)', () => {
  it.each([
    ['timer', 30],
    ['all', 36],
  ])(
    'is won by the %s when the last of five ends after 31 min and the timer fires after %i',
    async (winner, timerMinutes) => {
      const reports = scriptedServer({
        protocol: 'mcp',
        task: (request) => ({
          after: { minutes: request.kind === 'tool' ? Number(request.arguments['minutes']) : 0 },
          result: 1,
        }),
      });
      const flow = aFlow(async (ctx) => {
        const calls = [3, 9, 21, 30, 31].map(async (minutes) =>
          ctx.callRemoteTask({ server: 'reports', tool: 't', arguments: { minutes } }),
        );
        const first = await Promise.race([
          Promise.all(calls).then(() => 'all'),
          ctx.sleep({ minutes: timerMinutes }).then(() => 'timer'),
        ]);
        await ctx.sleep({ hours: 1 });
        return first;
      });
      const { app, runId } = await started(flow, { reports });
      expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: winner });
    },
  );
});

it('steps continue while a timer that is not awaited is open (B040)', async () => {
  const flow = aFlow(async (ctx) => {
    void ctx.sleep({ days: 1 });
    for (let batch = 0; batch < 6; batch++)
      await Promise.all([1, 2, 3, 4, 5].map(async (n) => ctx.step(`${batch}.${n}`, () => n)));
    return 'done';
  });
  const run = await started(flow);
  expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
  expect(await endedAfterMs(run)).toBe(0);
});

it('a try and a catch around a wait cannot swallow the waiting itself (B041)', async () => {
  const seen: string[] = [];
  const flow = aFlow(async (ctx) => {
    try {
      await ctx.sleep({ days: 1 });
    } catch {
      seen.push('catch');
    } finally {
      seen.push('finally');
    }
    await Promise.allSettled([ctx.sleep({ days: 1 })]);
    return 'done';
  });
  const { app, runId } = await started(flow);
  await app.pass({ hours: 23 });
  expect(seen).toEqual([]);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
  expect(new Set(seen)).toEqual(new Set(['finally']));
});
