import type { StepOptions } from 'outwait';
import { describe, expect, it } from 'vitest';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { mortal } from './mortal.js';
import { aFlow, eventTypes, started, type Started } from './support.js';

interface Crashing extends Started {
  /** Delivers the run's message for that time to a process that dies in the step. */
  readonly crash: (deliveryCount: number) => Promise<void>;
  /** Delivers it to a process that survives. */
  readonly live: (deliveryCount: number) => Promise<void>;
  readonly ran: () => number;
}

/** Starts a run of one step that kills its process on request. */
async function crashing(options: StepOptions): Promise<Crashing> {
  let ran = 0;
  let die: (() => void) | undefined;
  const flow = aFlow(async (ctx) =>
    ctx
      .step(
        'deadly',
        async () => {
          ran++;
          die?.();
          if (die !== undefined) await new Promise(() => undefined);
          return 'done';
        },
        options,
      )
      .catch((error: unknown) => (error as { code: string }).code),
  );
  const { app, runId } = await started(flow);
  const limits = (deliveryCount: number) => ({ remainingMs: () => 60_000, deliveryCount });
  return {
    app,
    runId,
    ran: () => ran,
    crash: async (deliveryCount) => {
      const process = mortal(app.deps);
      die = process.die;
      await Promise.race([runTurn(process.deps, { runId }, limits(deliveryCount)), process.death]);
      die = undefined;
    },
    live: async (deliveryCount) => runTurn(app.deps, { runId }, limits(deliveryCount)),
  };
}

describe('a step whose process died', () => {
  it('is run again, and that attempt counts as the first', async () => {
    const run = await crashing({ retry: { maxAttempts: 1 } });
    await run.crash(1);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(run.ran()).toBe(2);
  });

  it('and that may run at most once is not run again', async () => {
    const run = await crashing({ atMostOnce: true });
    await run.crash(1);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'STEP_INTERRUPTED' });
    expect(run.ran()).toBe(1);
    expect((await eventTypes(run)).filter((type) => type.startsWith('Step'))).toEqual([
      'StepRequested',
      'StepStarted',
      'StepFailed',
    ]);
  });

  it('three times after the deliveries were noticed is given up as poison', async () => {
    const run = await crashing({});
    for (const delivery of [1, 2, 3, 4]) await run.crash(delivery);
    await run.live(5);
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'STEP_POISONED' });
    expect(run.ran()).toBe(4);
  });

  it('twice is run once more and may succeed', async () => {
    const run = await crashing({});
    for (const delivery of [1, 2, 3]) await run.crash(delivery);
    await run.live(4);
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
  });
});

describe('a step that may run at most once', () => {
  it('and succeeds is recorded before and after', async () => {
    const run = await crashing({ atMostOnce: true });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect((await eventTypes(run)).filter((type) => type.startsWith('Step'))).toEqual([
      'StepRequested',
      'StepStarted',
      'StepCompleted',
    ]);
  });

  it('and fails is not repeated, whatever its retry options say', async () => {
    let ran = 0;
    const flow = aFlow(async (ctx) =>
      ctx.step(
        'a',
        () => {
          ran++;
          throw new Error('no');
        },
        { atMostOnce: true, retry: { maxAttempts: 9 } },
      ),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'STEP_FAILED' } });
    expect(ran).toBe(1);
  });
});
