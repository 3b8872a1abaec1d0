import { defineApp, defineWorkflow, hasCode } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { signalRun, requestControl } from '../../lib/operations/send-to-inbox.js';
import { settleToken } from '../../lib/operations/settle-token.js';

test('signals are taken in order, kept, and chosen by predicate', async () => {
  const flow = defineWorkflow({
    name: 'flow',
    async run(ctx) {
      const big = await ctx.signal<{ n: number }>('order', { where: ({ n }) => n > 10 });
      const first = await ctx.signal<{ n: number }>('order');
      try {
        await ctx.signal('never', { timeout: { hours: 2 } });
      } catch (error) {
        if (!hasCode(error, 'SIGNAL_TIMED_OUT')) throw error;
      }
      return [big.n, first.n];
    },
  });
  const app = createTestApp(defineApp({ workflows: [flow] }));
  const runId = await app.start(flow);
  await app.settleDown();
  for (const n of [1, 2, 12]) await signalRun(app.deps, runId, { name: 'order', payload: { n } });
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [12, 1] });
  expect((await app.show(runId)).unreadSignals).toEqual(['order']);
});

test('children, tokens, saga, race, continue-as-new', async () => {
  const child = defineWorkflow<{ n: number }, number>({
    name: 'child',
    async run(ctx, { n }) {
      await ctx.sleep({ hours: n });
      if (n === 3) throw new Error('three');
      return n * 2;
    },
  });
  const undone: string[] = [];
  const parent = defineWorkflow<{ round: number }>({
    name: 'parent',
    async run(ctx, { round }) {
      if (round === 1) return ctx.continueAsNew({ round: 2 });
      const results = await ctx.map([1, 2], (n) => ctx.child(child, { n }), { concurrency: 2 });
      const failed = await ctx.child(child, { n: 3 }).catch((error: unknown) => (error as Error).message);
      const external = await ctx.externalToken({ name: 'approval', timeout: { days: 1 } });
      const { result } = await external.outcome;
      const won = await ctx.race([async (c) => c.sleep({ hours: 1 }).then(() => 'sleep'), async (c) => c.child(child, { n: 5 }).then(() => 'child')]);
      const saga = await ctx
        .saga(async (s) => {
          await ctx.step('book', () => 1);
          s.compensate('unbook', () => undone.push('unbook'));
          await ctx.step('pay', () => 2);
          s.compensate('refund', () => undone.push('refund'));
          throw new Error('no seat');
        })
        .catch((error: unknown) => (error as Error).message);
      return { results, failed, result, won, saga };
    },
  });
  const app = createTestApp(defineApp({ workflows: [parent, child] }));
  const runId = await app.start(parent, { round: 1 });
  const ended = await app.runToEnd(runId);
  if (ended.status !== 'continued') throw new Error(JSON.stringify(ended));
  await app.pass({ hours: 7 });
  const waits = await app.show(ended.nextRunId);
  expect(waits.waits.map(({ kind, name }) => [kind, name])).toEqual([['external', 'approval']]);
  const token = app.deps.tokens.settleToken({ runId: ended.nextRunId, waitId: waits.waits[0]!.waitId });
  expect(await settleToken(app.deps, { token, outcome: { kind: 'completed', result: 'yes', isError: false } })).toEqual({ settled: true });
  expect(await app.runToEnd(ended.nextRunId)).toEqual({
    status: 'completed',
    result: { results: [2, 4], failed: 'child "child" failed: three', result: 'yes', won: 'sleep', saga: 'no seat' },
  });
  expect(undone).toEqual(['refund', 'unbook']);
  await app.pass({ minutes: 2 });
  const { runs } = await (await import('../../lib/operations/read-runs.js')).listRuns(app.deps, { limit: 100 });
  expect(runs.map(({ workflow, status }) => `${workflow} ${status}`).sort()).toEqual([
    'child cancelled', 'child completed', 'child completed', 'child failed', 'parent completed', 'parent continued',
  ]);
});

test('a paused run takes nothing in until it is resumed', async () => {
  const flow = defineWorkflow({ name: 'flow', run: async (ctx) => ctx.signal('go') });
  const app = createTestApp(defineApp({ workflows: [flow] }));
  const runId = await app.start(flow);
  await app.settleDown();
  await requestControl(app.deps, runId, 'pause');
  await signalRun(app.deps, runId, { name: 'go', payload: 1 });
  await app.pass({ hours: 1 });
  expect((await app.show(runId)).status).toBe('running');
  await requestControl(app.deps, runId, 'resume');
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 1 });
});
