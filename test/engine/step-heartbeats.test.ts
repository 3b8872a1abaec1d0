import type { StepContext, StepOptions } from 'outwait';
import { describe, expect, it } from 'vitest';
import { aFlow, endedAfterMs, started, withTimePassing, type Started } from './support.js';

const S = 1_000;

/** Starts a run of one step, long or not; if the step fails, its code is the result. */
async function aStep(work: (step: StepContext, run: Started) => unknown, options: StepOptions): Promise<Started> {
  const run: Started = await started(
    aFlow(async (ctx) =>
      ctx.step('work', (step) => work(step, run), options).catch((error: unknown) => (error as { code: string }).code),
    ),
  );
  return run;
}

async function outcomeOf(run: Started): Promise<unknown> {
  await withTimePassing(run.app, run.app.runToEnd(run.runId));
  return (await run.app.show(run.runId)).outcome;
}

describe.each([{ long: false }, { long: true }])('EN-3: a step with a heartbeat timeout, $long', ({ long }) => {
  const options: StepOptions = { long, heartbeatTimeout: { seconds: 10 }, timeout: { seconds: 40 } };

  it('goes on for as long as it reports', async () => {
    const run = await aStep(
      async ({ report, signal }, { app }) => {
        for (let n = 1; n <= 4; n++) {
          await app.clock.delay(9 * S);
          report(n);
        }
        return signal.aborted;
      },
      { ...options, retry: { maxAttempts: 1 } },
    );
    expect(await outcomeOf(run)).toEqual({ status: 'completed', result: false });
    expect(await endedAfterMs(run)).toBe(36 * S);
  });

  it('fails when it says nothing for that long, and its signal aborts', async () => {
    const aborted: boolean[] = [];
    const run = await aStep(
      async ({ report, signal }, { app }) => {
        await app.clock.delay(5 * S);
        report('begun');
        signal.addEventListener('abort', () => aborted.push(true), { once: true });
        return new Promise(() => undefined);
      },
      { ...options, retry: { maxAttempts: 1 } },
    );
    expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'STEP_HEARTBEAT_MISSED' });
    expect(await endedAfterMs(run)).toBe(15 * S);
    expect(aborted).toEqual([true]);
  });

  it('is repeated then, and given what it reported last', async () => {
    const run = await aStep(({ attempt, progress, report }) => {
      if (attempt === 2) return progress ?? 'nothing';
      report({ row: 4 });
      return new Promise(() => undefined);
    }, options);
    expect(await outcomeOf(run)).toEqual({ status: 'completed', result: { row: 4 } });
    expect(await endedAfterMs(run)).toBe(11 * S);
  });
});

describe.each([{ long: false }, { long: true }])('what a step reports, $long', ({ long }) => {
  it('may be 256 KiB of JSON; more is an error that the step can handle', async () => {
    const run = await aStep(
      ({ report }) => {
        report('x'.repeat(256 * 1024 - 2));
        try {
          report('x'.repeat(256 * 1024 - 1));
        } catch (error) {
          const { code, message, details } = error as { code: string; message: string; details: unknown };
          return { code, message, details };
        }
        return 'taken';
      },
      { long },
    );
    expect(await outcomeOf(run)).toEqual({
      status: 'completed',
      result: {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'the report of step "work" is 262145 bytes of JSON, the limit is 262144',
        details: { sizeBytes: 262_145, limitBytes: 262_144 },
      },
    });
  });

  it('ends the step, without another attempt, when it is too large and the step does not handle that', async () => {
    let ran = 0;
    const run = await aStep(
      ({ report }) => {
        ran++;
        report('x'.repeat(300_000));
      },
      { long },
    );
    expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'PAYLOAD_TOO_LARGE' });
    expect(ran).toBe(1);
  });

  it('must be JSON', async () => {
    const run = await aStep(
      ({ report }) => {
        report((() => 1) as never);
      },
      { long },
    );
    expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'STEP_FAILED' });
  });
});
