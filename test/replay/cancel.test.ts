import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../lib/history/event.js';
import {
  asked,
  cancelRequested,
  exportRequested,
  replay,
  runStarted,
  stepCompleted,
  stepRequested,
  timerFired,
  timerStarted,
  tokenSettled,
  type Run,
} from './replaying.js';

const exportMonth = { server: 'reports', tool: 'export', arguments: { month: '2026-10' } };

describe('a cancel', () => {
  it('rejects every open wait in the order in which they were asked for', async () => {
    const order: string[] = [];
    const run: Run = async (ctx) => {
      const waits = [
        ctx.sleep({ minutes: 1 }).catch(() => order.push('sleep')),
        ctx.callRemoteTask(exportMonth).catch(() => order.push('remote')),
        ctx.step('a', () => 1).catch(() => order.push('step')),
      ];
      await Promise.all(waits);
      return order;
    };
    const requested = [runStarted(), timerStarted('1'), exportRequested('2'), stepRequested('3', 'a')];
    const execution = await replay(run, [...requested, cancelRequested()]);
    expect(order).toEqual(['sleep', 'remote', 'step']);
    expect(execution.status).toMatchObject({ outcome: { status: 'completed' } });
  });

  it('ends a run that lets it through as cancelled, with its reason', async () => {
    const execution = await replay(
      async (ctx) => ctx.sleep({ minutes: 1 }),
      [runStarted(), timerStarted('1'), cancelRequested('too dear')],
    );
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'cancelled', reason: 'too dear' } });
  });

  it.each<[string, Run]>([
    [
      'as the cause of another error',
      async (ctx) => ctx.sleep({ minutes: 1 }).catch((cause: unknown) => Promise.reject(new Error('no', { cause }))),
    ],
    ['out of Promise.all', async (ctx) => Promise.all([ctx.sleep({ minutes: 1 })])],
    ['out of Promise.any', async (ctx) => Promise.any([ctx.sleep({ minutes: 1 })])],
  ])('is seen %s', async (_, run) => {
    const execution = await replay(run, [runStarted(), timerStarted('1'), cancelRequested()]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'cancelled' } });
  });

  it('does not pass for the reason of an error that comes of something else', async () => {
    const run: Run = async (ctx) => {
      try {
        await ctx.sleep({ minutes: 1 });
      } finally {
        await ctx.step('clean up', () => 1);
      }
    };
    const execution = await replay(run, [
      runStarted(),
      timerStarted('1'),
      cancelRequested(),
      stepRequested('2', 'clean up'),
      { type: 'StepFailed', atMs: 0, waitId: '2', attempt: 1, error: { code: 'STEP_FAILED', message: 'disk full' } },
    ]);
    expect(execution.status).toMatchObject({
      outcome: { status: 'failed', error: { code: 'STEP_FAILED', message: 'disk full' } },
    });
  });

  it('lets cleanup wait as usual before the run ends', async () => {
    const run: Run = async (ctx) => {
      try {
        await ctx.callRemoteTask(exportMonth);
      } finally {
        await ctx.step('clean up', () => 1);
        await ctx.sleep({ minutes: 1 });
      }
    };
    const history = [runStarted(), exportRequested('1'), cancelRequested()];
    expect(asked(await replay(run, history))).toEqual(['2 step clean up']);
    const cleaning = [...history, stepRequested('2', 'clean up'), stepCompleted('2'), timerStarted('3')];
    expect((await replay(run, cleaning)).status).toEqual({ kind: 'waiting' });
    expect((await replay(run, [...cleaning, timerFired('3')])).status).toMatchObject({
      outcome: { status: 'cancelled' },
    });
  });

  it('that is swallowed lets the run complete', async () => {
    const run: Run = async (ctx) =>
      ctx
        .sleep({ minutes: 1 })
        .then(() => 'slept')
        .catch(() => 'woken');
    const execution = await replay(run, [runStarted(), timerStarted('1'), cancelRequested()]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: 'woken' } });
  });

  it('that comes a second time also interrupts cleanup, and the first reason stays', async () => {
    const run: Run = async (ctx) => {
      try {
        await ctx.sleep({ minutes: 1 });
      } finally {
        await ctx.sleep({ minutes: 2 });
      }
    };
    const history = [runStarted(), timerStarted('1'), cancelRequested('first'), timerStarted('2')];
    expect((await replay(run, history)).status).toEqual({ kind: 'waiting' });
    expect((await replay(run, [...history, cancelRequested('second', 'cancel-2')])).status).toEqual({
      kind: 'ended',
      outcome: { status: 'cancelled', reason: 'first' },
    });
  });

  it('before the first wait reaches the waits of the first turn', async () => {
    const execution = await replay(async (ctx) => ctx.step('a', () => 1), [runStarted(), cancelRequested()]);
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'cancelled' } });
  });

  it('closes waits for good: later settlements of them have no effect', async () => {
    const run: Run = async (ctx) => {
      const first = await ctx.callRemoteTask(exportMonth).catch(() => 'cancelled');
      await ctx.sleep({ minutes: 1 });
      return first;
    };
    const execution = await replay(
      run,
      [runStarted(), exportRequested('1'), cancelRequested(), timerStarted('2'), tokenSettled('1'), timerFired('2')],
      { settlements: { 1: { kind: 'completed', result: 'late', isError: false } } },
    );
    expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: 'cancelled' } });
  });

  it.each<[string, boolean, Run, readonly HistoryEvent[]]>([
    [
      'that rejects a wait was heard',
      true,
      async (ctx) => ctx.sleep({ minutes: 1 }),
      [timerStarted('1'), cancelRequested()],
    ],
    [
      'that finds shielded waits only was not',
      false,
      async (ctx) => ctx.shield(async (inner) => inner.sleep({ minutes: 1 })),
      [timerStarted('1'), cancelRequested()],
    ],
    [
      'that a later wait takes was heard',
      true,
      async (ctx) => {
        await ctx.shield(async (inner) => inner.sleep({ minutes: 1 }));
        await ctx.sleep({ minutes: 1 });
      },
      [timerStarted('1'), cancelRequested(), timerFired('1')],
    ],
    [
      'that comes with what makes the run go on as a new one was not',
      false,
      async (ctx) => {
        await ctx.sleep({ minutes: 1 });
        await ctx.continueAsNew();
      },
      [timerStarted('1'), timerFired('1'), cancelRequested()],
    ],
    [
      'that no wait takes before the run goes on as a new one was not',
      false,
      async (ctx) => {
        await ctx.shield(async (inner) => inner.sleep({ minutes: 1 }));
        await ctx.continueAsNew();
      },
      [timerStarted('1'), cancelRequested(), timerFired('1')],
    ],
  ])('%s', async (_, wasHeard, run, events) => {
    expect((await replay(run, [runStarted(), ...events])).wasCancelHeard).toBe(wasHeard);
  });

  it('has its closed waits recorded all the same, so that the order on replay is the same', async () => {
    const run: Run = async (ctx) => {
      await ctx.step('a', () => 1).catch(() => undefined);
      await ctx.step('b', () => 1);
    };
    const execution = await replay(run, [runStarted(), cancelRequested()]);
    expect(asked(execution)).toEqual(['1 step a', '2 step b']);
    expect(execution.command('1')).toBeUndefined();
    expect(
      (await replay(run, [runStarted(), cancelRequested(), stepRequested('1', 'a'), stepRequested('2', 'b')])).status,
    ).toEqual({
      kind: 'waiting',
    });
  });
});
