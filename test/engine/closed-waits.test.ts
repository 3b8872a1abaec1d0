import type { WorkflowContext } from 'outwait';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type RunState, foldHistory } from '../../lib/history/run-state.js';
import { explainRun } from '../../lib/operations/views/explain-run.js';
import type { Deps } from '../../lib/operations/deps.js';
import { WarmRuns } from '../../lib/operations/warm-runs.js';
import { Waits } from '../../lib/replay/waits/waits.js';
import { aFlow, eventTypes, started, WatchedServer } from './support.js';
import { TwoProcesses } from './two-processes.js';

afterEach(() => {
  vi.restoreAllMocks();
});

async function stateOf({ store }: Deps, runId: string): Promise<RunState> {
  return foldHistory((await store.runs.read(runId))?.commits ?? []);
}

/** A race that its step wins against a wait for a signal, a timer and a slow step. */
const round = async (ctx: WorkflowContext): Promise<unknown> =>
  ctx.race([
    async (c) => c.signal('stop', { timeout: { days: 300 } }),
    async (c) => c.sleep({ days: 365 }),
    async (c) => c.step('work', () => 1),
  ]);

/** Lets that many races close their losers, then waits for signals. */
const loser = (rounds: number) =>
  aFlow(async (ctx) => {
    for (let at = 0; at < rounds; at++) await round(ctx);
    for (;;) if ((await ctx.signal('go')) === 'end') return 'ended';
  });

describe('a wait that the workflow no longer waits for (F19)', () => {
  it('F19 is not among those that a run is said to wait for', async () => {
    const flow = aFlow(async (ctx) => {
      await round(ctx);
      await ctx.race([
        async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
        async (c) => c.signal('other', { where: () => Promise.reject(new Error('no')) as never }),
        async (c) => c.sleep({ minutes: 1 }),
      ]);
      await ctx.sleep({ days: 1 });
    });
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.pass({ hours: 1 });
    expect((await explainRun(app.deps, runId)).waits).toMatchObject([{ kind: 'timer', waitId: '7' }]);
  });

  it('F19 is closed in the log by whatever closes it: a race, a scope, a cancel, a predicate that throws', async () => {
    const flow = aFlow(async (ctx) => {
      await round(ctx);
      await ctx.scope(async (inner, scope) => {
        inner.sleep({ days: 1 }).catch(() => undefined);
        await ctx.sleep({ minutes: 1 });
        scope.cancel();
      });
      await ctx
        .signal('odd', {
          where: () => {
            throw new Error('odd');
          },
        })
        .catch(() => undefined);
      await ctx.signal('even', { timeout: { days: 300 } }).catch(() => undefined);
      await ctx.sleep({ days: 1 });
    });
    const run = await started(flow);
    await run.app.pass({ hours: 1 });
    await run.app.signal(run.runId, 'odd');
    await run.app.settleDown();
    await run.app.cancel(run.runId);
    await run.app.pass({ minutes: 1 });
    const { events } = await run.app.history(run.runId);
    expect(events.flatMap((event) => (event.type === 'WaitsClosed' ? [event.waitIds] : []))).toEqual([
      ...[['1', '2'], ['4'], ['6'], ['7']],
    ]);
    expect([...(await stateOf(run.app.deps, run.runId)).open.keys()]).toEqual(['8']);
    expect((await run.app.runToEnd(run.runId)).status).toBe('completed');
    expect(await eventTypes(run)).not.toContain('SignalWaitTimedOut');
  });

  it('F19 is a step that is under way: what it gives is kept out of the fold and the workflow', async () => {
    const flow = aFlow(async (ctx) => {
      const won = await ctx.race([
        async (c) =>
          c.step(
            'slow',
            async () =>
              new Promise((resolve) =>
                setTimeout(() => {
                  resolve('slow');
                }, 20),
              ),
          ),
        async (c) => c.step('quick', () => 'quick'),
      ]);
      await ctx.step(
        'later',
        async () =>
          new Promise((resolve) =>
            setTimeout(() => {
              resolve('later');
            }, 40),
          ),
      );
      await ctx.sleep({ hours: 1 });
      return won;
    });
    const run = await started(flow);
    await run.app.settleDown();
    expect([...(await stateOf(run.app.deps, run.runId)).open.keys()]).toEqual(['4']);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'quick' });
  });

  it(
    'F19 costs nothing later: after 10,000 lost races as many are open, and a turn reads and looks at as much, as after one',
    {
      timeout: 120_000,
    },
    async () => {
      const costs: unknown[] = [];
      for (const rounds of [1, 10_000]) {
        const scene = new TwoProcesses(loser(rounds), new WarmRuns({ events: 1_000_000 }));
        const runId = await scene.start();
        const looked = vi.spyOn(Waits.prototype, 'isOpen');
        const commanded = vi.spyOn(Waits.prototype, 'command');
        const { reads, items } = await scene.turn(scene.a, { inboxId: await scene.signal('on') });
        const { open, openTokens } = await stateOf(scene.a, runId);
        costs.push({
          reads,
          items,
          open: open.size,
          openTokens: openTokens.size,
          looked: looked.mock.calls.length,
          commanded: commanded.mock.calls.length,
        });
        vi.restoreAllMocks();
      }
      expect(costs[1]).toEqual(costs[0]);
      expect(costs[0]).toMatchObject({ open: 1, openTokens: 0 });
    },
  );
});
