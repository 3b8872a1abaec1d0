import { setImmediate as eventLoop } from 'node:timers/promises';
import { NonRetryableError, type StepContext, type StepOptions } from 'outwait';
import { describe, expect, it } from 'vitest';
import { aFlow, endedAfterMs, eventTypes, started, startMs, withTimePassing } from './support.js';

describe('a run of three steps and a sleep', () => {
  it('completes and has one commit for each step', async () => {
    const flow = aFlow(async (ctx) => {
      const one = await ctx.step('one', () => 1);
      const two = await ctx.step('two', () => one + 1);
      await ctx.sleep({ days: 30 });
      return ctx.step('three', () => two + 1);
    });
    const run = await started(flow);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 3 });
    const { events } = await run.app.history(run.runId);
    expect(events.map(({ seq, type }) => `${seq} ${type}`)).toEqual([
      '1 RunStarted',
      '1 StepRequested',
      '2 StepCompleted',
      '2 StepRequested',
      '3 StepCompleted',
      '3 TimerStarted',
      '4 TimerFired',
      '4 StepRequested',
      '5 StepCompleted',
      '5 RunEnding',
      '5 RunEnded',
    ]);
    expect(await endedAfterMs(run)).toBe(30 * 86_400_000);
  });
});

describe('the result of a step', () => {
  it('is its JSON form, in the turn that ran it as on every replay', async () => {
    const flow = aFlow(async (ctx) => {
      const at = (await ctx.step('a', () => new Date(0))) as unknown;
      return typeof at;
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'string' });
  });

  it('may be undefined', async () => {
    const flow = aFlow(async (ctx) => {
      const result: unknown = await ctx.step<unknown>('a', () => undefined);
      await ctx.sleep({ hours: 1 });
      return [result === undefined];
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [true] });
  });

  it('is recorded as the step gave it, whatever the workflow does to it', async () => {
    const flow = aFlow(async (ctx) => {
      const count = await ctx.step('a', () => ({ n: 1 }));
      count.n += 1;
      await ctx.sleep({ hours: 1 });
      return count.n;
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 2 });
  });

  it.each<[string, () => unknown, object]>([
    [
      'over 2 MiB',
      () => 'x'.repeat(2_097_151),
      { code: 'PAYLOAD_TOO_LARGE', message: 'the result of step "a" is 2097153 bytes of JSON, the limit is 2097152' },
    ],
    [
      'no JSON',
      () => 1n,
      { code: 'STEP_FAILED', message: expect.stringContaining('the result of step "a" is not JSON') as unknown },
    ],
  ])('that is %s fails the step at once', async (_, work, error) => {
    let attempts = 0;
    const flow = aFlow(async (ctx) =>
      ctx.step('a', () => {
        attempts++;
        return work();
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error });
    expect(attempts).toBe(1);
  });

  it('may be 2 MiB', async () => {
    const flow = aFlow(async (ctx) => (await ctx.step('a', () => 'x'.repeat(2_097_150))).length);
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 2_097_150 });
  });
});

describe('a step that fails (EN-3)', () => {
  async function attemptsOf(
    options: StepOptions,
    work: (attempt: number) => unknown,
  ): Promise<{ atSeconds: number[]; outcome: unknown; types: readonly string[] }> {
    const atSeconds: number[] = [];
    const run = await started(
      aFlow(async (ctx) =>
        ctx.step(
          'charge',
          ({ attempt }) => {
            atSeconds.push((run.app.clock.nowMs() - startMs) / 1_000);
            return work(attempt);
          },
          options,
        ),
      ),
    );
    const outcome = await run.app.runToEnd(run.runId);
    return { atSeconds, outcome, types: await eventTypes(run) };
  }

  it('has five attempts, 1, 2, 4 and 8 s apart, then throws StepFailed', async () => {
    const { atSeconds, outcome, types } = await attemptsOf({}, (attempt) => {
      throw new RangeError(`no ${attempt}`);
    });
    expect(atSeconds).toEqual([0, 1, 3, 7, 15]);
    expect(outcome).toEqual({
      status: 'failed',
      error: {
        code: 'STEP_FAILED',
        message: 'step "charge" failed: no 5',
        details: {
          step: 'charge',
          attempts: 5,
          name: 'RangeError',
          at: expect.stringContaining(`${import.meta.filename}:`) as unknown,
        },
      },
    });
    expect(types.filter((type) => type.startsWith('Step'))).toEqual([
      'StepRequested',
      'StepAttemptFailed',
      'StepAttemptFailed',
      'StepAttemptFailed',
      'StepAttemptFailed',
      'StepFailed',
    ]);
  });

  it('follows its own policy', async () => {
    const retry = { maxAttempts: 4, initialInterval: { minutes: 1 }, maxInterval: { seconds: 90 } };
    const { atSeconds } = await attemptsOf({ retry }, () => Promise.reject(new Error('no')));
    expect(atSeconds).toEqual([0, 60, 150, 240]);
  });

  it('gives the result of the attempt that succeeds', async () => {
    const { atSeconds, outcome } = await attemptsOf({}, (attempt) => {
      if (attempt < 3) throw new Error('not yet');
      return attempt;
    });
    expect(atSeconds).toEqual([0, 1, 3]);
    expect(outcome).toEqual({ status: 'completed', result: 3 });
  });

  it.each<[string, () => Error]>([
    ['a NonRetryableError', () => new NonRetryableError('card expired')],
    ['an error marked nonRetryable', () => Object.assign(new Error('card expired'), { nonRetryable: true })],
  ])('has one attempt when it throws %s', async (_, error) => {
    const { atSeconds, outcome } = await attemptsOf({}, () => {
      throw error();
    });
    expect(atSeconds).toEqual([0]);
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { code: 'STEP_FAILED', message: 'step "charge" failed: card expired' },
    });
  });

  it('has one attempt when no more are allowed', async () => {
    const { atSeconds } = await attemptsOf({ retry: { maxAttempts: 1 } }, () => Promise.reject(new Error('no')));
    expect(atSeconds).toEqual([0]);
  });

  it('keeps at most 4 KiB of the text', async () => {
    const { outcome } = await attemptsOf({ retry: { maxAttempts: 1 } }, () =>
      Promise.reject(new Error('é'.repeat(4_096))),
    );
    // The other 22 bytes name the step.
    expect(outcome).toMatchObject({ error: { message: `step "charge" failed: ${'é'.repeat(2_037)}` } });
  });
});

describe('the context of a step', () => {
  it('has one idempotency key for all attempts and another for each step (EN-4)', async () => {
    const keys: string[] = [];
    const flow = aFlow(async (ctx) => {
      for (const name of ['a', 'a']) {
        await ctx.step(name, ({ attempt, idempotencyKey }) => {
          keys.push(idempotencyKey);
          if (attempt === 1) throw new Error('once more');
        });
      }
    });
    const { app, runId } = await started(flow);
    await app.runToEnd(runId);
    expect(keys).toEqual([`${runId}/1`, `${runId}/1`, `${runId}/2`, `${runId}/2`]);
  });

  it('has a signal that aborts when the attempt has timed out, though the turn goes on', async () => {
    const abortedAfterSeconds: number[] = [];
    const hang = async ({ signal }: StepContext): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          abortedAfterSeconds.push((run.app.clock.nowMs() - startMs) / 1_000);
          reject(new Error('aborted'));
        });
      });
    const run = await started(
      aFlow(async (ctx) =>
        Promise.allSettled([
          ctx.step('short', hang, { timeout: { seconds: 10 }, retry: { maxAttempts: 1 } }),
          ctx.step('long', hang, { timeout: { seconds: 30 }, retry: { maxAttempts: 1 } }),
        ]).then((ends) => ends.map(({ status }) => status)),
      ),
    );
    expect(await withTimePassing(run.app, run.app.runToEnd(run.runId))).toEqual({
      status: 'completed',
      result: ['rejected', 'rejected'],
    });
    expect(abortedAfterSeconds).toEqual([10, 30]);
  });

  it('that times out each time fails the step as StepFailed with its own code', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.step('hang', async () => new Promise<never>(() => undefined), {
        timeout: { seconds: 10 },
        retry: { maxAttempts: 2 },
      }),
    );
    const run = await started(flow);
    expect(await withTimePassing(run.app, run.app.runToEnd(run.runId))).toMatchObject({
      status: 'failed',
      error: { code: 'STEP_TIMED_OUT', message: 'step "hang" took longer than 10000 ms' },
    });
    expect(await endedAfterMs(run)).toBe(21_000);
  });

  it('cannot be used to wait: the run is blocked and says why', async () => {
    const flow = aFlow(async (ctx) => ctx.step('outer', async () => ctx.step('inner', () => 1)));
    const { app, runId } = await started(flow);
    await app.settleDown();
    expect((await app.show(runId)).blocked).toMatchObject({
      code: 'WORKFLOW_STUCK',
      message: expect.stringContaining("ctx.step was called outside of the workflow's turn: inside a step") as unknown,
    });
  });
});

it('steps run in parallel, 16 at a time', async () => {
  let running = 0;
  let most = 0;
  const flow = aFlow(async (ctx) =>
    Promise.all(
      Array.from({ length: 40 }, async (_, index) =>
        ctx.step(`s${index}`, async () => {
          most = Math.max(most, ++running);
          await eventLoop();
          running--;
          return index;
        }),
      ),
    ),
  );
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId)).toEqual({
    status: 'completed',
    result: Array.from({ length: 40 }, (_, index) => index),
  });
  expect(most).toBe(16);
});

it('more waits than one commit holds are all asked for', async () => {
  const flow = aFlow(
    async (ctx) => (await Promise.all(Array.from({ length: 700 }, async () => ctx.sleep({ hours: 1 })))).length,
  );
  const run = await started(flow);
  expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 700 });
  const { events } = await run.app.history(run.runId);
  const perCommit = [1, 2, 3].map(
    (seq) => events.filter((event) => event.seq === seq && event.type === 'TimerStarted').length,
  );
  expect(perCommit).toEqual([300, 300, 100]);
  // All of them happened in the first turn.
  expect(await endedAfterMs(run)).toBe(3_600_000);
});
