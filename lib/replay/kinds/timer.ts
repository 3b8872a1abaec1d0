import type { TimerStarted } from '../../history/event.js';
import type { StartTimer } from '../command.js';
import type { Ends, WaitKind } from './kind.js';

/** A sleep. */
export const timer: WaitKind<StartTimer, TimerStarted> = {
  eventType: 'TimerStarted',
  hasToken: false,
  toEvent: ({ waitId, until }, atMs) => ({
    type: 'TimerStarted',
    atMs,
    waitId,
    // An instant that has passed is now.
    firesAtMs: 'atMs' in until ? Math.max(until.atMs, atMs) : atMs + until.durationMs,
  }),
  isSame: () => true,
  describe: () => 'a sleep',
  given: () => undefined,
};

export const timerEnds: Ends<'TimerFired'> = { TimerFired: () => ({ value: undefined }) };
