import { setImmediate as eventLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { foldHistory } from '../../../lib/history/run-state.js';
import { aFlow, started } from '../../engine/support.js';

// Waits that a workflow requests and drops.

test('step that nobody waits for fails unseen', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const run = await started(
    aFlow(async (ctx) => {
      const work = (): never => {
        throw new Error('no');
      };
      void ctx.step('dropped', work, { retry: { maxAttempts: 1 } });
      await ctx.sleep({ minutes: 2 });
      return 'done';
    }),
  );
  expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
  await eventLoop();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('step that is dropped in the turn that asks for it: closed in the log with its request', async () => {
  let ran = 0;
  const { app, runId } = await started(
    aFlow(async (ctx) => {
      await ctx.race([async () => 1, async (c) => c.step('dropped', () => ++ran)]);
      await ctx.sleep({ hours: 1 });
    }),
  );
  await app.settleDown();
  const { commits } = (await app.deps.store.runs.read(runId)) ?? { commits: [] };
  expect([...foldHistory(commits).open.values()].map(({ kind }) => kind)).toEqual(['timer']);
  expect(ran).toBe(0);
});
