import { NonRetryableError } from 'outwait';
import { expect, it } from 'vitest';
import { aFlow, started } from './support.js';

it('a map gives results in the order of the items, whatever ends first (EN-2)', async () => {
  const flow = aFlow(async (ctx) =>
    ctx.map([3, 1, 2], async (hours, index) => {
      await ctx.sleep({ hours });
      return `${index}:${hours}`;
    }),
  );
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['0:3', '1:1', '2:2'] });
});

it.each([
  [undefined, 16],
  [3, 3],
  [1, 1],
])('a map with concurrency %s has at most %i items under way', async (concurrency, most) => {
  const flow = aFlow(async (ctx) => {
    let underWay = 0;
    let max = 0;
    await ctx.map(
      Array.from({ length: 40 }, (_, n) => n),
      async (n) => {
        max = Math.max(max, ++underWay);
        await ctx.sleep({ minutes: 1 + (n % 7) });
        underWay--;
      },
      concurrency === undefined ? {} : { concurrency },
    );
    return max;
  });
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: most });
});

it('a map begins no further item after a failure, and fails with the first one', async () => {
  const flow = aFlow(async (ctx) => {
    const begun: number[] = [];
    const message = await ctx
      .map(
        [0, 1, 2, 3, 4, 5],
        async (n) => {
          begun.push(n);
          await ctx.sleep({ minutes: 1 });
          if (n === 1) await ctx.step('fail', () => Promise.reject(new NonRetryableError('one is bad')));
        },
        { concurrency: 2 },
      )
      .catch((error: unknown) => (error as Error).message);
    await ctx.sleep({ hours: 1 });
    return [message, begun];
  });
  const { app, runId } = await started(flow);
  const outcome = await app.runToEnd(runId);
  expect(outcome).toEqual({ status: 'completed', result: ['step "fail" failed: one is bad', [0, 1, 2]] });
});

it('a map of nothing is an empty list', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.map([], async () => 1)));
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [] });
});

it.each([0, -1, 1.5, Number.NaN])('a map with a concurrency of %s is refused', async (concurrency) => {
  const flow = aFlow(async (ctx) => ctx.map([1], async () => 1, { concurrency }));
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_INVALID' } });
});
