import type { TimerStarted } from '../../history/event.js';
import type { StartTimer } from '../command.js';
import type { Ends, WaitKind } from './kind.js';

/** A sleep. */
export const timer: WaitKind<StartTimer, TimerStarted> = {
  eventType: 'TimerStarted',
  details({ until }, atMs) {
    // An instant that has passed is now.
    return { firesAtMs: 'atMs' in until ? Math.max(until.atMs, atMs) : atMs + until.durationMs };
  },
  identity() {
    return '';
  },
  describe() {
    return 'a sleep';
  },
};

export const timerEnds: Ends<'TimerFired'> = {
  TimerFired() {
    return { value: undefined };
  },
};
