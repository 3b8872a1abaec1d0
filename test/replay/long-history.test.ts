import { expect, it } from 'vitest';
import type { HistoryEvent } from '../../lib/history/event.js';
import { replay, runStarted, timerFired, timerStarted } from './replaying.js';

/** Returns a history of that many events, the last of which ends the sleep of the workflow. */
function aHistoryOf(count: number): readonly HistoryEvent[] {
  const signals = Array.from({ length: count - 3 }, (_, n): HistoryEvent => {
    return { type: 'SignalReceived', atMs: 0, inboxId: `signal-${n}`, name: 'other' };
  });
  return [runStarted(), timerStarted('1'), ...signals, timerFired('1')];
}

it.each([
  [9_999, false],
  [10_000, true],
])('a history of %i events is too long to go on with: %s (S0-184)', async (count, tooLong) => {
  const execution = await replay(async (ctx) => {
    await ctx.sleep({ minutes: 1 });
    return ctx.shouldContinueAsNew;
  }, aHistoryOf(count));
  expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: tooLong } });
});
