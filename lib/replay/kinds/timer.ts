import type { TimerStarted } from '../../history/event.js';
import type { StartTimer } from '../command.js';
import type { Ends, WaitKind } from './kind.js';

/** Sleep. */
export const timer: WaitKind<StartTimer, TimerStarted> = {
  eventType: 'TimerStarted',
  details({ until }, atMs) {
    // Fires now if the instant has passed.
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
