import { setImmediate as eventLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { WorkflowContext } from '../../lib/workflow/context.js';
import {
  asked,
  replay,
  runStarted,
  stepCompleted,
  stepRequested,
  timerFired,
  timerStarted,
  type Run,
} from './replaying.js';

const stuck = {
  kind: 'blocked',
  error: {
    code: 'WORKFLOW_STUCK',
    message:
      'the workflow awaits a promise that is not from ctx (a fetch, a timer, a file). ' +
      'Move that work into ctx.step and deploy; the run then continues by itself.',
  },
};

/** Waits for an expired timer without a look at the clock. */
const ownTimer = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe('a workflow that awaits something of its own', () => {
  it('is blocked at once when it waits for nothing else', async () => {
    expect((await replay(async () => new Promise(() => undefined), [runStarted()])).status).toEqual(stuck);
  });

  it('is blocked though its timer has expired already', async () => {
    let isOver = false;
    const run: Run = async (ctx) => {
      await ownTimer();
      isOver = true;
      await ctx.step('late', () => 1);
    };
    // Blocks the process until the timer is due, as slow code does.
    const untilMs = Date.now() + 3;
    const slow: Run = async (ctx, input) => {
      const done = run(ctx, input);
      while (Date.now() < untilMs);
      return done;
    };
    const execution = await replay(slow, [runStarted()]);
    expect(isOver).toBe(false);
    expect(execution.status).toEqual(stuck);
    await ownTimer();
  });

  it('is blocked after the waits that came before', async () => {
    const run: Run = async (ctx) => {
      await ctx.step('a', () => 1);
      await new Promise(() => undefined);
    };
    const recorded = [runStarted(), stepRequested('1', 'a')];
    expect((await replay(run, recorded)).status).toEqual({ kind: 'waiting' });
    expect((await replay(run, [...recorded, stepCompleted('1')])).status).toEqual(stuck);
  });

  it('is blocked when the last wait beside it has ended', async () => {
    const run: Run = async (ctx) => Promise.all([ctx.sleep({ minutes: 1 }), new Promise(() => undefined)]);
    const recorded = [runStarted(), timerStarted('1')];
    expect((await replay(run, recorded)).status).toEqual({ kind: 'waiting' });
    expect((await replay(run, [...recorded, timerFired('1')])).status).toEqual(stuck);
  });

  it('may await any number of promises that are settled already', async () => {
    const run: Run = async (ctx) => {
      for (let count = 0; count < 1_000; count++) await Promise.resolve(count);
      await ctx.step('a', () => 1);
    };
    expect(asked(await replay(run, [runStarted()]))).toEqual(['1 step a']);
  });
});

describe('a context that is used outside of the turn', () => {
  it.each<[string, (ctx: WorkflowContext) => unknown]>([
    ['step', (ctx) => ctx.step('late', () => 1)],
    ['sleep', (ctx) => ctx.sleep({ seconds: 1 })],
    ['callRemoteTask', (ctx) => ctx.callRemoteTask({ server: 's', tool: 't' })],
    ['random', (ctx) => ctx.random()],
    ['uuid', (ctx) => ctx.uuid()],
  ])('is reported for ctx.%s, and nothing is asked for', async (method, use) => {
    const errors: unknown[] = [];
    const late = withResolvers();
    const run: Run = async (ctx) => {
      setTimeout(() => {
        late.resolve(attempt(() => use(ctx)).catch((error: unknown) => errors.push(error)));
      }, 0);
      await ctx.sleep({ hours: 1 });
    };
    const execution = await replay(run, [runStarted(), timerStarted('1')]);
    await late.promise;
    expect(execution.status).toMatchObject({ kind: 'blocked', error: { code: 'WORKFLOW_STUCK' } });
    expect(errors).toMatchObject([
      { code: 'WORKFLOW_STUCK', message: expect.stringContaining(`ctx.${method} was called outside`) as unknown },
    ]);
    expect(asked(execution)).toEqual([]);
  });

  it('may still be asked for the time and may log', async () => {
    const late = withResolvers();
    const run: Run = async (ctx) => {
      setTimeout(() => {
        ctx.log.info('late', { now: ctx.now() });
        late.resolve(undefined);
      }, 0);
      await ctx.sleep({ hours: 1 });
    };
    const execution = await replay(run, [runStarted(), timerStarted('1')]);
    await late.promise;
    expect(execution.status).toEqual({ kind: 'waiting' });
  });
});

describe('a wait that is not awaited', () => {
  it('may fail without an unhandled rejection', async () => {
    const rejections: unknown[] = [];
    const listen = (reason: unknown): number => rejections.push(reason);
    process.on('unhandledRejection', listen);
    const run: Run = async (ctx) => {
      void ctx.step('dropped', () => 1);
      void ctx.sleep({ weeks: 1 } as object);
      await ctx.step('kept', () => 1);
    };
    const execution = await replay(run, [
      runStarted(),
      stepRequested('1', 'dropped'),
      stepRequested('2', 'kept'),
      { type: 'StepFailed', atMs: 0, waitId: '1', attempt: 1, error: { code: 'STEP_FAILED', message: 'no' } },
    ]);
    await eventLoop();
    process.off('unhandledRejection', listen);
    expect(execution.status).toEqual({ kind: 'waiting' });
    expect(rejections).toEqual([]);
  });
});

async function attempt(use: () => unknown): Promise<unknown> {
  return use();
}

function withResolvers(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve: (value: unknown) => void = () => undefined;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
