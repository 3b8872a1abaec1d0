import { describe, expect, it } from 'vitest';
import { aFlow, endedAfterMs, started, startMs } from './support.js';

describe('a sleep until an instant (EN-6)', () => {
  it.each([
    ['a number', startMs + 90_000, 90_000],
    ['a Date', new Date(startMs + 90_000), 90_000],
    ['one that has passed, which ends at once', startMs - 90_000, 0],
  ])('ends at it: %s', async (_kind, instant, afterMs) => {
    const run = await started(aFlow(async (ctx) => ctx.sleepUntil(instant).then(() => ctx.now() - startMs)));
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: afterMs });
    expect(await endedAfterMs(run)).toBe(afterMs);
  });
});

describe('a timer of a long run (EN-6)', () => {
  it('fires at its instant after 399 days, which no one timer of the machine can hold', async () => {
    const run = await started(aFlow(async (ctx) => ctx.sleep({ days: 399 }).then(() => ctx.now() - startMs)));
    const outcome = { status: 'completed', result: 34_473_600_000 };
    expect(await run.app.runToEnd(run.runId)).toEqual(outcome);
  });
});
