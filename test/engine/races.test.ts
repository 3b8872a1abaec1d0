import { defineWorkflow, hasCode } from 'outwait';
import { describe, expect, it } from 'vitest';
import { externalWaitsOf } from '../../lib/operations/views/list-external-waits.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { aFlow, started, startedIn, statusesOf, WatchedServer } from './support.js';

describe('a race (EN-2)', () => {
  it('cancels the remote task of a loser, once, while the run goes on (GB-01)', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) => {
      const won = await ctx.race([
        async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
        async (c) => c.sleep({ hours: 1 }).then(() => 'timer'),
      ]);
      await ctx.sleep({ days: 1 });
      return won;
    });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ hours: 2 });
    expect(reports.cancels).toBe(1);
    expect((await app.show(runId)).waits.map(({ kind, waitId }) => [kind, waitId])).toEqual([['timer', '3']]);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(reports.cancels).toBe(1);
    const readAtMs = reports.readAtMs.at(-1) ?? 0;
    expect(readAtMs).toBeLessThanOrEqual(3_600_000);
  });

  it('that a timer wins over twenty remote tasks cancels each once, and ends that come later are told so (A2A-C52)', async () => {
    const supplier = new WatchedServer({ protocol: 'a2a' });
    const flow = aFlow(async (ctx) => {
      const quotes = Array.from(
        { length: 20 },
        (_, n) => async (c: typeof ctx) => c.callRemoteTask({ server: 'supplier', skill: 'quote', arguments: { n } }),
      );
      await ctx.race([...quotes, async (c) => c.sleep({ hours: 1 })]);
      await ctx.sleep({ days: 1 });
    });
    const { app, runId } = await started(flow, { supplier });
    await app.pass({ minutes: 30 });
    const tokens = (await externalWaitsOf(app.deps, runId)).map(({ token }) => token);
    expect(tokens).toHaveLength(20);
    await app.pass({ hours: 1 });
    expect(supplier.cancels).toBe(20);
    const outcome = { kind: 'completed', result: 1, isError: false } as const;
    const late = await Promise.all(tokens.map((token) => settleToken(app.deps, { token, outcome })));
    expect(late.filter(({ settled }) => settled)).toEqual([]);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    expect(supplier.cancels).toBe(20);
  });

  it('won by a remote task leaves no timer that fires (GB-01)', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 2 }, result: 'done' } });
    const flow = aFlow(async (ctx) => {
      const won = await ctx.race([
        async (c) => (await c.callRemoteTask({ server: 'reports', tool: 'export' })).result,
        async (c) => c.sleep({ hours: 1 }).then(() => 'timer'),
      ]);
      await ctx.sleep({ hours: 5 });
      return won;
    });
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
    const { events } = await app.history(runId);
    expect(events.flatMap((event) => (event.type === 'TimerFired' ? [event.waitId] : []))).toEqual(['3']);
    expect(reports.cancels).toBe(0);
  });

  it('stops the child of a loser by its policy', async () => {
    const child = defineWorkflow({ name: 'child', run: async (ctx) => ctx.sleep({ days: 1 }) });
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        await ctx.race([
          async (c) => c.child(child, null),
          async (c) => c.child(child, null, { parentClose: 'abandon' }),
          async (c) => c.sleep({ hours: 1 }),
        ]);
        await ctx.sleep({ days: 2 });
      },
    });
    const run = await startedIn([flow, child]);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed' });
    expect(await statusesOf(run, 'child')).toEqual(['cancelled', 'completed']);
  });

  it('closes the token of a loser: its holder is told that the settlement came too late', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.race([
        async (c) => (await c.externalToken({ name: 'approval' })).outcome,
        async (c) => c.sleep({ hours: 1 }),
      ]);
      await ctx.sleep({ days: 1 });
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    const token = await app.tokenOf(runId, 'approval');
    await app.pass({ hours: 2 });
    const outcome = { kind: 'completed', result: 1, isError: false } as const;
    expect(await settleToken(app.deps, { token, outcome })).toMatchObject({ settled: false });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
  });

  it('lost by a wait for a signal keeps the signal for later waits', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.race([async (c) => c.signal('go'), async (c) => c.sleep({ hours: 1 })]);
      return ctx.signal('go');
    });
    const { app, runId } = await started(flow);
    await app.pass({ hours: 2 });
    await app.signal(runId, 'go', 'kept');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'kept' });
  });

  it('that a branch loses by failing fails, and tears the others down', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) =>
      ctx
        .race([
          async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
          async (c) => {
            await c.sleep({ minutes: 10 });
            throw new Error('first to fail');
          },
        ])
        .catch(async (error: unknown) => {
          await ctx.sleep({ hours: 1 });
          return (error as Error).message;
        }),
    );
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'first to fail' });
    expect(reports.cancels).toBe(1);
  });

  it('rejects the waits of losers, so that they can clean up in finally', async () => {
    const codes: string[] = [];
    const flow = aFlow(async (ctx) => {
      await ctx.race([
        async (c) => {
          try {
            await c.sleep({ days: 1 });
          } catch (error) {
            codes.push((error as { code: string }).code);
            await ctx.step('tidy', () => codes.push('tidied'));
          }
        },
        async (c) => c.sleep({ hours: 1 }),
      ]);
      await ctx.sleep({ hours: 1 });
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    expect(codes.filter((code) => code === 'tidied')).toHaveLength(1);
    expect(codes).toContain('RUN_CANCELLED');
  });

  it('within a race is torn down with it', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) => {
      const call = async (c: typeof ctx): Promise<unknown> => c.callRemoteTask({ server: 'reports', tool: 'export' });
      await ctx.race([async (c) => c.race([call, async (d) => d.race([call])]), async (c) => c.sleep({ hours: 1 })]);
      await ctx.sleep({ hours: 1 });
    });
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    expect(reports.cancels).toBe(2);
  });

  it('is won by the branch whose wait ended first, whatever the order of the branches', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.race([3, 1, 2].map((hours) => async (c: typeof ctx) => c.sleep({ hours }).then(() => hours))),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 1 });
  });

  it('without branches is refused, since it could not be won', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.race([])));
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_INVALID' } });
  });

  it('lets a cancel of the run through', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) =>
      ctx.race([
        async (c) => c.callRemoteTask({ server: 'reports', tool: 'export' }),
        async (c) => c.sleep({ hours: 1 }),
      ]),
    );
    const { app, runId } = await started(flow, { reports });
    await app.pass({ minutes: 5 });
    await app.cancel(runId, 'enough');
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'enough' });
    await app.pass({ minutes: 5 });
    expect(reports.cancels).toBe(1);
  });
});

describe('a scope (EN-9)', () => {
  it('that is cancelled rejects its open waits and all that it asks for later, and no others', async () => {
    const reports = new WatchedServer();
    const flow = aFlow(async (ctx) => {
      const outside = ctx.sleep({ hours: 3 }).then(() => 'outside');
      const inside = await ctx.scope(async (c, scope) => {
        const call = c.callRemoteTask({ server: 'reports', tool: 'export' }).catch((error: unknown) => error);
        await ctx.sleep({ hours: 1 });
        scope.cancel();
        const first = await call;
        const second = await c.step('never', () => 1).catch((error: unknown) => error);
        return [first, second].map((error) => hasCode(error, 'RUN_CANCELLED'));
      });
      return [inside, await outside];
    });
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [[true, true], 'outside'] });
    expect(reports.cancels).toBe(1);
  });

  it('that is cancelled and rethrows the error fails the run, which was not cancelled itself', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.scope(async (c, scope) => {
        const slept = c.sleep({ hours: 1 });
        scope.cancel();
        await slept;
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'RUN_CANCELLED' } });
  });

  it('does not reach what is shielded in it', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.scope(async (c, scope) => {
        const shielded = c.shield(async (d) => d.sleep({ hours: 1 }).then(() => 'whole'));
        scope.cancel();
        return shielded;
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'whole' });
  });
});

describe('a shield (EN-9)', () => {
  it('keeps its waits through a cancel; the next wait outside takes it', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 2 }, result: 'paid' } });
    const seen: unknown[] = [];
    const flow = aFlow(async (ctx) => {
      const paid = await ctx.shield(async (c) => (await c.callRemoteTask({ server: 'reports', tool: 'pay' })).result);
      seen.push(paid);
      await ctx.sleep({ days: 9 });
    });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ hours: 1 });
    expect(await app.cancel(runId, 'too late')).toBe(true);
    await app.settleDown();
    expect((await app.show(runId)).waits).toHaveLength(1);
    expect(await app.runToEnd(runId, { within: { hours: 3 } })).toEqual({ status: 'cancelled', reason: 'too late' });
    expect(seen).toContain('paid');
    expect(reports.cancels).toBe(0);
  });

  it('does not keep what is beside it', async () => {
    const flow = aFlow(async (ctx) => {
      const beside = ctx.sleep({ hours: 2 }).catch(() => 'rejected');
      const inside = ctx.shield(async (c) => c.sleep({ hours: 2 }).then(() => 'slept'));
      return [await beside, await inside];
    });
    const { app, runId } = await started(flow);
    await app.pass({ hours: 1 });
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['rejected', 'slept'] });
  });

  it('with nothing after it lets the run complete although a cancel came', async () => {
    const flow = aFlow(async (ctx) => ctx.shield(async (c) => c.sleep({ hours: 2 }).then(() => 'whole')));
    const { app, runId } = await started(flow);
    await app.pass({ hours: 1 });
    expect(await app.cancel(runId)).toBe(true);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'whole' });
  });

  it('in finally lets cleanup end in spite of a second cancel', async () => {
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.sleep({ days: 1 });
      } finally {
        await ctx.shield(async (c) => {
          await c.sleep({ hours: 1 });
          await c.step('undo', () => undone.push('undone'));
        });
      }
    });
    const undone: string[] = [];
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId);
    await app.pass({ minutes: 10 });
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled' });
    expect(undone).toEqual(['undone']);
  });
});
