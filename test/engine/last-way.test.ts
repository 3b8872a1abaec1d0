import { defineWorkflow, type WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import { silentLog, type Log } from '../../lib/base/log.js';
import { aFlow, eventTypes, started, startedIn, statusesOf, WatchedServer } from './support.js';

const kid = defineWorkflow<unknown>({ name: 'kid', run: async (ctx) => ctx.sleep({ minutes: 1 }) });

/** Collects the warnings about workflows, or parts of them, that end without what they requested. */
function warnings(): { readonly log: Log; readonly of: string[] } {
  const of: string[] = [];
  const warn = (event: string, { kind, name }: { kind?: string; name?: string } = {}): void => {
    if (event.endsWith(' without waiting for work that it requested')) of.push(`${kind ?? ''} ${name ?? ''}`);
  };
  return { log: { ...silentLog, warn: warn }, of };
}

const abandons = (ctx: WorkflowContext): void => {
  void ctx.child(kid, null, { parentClose: 'abandon' });
};

describe('what a workflow asks for on its last way and does not wait for (F05)', () => {
  it('F05 is begun where it outlives the run: a child that is abandoned', async () => {
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        abandons(ctx);
        return Promise.resolve('done');
      },
    });
    const run = await startedIn([flow, kid]);
    expect(await run.app.runToEnd(run.runId, { allowDropped: true })).toEqual({ status: 'completed', result: 'done' });
    expect(await eventTypes(run)).toEqual([
      ...['RunStarted', 'ChildRequested', 'ChildStarted', 'RunEnding', 'RunEnded'],
    ]);
    await run.app.pass({ minutes: 2 });
    expect(await statusesOf(run, 'kid')).toEqual(['completed']);
  });

  it('F05 is begun where it outlives the run: a remote task that is left to run', async () => {
    const reports = new WatchedServer({
      start: (attempt) =>
        attempt < 3 ? { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'busy' } } : undefined,
    });
    const flow = aFlow(async (ctx) => {
      void ctx.callRemoteTask({ server: 'reports', tool: 'export', onCancel: 'leave' });
      return Promise.resolve('done');
    });
    const run = await started(flow, { reports });
    await run.app.pass({ hours: 1 });
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
    expect(reports.startedAtMs).toHaveLength(3);
    expect(reports.cancels).toBe(0);
    expect((await eventTypes(run)).slice(-3)).toEqual(['RemoteTaskStarted', 'RunEnding', 'RunEnded']);
  });

  it.each<[string, (ctx: WorkflowContext) => Promise<unknown>, string]>([
    [
      'that is cancelled',
      async (ctx) => {
        try {
          await ctx.sleep({ days: 1 });
        } finally {
          abandons(ctx);
        }
      },
      'cancelled',
    ],
    [
      'that goes on as a new one',
      async (ctx) => {
        abandons(ctx);
        return ctx.continueAsNew('next');
      },
      'continued',
    ],
    [
      'that fails',
      async (ctx) => {
        abandons(ctx);
        return Promise.reject(new Error('no'));
      },
      'failed',
    ],
    [
      'that ends with the step beside it',
      async (ctx) => {
        abandons(ctx);
        await ctx.step('quick', () => 1);
      },
      'completed',
    ],
    [
      'that asks for it in a shield which nobody awaits',
      async (ctx) => {
        void ctx.shield(async (inner) => {
          await inner.sleep({ minutes: 5 });
          abandons(inner);
        });
        return Promise.resolve();
      },
      'completed',
    ],
  ])('F05 is begun by a run %s', async (_, body, status) => {
    const flow = defineWorkflow<unknown>({
      name: 'parent',
      run: async (ctx, input) => (input === 'next' ? 'next' : body(ctx)),
    });
    const run = await startedIn([flow, kid]);
    await run.app.settleDown();
    if (status === 'cancelled') await run.app.cancel(run.runId);
    expect((await run.app.runToEnd(run.runId, { allowDropped: true, follow: false })).status).toBe(status);
    await run.app.pass({ minutes: 2 });
    expect(await statusesOf(run, 'kid')).toEqual(['completed']);
  });

  it('F05 does not hold up a run whose child cannot be started', async () => {
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        abandons(ctx);
        return Promise.resolve('done');
      },
    });
    const run = await startedIn([flow]);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect((await eventTypes(run)).slice(-3)).toEqual(['TokenSettled', 'RunEnding', 'RunEnded']);
  });

  it('F05 is named by the log, once, and fails a test', async () => {
    const { log, of } = warnings();
    const flow = aFlow(async (ctx) => {
      await ctx.sleep({ hours: 1 });
      void ctx.step('notify', () => 1);
      void ctx.callRemoteTask({ server: 'reports', tool: 'export' });
      void ctx.attachRemoteTask({ server: 'reports', taskId: 't-1' });
      void ctx.child(kid, null);
      void ctx.ask({ message: 'Really?', name: 'approval' });
      void ctx.sleep({ hours: 2 });
      return 'done';
    });
    const { app, runId } = await started(flow, { reports: new WatchedServer() }, { log });
    const failure = await app.runToEnd(runId).then(String, (error: unknown) => (error as Error).message);
    expect(failure).toContain(
      'the run ended without waiting for work that it had just requested, which may never happen: ' +
        'step "notify", remote task "export", remote task "attach", child "kid", token "approval". Await it',
    );
    expect(of).toEqual(['step notify', 'remote task export', 'remote task attach', 'child kid', 'token approval']);
    expect(await app.runToEnd(runId, { allowDropped: true })).toEqual({ status: 'completed', result: 'done' });
    expect(of).toHaveLength(5);
  });

  it('F05 is named by the log of a run that fails, and fails no test: that may be why', async () => {
    const { log, of } = warnings();
    const flow = aFlow(async (ctx) => Promise.all([ctx.step('book', () => 1), Promise.reject(new Error('no seat'))]));
    const { app, runId } = await started(flow, {}, { log });
    expect((await app.runToEnd(runId)).status).toBe('failed');
    expect(of).toEqual(['step book']);
  });

  it('F05 is nothing that a race has closed, a shield goes on with or a turn has recorded', async () => {
    const { log, of } = warnings();
    const flow = aFlow(async (ctx) => {
      void ctx.step('recorded', async () => new Promise((resolve) => setTimeout(resolve, 5)));
      await ctx.step('work', () => 1);
      void ctx.shield(async (inner) => inner.step('tidy', () => 1));
      return ctx.race([async (c) => c.step('loser', () => 1), async () => Promise.resolve('won')]);
    });
    const { app, runId } = await started(flow, {}, { log });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'won' });
    expect(of).toEqual([]);
  });

  it('F05 is named by the log when it is the winner of a race that does not wait for it, and fails a test', async () => {
    const { log, of } = warnings();
    let ran = 0;
    const flow = aFlow(async (ctx) => {
      const won = await ctx.race([
        async (c) => {
          await c.step('win', () => 1);
          void c.step('notify', () => ++ran);
          void c.child(kid, null, { parentClose: 'abandon' });
          return 'won';
        },
        async (c) => c.sleep({ days: 1 }),
      ]);
      await ctx.sleep({ hours: 1 });
      return won;
    });
    const { app, runId } = await started(flow, {}, { log });
    const failure = await app.runToEnd(runId).then(String, (error: unknown) => (error as Error).message);
    expect(failure).toContain('which may never happen: step "notify", child "kid". Await it');
    expect(await app.runToEnd(runId, { allowDropped: true })).toEqual({ status: 'completed', result: 'won' });
    expect(of).toEqual(['step notify', 'child kid']);
    expect(ran).toBe(0);
  });

  it('F05 is not named where the branch that asked for it fails, loses or shields it', async () => {
    const { log, of } = warnings();
    const flow = aFlow(async (ctx) =>
      ctx.race([
        async (c) => {
          void c.shield(async (inner) => inner.step('shielded', () => 1));
          const failing = async (f: WorkflowContext): Promise<unknown> => {
            void f.step('of one that fails', () => 1);
            throw new Error('no seat');
          };
          return c.race([failing, async (l) => l.step('loser', () => 1)]).catch(() => 'caught');
        },
      ]),
    );
    const { app, runId } = await started(flow, {}, { log });
    expect(await app.runToEnd(runId, { allowDropped: true })).toEqual({ status: 'completed', result: 'caught' });
    expect(of).toEqual([]);
  });

  it.each([
    [
      'race',
      async (ctx: WorkflowContext): Promise<unknown> =>
        ctx.race([
          async (c) => c.child(kid, null, { parentClose: 'abandon' }),
          async (c) => c.scope(async () => 'won'),
        ]),
    ],
    [
      'scope',
      async (ctx: WorkflowContext): Promise<unknown> =>
        ctx.scope(async (inner, handle) => {
          abandons(inner);
          handle.cancel();
        }),
    ],
  ])('F05 is not begun by a %s that closes before it: the run goes on without', async (_, body) => {
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        await body(ctx);
        await ctx.sleep({ hours: 1 });
      },
    });
    const run = await startedIn([flow, kid]);
    expect((await run.app.runToEnd(run.runId)).status).toBe('completed');
    expect(await statusesOf(run, 'kid')).toEqual([]);
  });
});
