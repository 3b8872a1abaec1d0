import { describe, expect, it, vi } from 'vitest';
import type { HistoryEvent } from '../../lib/history/event.js';
import { Waits } from '../../lib/replay/waits/waits.js';
import {
  asked,
  cancelRequested,
  replay,
  runStarted,
  stepCompleted,
  stepRequested,
  timerFired,
  timerStarted,
  type Run,
} from './replaying.js';

const raced: Run = async (ctx) => {
  const won = await ctx.race([
    async (c) =>
      c.saga(async (saga) => {
        saga.compensate('unbook', () => undefined);
        await c.sleep({ days: 1 });
        return 'booked';
      }),
    async (c) => c.sleep({ minutes: 1 }).then(() => 'timer'),
  ]);
  await ctx.step(`after the ${won}`, () => undefined);
  return won;
};
const lost = (behaviors: number): readonly HistoryEvent[] => [
  ...[runStarted(0, behaviors), timerStarted('1', 86_400_000), timerStarted('2'), timerFired('2')],
];
const closed = (waitIds: readonly string[]): HistoryEvent => ({ type: 'WaitsClosed', atMs: 60_000, waitIds });

describe('a history that was begun under rules 1 (F04)', () => {
  it('goes on under them: the race settles at once, and the end drops what is not done', async () => {
    const execution = await replay(raced, lost(1));
    expect(asked(execution)).toEqual(['3 step after the timer', '4 step unbook']);
    const ended = await replay(raced, [
      ...lost(1),
      ...[stepRequested('3', 'after the timer'), stepRequested('4', 'unbook'), stepCompleted('3')],
    ]);
    expect(ended.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: 'timer' } });
  });

  it('has no event of the waits that were closed, which older code would not read', async () => {
    const execution = await replay(raced, lost(1));
    expect(execution.takeDerived(Infinity)).toEqual([]);
  });
});

describe('a history of rules 2 (F04, F19)', () => {
  it('has the race settle after the compensation of its loser', async () => {
    expect(asked(await replay(raced, lost(2)))).toEqual(['3 step unbook']);
    const undone = [...lost(2), stepRequested('3', 'unbook'), closed(['1']), stepCompleted('3')];
    expect(asked(await replay(raced, undone))).toEqual(['4 step after the timer']);
  });

  it('is blocked by code that closes other waits than it has', async () => {
    const execution = await replay(raced, [...lost(2), closed(['2'])]);
    expect(execution.status).toMatchObject({
      kind: 'blocked',
      error: { code: 'NONDETERMINISM', message: expect.stringContaining('wait 2: in the history a race') as unknown },
    });
  });

  it('tells once of the waits that were closed, when their requests are in the log', async () => {
    const run: Run = async (ctx) => {
      await Promise.allSettled([ctx.sleep({ minutes: 1 }), ctx.signal('go'), ctx.step('work', () => 1)]);
      await ctx.shield(async (inner) => inner.sleep({ minutes: 2 }));
    };
    const execution = await replay(run, [runStarted(), timerStarted('1'), cancelRequested()]);
    execution.goLive();
    expect(execution.takeDerived(1)).toEqual([{ type: 'WaitsClosed', atMs: 0, waitIds: ['1'] }]);
    expect(execution.takeDerived(4)).toEqual([{ type: 'WaitsClosed', atMs: 0, waitIds: ['2', '3'] }]);
    expect(execution.takeDerived(Infinity)).toEqual([]);
  });

  it('does not hear of a cancel while the end is waited for, so that a run which goes on hands it over', async () => {
    const run: Run = async (ctx) => {
      void ctx.shield(async (inner) => inner.sleep({ minutes: 2 }));
      await ctx.sleep({ minutes: 1 });
      return ctx.continueAsNew('next');
    };
    const events = [runStarted(), timerStarted('1', 120_000), timerStarted('2'), timerFired('2'), cancelRequested()];
    const waiting = await replay(run, events);
    expect(waiting.status).toEqual({ kind: 'waiting' });
    const ended = await replay(run, [...events, timerFired('1', 120_000)]);
    expect(ended.status).toMatchObject({ kind: 'ended', outcome: { status: 'continued', input: 'next' } });
    expect(ended.wasCancelHeard).toBe(false);
  });

  it('looks at no wait for a signal that is closed when one comes', async () => {
    const run: Run = async (ctx) => {
      for (let round = 0; round < 100; round++)
        await ctx.race([async (c) => c.signal('go'), async () => Promise.resolve()]);
      await ctx.signal('go');
    };
    const execution = await replay(run, [runStarted()]);
    const looked = vi.spyOn(Waits.prototype, 'isOpen');
    await execution.apply({ type: 'SignalReceived', atMs: 0, inboxId: 'i', name: 'go' });
    expect(looked.mock.calls.length).toBeLessThan(5);
    looked.mockRestore();
    expect(execution.status).toMatchObject({ kind: 'ended' });
  });
});
