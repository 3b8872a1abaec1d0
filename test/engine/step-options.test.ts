import type { StepContext, StepOptions } from 'outwait';
import { describe, expect, it } from 'vitest';
import { aFlow, started, startMs } from './support.js';

/**
 * Returns the seconds at which the attempts of a step that always fails are made, and the error with which it fails.
 */
async function attemptsOf(
  options: StepOptions,
  work: (step: StepContext) => unknown = () => {
    throw new RangeError('busy');
  },
  seed = 1,
): Promise<{ readonly atS: readonly number[]; readonly code: unknown }> {
  const atS: number[] = [];
  const flow = aFlow(async (ctx) =>
    ctx
      .step(
        'a',
        (step) => {
          atS.push((run.app.clock.nowMs() - startMs) / 1000);
          return work(step);
        },
        options,
      )
      .catch((error: unknown) => (error as { code: string }).code),
  );
  const run = await started(flow, {}, { seed });
  const outcome = await run.app.runToEnd(run.runId);
  return { atS, code: outcome.status === 'completed' ? outcome.result : outcome };
}

describe('the attempts of a step (EN-3)', () => {
  it('are spread by the jitter, differently for each seed, never later than without it', async () => {
    const retry = { maxAttempts: 4, initialInterval: { seconds: 10 }, jitter: 1 };
    const [one, two] = [await attemptsOf({ retry }, undefined, 1), await attemptsOf({ retry }, undefined, 2)];
    expect(one.atS).not.toEqual(two.atS);
    for (const { atS } of [one, two]) {
      expect(atS).toHaveLength(4);
      [10, 30, 70].forEach((latestS, at) => {
        expect(atS[at + 1]).toBeLessThanOrEqual(latestS);
      });
    }
  });

  it.each([-0.1, 1.1, Number.NaN])('with a jitter of %s are refused', async (jitter) => {
    expect(await attemptsOf({ retry: { jitter } })).toEqual({ atS: [], code: 'INPUT_INVALID' });
  });

  it.each<[string, NonNullable<NonNullable<StepOptions['retry']>['nonRetryable']>, number]>([
    ['its class is named', ['TypeError', 'RangeError'], 1],
    ['another class is named', ['TypeError'], 3],
    ['the predicate says so', (error) => error instanceof RangeError, 1],
    ['the predicate says no', () => false, 3],
  ])('end with the first when its error is not to be retried: %s', async (_, nonRetryable, attempts) => {
    const { atS, code } = await attemptsOf({ retry: { maxAttempts: 3, nonRetryable } });
    expect([atS.length, code]).toEqual([attempts, 'STEP_FAILED']);
  });

  it('are left to the retry policy when the predicate itself throws', async () => {
    const nonRetryable = (): boolean => {
      throw new Error('predicate');
    };
    const { atS, code } = await attemptsOf({ retry: { maxAttempts: 3, nonRetryable } });
    expect([atS.length, code]).toEqual([3, 'STEP_FAILED']);
  });

  it('wait for as long as an error says, where that is longer', async () => {
    const { atS } = await attemptsOf({ retry: { maxAttempts: 3 } }, ({ attempt }) => {
      throw Object.assign(new Error('429'), { retryAfterMs: attempt === 1 ? 7_000 : 10 });
    });
    expect(atS).toEqual([0, 7, 9]);
  });

  it.each([Number.NaN, Infinity, -5, 'soon'])('pay no heed to a wait of %s', async (retryAfterMs) => {
    const { atS } = await attemptsOf({ retry: { maxAttempts: 2 } }, () => {
      throw Object.assign(new Error('429'), { retryAfterMs });
    });
    expect(atS).toEqual([0, 1]);
  });

  it('stop when the next one would come after the deadline of the step', async () => {
    const retry = { maxAttempts: 100, initialInterval: { seconds: 10 }, maxInterval: { seconds: 10 } };
    expect(await attemptsOf({ retry, deadline: { seconds: 35 } })).toEqual({
      atS: [0, 10, 20, 30],
      code: 'STEP_FAILED',
    });
  });

  it('are given what the one before reported last, and none of what a success did', async () => {
    const given: unknown[] = [];
    const flow = aFlow(async (ctx) =>
      ctx.step('a', (step) => {
        given.push(step.progress);
        step.report({ row: step.attempt });
        if (step.attempt < 4) {
          if (step.attempt !== 2) step.report({ row: step.attempt, last: true });
          throw new Error('cut off');
        }
        return step.progress ?? null;
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { row: 3, last: true } });
    expect(given).toEqual([undefined, { row: 1, last: true }, { row: 2 }, { row: 3, last: true }]);
  });

  it('have one idempotency key and stable keys under it, which no other step has (EN-4)', async () => {
    const keys: string[][] = [[], []];
    const flow = aFlow(async (ctx) => {
      for (const list of keys) {
        await ctx.step('a', (step) => {
          list.push(`${step.idempotencyKey} ${step.subKey('mail')} ${step.subKey('sms')}`);
          if (step.attempt < 3) throw new Error('busy');
        });
      }
    });
    const { app, runId } = await started(flow);
    await app.runToEnd(runId);
    expect(keys.map((list) => new Set(list).size)).toEqual([1, 1]);
    expect(new Set(keys.flatMap((list) => (list[0] ?? '').split(' '))).size).toBe(6);
  });
});
