import { defineWorkflow, hasCode, TooFewSucceeded, type WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import { replay, runStarted, timerFired, timerStarted } from '../replay/replaying.js';
import { aFlow, started, startedIn, WatchedServer } from './support.js';

type Ctx = WorkflowContext;

/** Ends after so many hours with their number. */
const after = (hours: number) => async (ctx: Ctx) => ctx.sleep({ hours }).then(() => hours);

const failing = (hours: number, message: string) => async (ctx: Ctx) => {
  await ctx.sleep({ hours });
  throw new Error(message);
};

describe('ctx.some', () => {
  it('gives the first results in the order in which they came, each with the index of its branch', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.some(2, [after(3), after(9), after(1)])));
    const results = [
      { index: 2, value: 1 },
      { index: 0, value: 3 },
    ];
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: results });
  });

  it('closes the other branches then: tasks are cancelled, once, and timers do not fire', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) => {
      await ctx.some(2, [
        async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
        after(1),
        after(2),
        after(9),
      ]);
      await ctx.sleep({ days: 1 });
    });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ minutes: 90 });
    expect(reports.cancels).toBe(0);
    await app.pass({ hours: 1 });
    expect(reports.cancels).toBe(1);
    expect((await app.show(runId)).waits.map(({ waitId }) => waitId)).toEqual(['5']);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    expect(reports.cancels).toBe(1);
  });

  it('goes on past branches that fail, as long as enough are left', async () => {
    const flow = aFlow(async (ctx) => ctx.some(2, [failing(1, 'broken'), after(3), after(2)]));
    const { app, runId } = await started(flow);
    const values = [
      { index: 2, value: 2 },
      { index: 1, value: 3 },
    ];
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: values });
  });

  it('fails as soon as too few can still succeed, with what was thrown in the order of the branches', async () => {
    const reports = new WatchedServer();
    const seen: unknown[] = [];
    const flow = aFlow(async (ctx) => {
      try {
        return await ctx.some(2, [
          failing(2, 'second'),
          async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
          failing(1, 'first'),
        ]);
      } catch (error) {
        if (error instanceof TooFewSucceeded) seen.push(error.errors.map((one) => (one as Error).message));
        await ctx.sleep({ hours: 1 });
        throw error;
      }
    });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ minutes: 150 });
    expect(reports.cancels).toBe(1);
    expect(await app.runToEnd(runId)).toEqual({
      status: 'failed',
      error: {
        code: 'TOO_FEW_SUCCEEDED',
        message: 'ctx.some needs 2 results, and 2 of 3 branches failed',
        details: {
          needed: 2,
          failures: [
            { index: 0, code: 'WORKFLOW_FAILED', message: 'second' },
            { index: 2, code: 'WORKFLOW_FAILED', message: 'first' },
          ],
        },
      },
    });
    expect(seen[0]).toEqual(['second', 'first']);
  });

  it('fails all the same where what a branch threw cannot be read', async () => {
    const unreadable = new Proxy(new Error('x'), {
      has: () => {
        throw new Error('never to be read');
      },
    });
    const flow = aFlow(async (ctx) =>
      ctx.some(1, [
        async () => {
          throw unreadable;
        },
      ]),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'TOO_FEW_SUCCEEDED' } });
  });

  it.each([0, 3, 1.5, -1, Number.NaN])('is refused for %s of two branches, before any begins', async (count) => {
    const begun: unknown[] = [];
    const branch = async (): Promise<void> => void begun.push(1);
    const { app, runId } = await started(aFlow(async (ctx) => ctx.some(count, [branch, branch])));
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_INVALID' } });
    expect(begun).toEqual([]);
  });

  it('lets a cancel of the run through, which is no failure', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.some(2, [failing(1, 'broken'), after(5), after(6)])));
    await app.pass({ hours: 2 });
    await app.cancel(runId, 'enough');
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'enough' });
  });

  it('fails with what a cancelled branch could not undo', async () => {
    const undoes = async (ctx: Ctx): Promise<void> =>
      ctx.saga(async (saga) => {
        saga.compensate('undo', () => Promise.reject(new Error('stuck')), { retry: { maxAttempts: 1 } });
        await ctx.sleep({ days: 1 });
      });
    const { app, runId } = await started(aFlow(async (ctx) => ctx.some(1, [undoes, after(9)])));
    await app.pass({ hours: 1 });
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'COMPENSATION_FAILED' } });
  });

  it('settles after shielded parts of the branches that it has closed', async () => {
    const order: string[] = [];
    const flow = aFlow(async (ctx) => {
      await ctx.some(1, [
        after(1),
        async (c) => c.shield(async (s) => s.sleep({ hours: 3 }).then(() => order.push('shielded'))),
      ]);
      order.push('settled');
      return order.slice(-2);
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['shielded', 'settled'] });
  });

  it('goes on as a new run where a branch does', async () => {
    const flow = defineWorkflow<number>({
      name: 'flow',
      run: async (ctx, round) =>
        round === 2 ? 'second' : ctx.some(2, [after(1), async (c) => c.continueAsNew(2), after(2)]),
    });
    const { app, runId } = await startedIn([flow], 1);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'second' });
  });

  it('names what a branch has asked for at last and not awaited', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.some(1, [
        async (c) => {
          await c.sleep({ hours: 1 });
          void c.step('lost', () => 1);
        },
        after(2),
      ]);
      await ctx.sleep({ hours: 1 });
    });
    const { app, runId } = await started(flow);
    await expect(app.runToEnd(runId)).rejects.toThrow('step "lost"');
  });

  it('gives the same in a history that was written under the first rules', async () => {
    const events = [runStarted(0, 1), timerStarted('1'), timerStarted('2'), timerFired('2'), timerFired('1')];
    const { status } = await replay(
      async (ctx) => ctx.some(2, [after(1), after(2), after(3)]),
      [...events.slice(0, 3), timerStarted('3'), ...events.slice(3)],
    );
    const result = [
      { index: 1, value: 2 },
      { index: 0, value: 1 },
    ];
    expect(status).toEqual({ kind: 'ended', outcome: { status: 'completed', result } });
  });

  it('is told apart by its code', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.some(1, [failing(1, 'broken')]).catch((error: unknown) => hasCode(error, 'TOO_FEW_SUCCEEDED')),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
  });
});
