import { defineWorkflow, NonRetryableError } from 'outwait';
import { describe, expect, it } from 'vitest';
import { aFlow, eventTypes, started } from './support.js';

const fails = (): never => {
  throw new NonRetryableError('no seat');
};

describe('a saga', () => {
  it('that succeeds compensates nothing', async () => {
    let undone = 0;
    const flow = aFlow(async (ctx) =>
      ctx.saga(async (saga) => {
        const booked = await ctx.step('book', () => 'b-1');
        saga.compensate('unbook', () => undone++);
        return booked;
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'b-1' });
    expect(undone).toBe(0);
  });

  it('that fails compensates what was done, the last first, each as a step, and fails the same', async () => {
    const undone: string[] = [];
    const flow = aFlow(async (ctx) =>
      ctx.saga(async (saga) => {
        for (const part of ['flight', 'hotel']) {
          await ctx.step(`book ${part}`, () => part);
          saga.compensate(`cancel ${part}`, () => undone.push(part));
        }
        await ctx.step('book car', fails);
      }),
    );
    const run = await started(flow);
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'STEP_FAILED', message: 'step "book car" failed: no seat' },
    });
    expect(undone).toEqual(['hotel', 'flight']);
    const { events } = await run.app.history(run.runId);
    expect(events.flatMap((event) => (event.type === 'StepRequested' ? [event.name] : []))).toEqual([
      'book flight',
      'book hotel',
      'book car',
      'cancel hotel',
      'cancel flight',
    ]);
  });

  it('goes on after a compensation that fails, and names it with both errors (F29)', async () => {
    const undone: string[] = [];
    const flow = aFlow(async (ctx) => {
      try {
        await ctx.saga(async (saga) => {
          saga.compensate('one', () => undone.push('one'));
          saga.compensate('two', fails);
          saga.compensate('three', () => undone.push('three'));
          await ctx.step('work', fails);
        });
        return 'no failure';
      } catch (error) {
        const { code, details, cause } = error as { code: string; details: unknown; cause: Error };
        return [code, details, cause.name];
      }
    });
    const { app, runId } = await started(flow);
    const ofStep = { name: 'StepFailed', fields: { code: 'STEP_FAILED' } };
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: [
        'COMPENSATION_FAILED',
        {
          failed: ['two'],
          errors: [{ compensation: 'two', message: 'step "two" failed: no seat', ...ofStep }],
          cause: { message: 'step "work" failed: no seat', ...ofStep },
        },
        'StepFailed',
      ],
    });
    expect(undone).toEqual(['three', 'one']);
  });

  it('repeats a compensation by its own retry options', async () => {
    let attempts = 0;
    const flow = aFlow(async (ctx) =>
      ctx.saga(async (saga) => {
        saga.compensate(
          'flaky',
          () => {
            if (++attempts < 8) throw new Error('busy');
          },
          { retry: { maxAttempts: 10 } },
        );
        await ctx.step('work', fails);
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { message: 'step "work" failed: no seat' },
    });
    expect(attempts).toBe(8);
  });

  it('is compensated when the run is cancelled, and a second cancel does not stop that', async () => {
    const undone: string[] = [];
    const flow = aFlow(async (ctx) =>
      ctx.saga(async (saga) => {
        saga.compensate('second', () => undone.push('second'));
        saga.compensate('first', () => {
          if (undone.push('first') < 3) throw new Error('busy');
        });
        await ctx.sleep({ days: 1 });
      }),
    );
    const { app, runId } = await started(flow);
    await app.pass({ hours: 1 });
    await app.cancel(runId, 'enough');
    await app.settleDown();
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'enough' });
    expect(undone).toEqual(['first', 'first', 'first', 'second']);
  });

  it('that is cancelled and not undone says so: the run has failed', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.saga(async (saga) => {
        saga.compensate('refund', fails);
        await ctx.sleep({ days: 1 });
      }),
    );
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'COMPENSATION_FAILED', details: { failed: ['refund'] } },
    });
  });

  it('that was not undone and was heard of takes nothing from a cancel that comes later', async () => {
    const flow = aFlow(async (ctx) => {
      const failed = ctx.saga(async (saga) => {
        saga.compensate('refund', fails);
        await ctx.step('work', fails);
      });
      await failed.catch(() => undefined);
      await ctx.sleep({ days: 1 });
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId, 'enough');
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'enough' });
  });

  it('that goes on as a new run compensates nothing', async () => {
    let undone = 0;
    const flow = defineWorkflow<unknown>({
      name: 'flow',
      run: async (ctx, input) =>
        ctx.saga(async (saga) => {
          saga.compensate('undo', () => undone++);
          return input === 'next' ? 'done' : ctx.continueAsNew('next');
        }),
    });
    const run = await started(flow);
    expect((await run.app.runToEnd(run.runId, { follow: false })).status).toBe('continued');
    expect(undone).toBe(0);
    expect(await eventTypes(run)).toEqual(['RunStarted', 'RunEnding', 'RunEnded']);
  });

  it('within a saga is compensated before what is around it', async () => {
    const undone: string[] = [];
    const flow = aFlow(async (ctx) =>
      ctx.saga(async (outer) => {
        outer.compensate('outer', () => undone.push('outer'));
        await ctx.saga(async (inner) => {
          inner.compensate('inner', () => undone.push('inner'));
          await ctx.step('work', fails);
        });
      }),
    );
    const { app, runId } = await started(flow);
    expect((await app.runToEnd(runId)).status).toBe('failed');
    expect(undone).toEqual(['inner', 'outer']);
  });
});
