import { EngineError } from '../../base/errors.js';
import type { SignalWaitStarted } from '../../history/event.js';
import type { WaitForSignal } from '../command.js';
import { deadline } from './deadline.js';
import type { Ends, WaitKind } from './kind.js';

/** A wait for a signal. Which signal it is given follows from the code (`signals.ts`). */
export const signal: WaitKind<WaitForSignal, SignalWaitStarted> = {
  eventType: 'SignalWaitStarted',
  hasToken: false,
  toEvent: ({ waitId, name, timeoutMs }, atMs) => ({
    type: 'SignalWaitStarted',
    atMs,
    waitId,
    name,
    ...deadline(timeoutMs, atMs),
  }),
  isSame: (recorded, asked) => asked.name === recorded.name,
  describe: ({ name }) => `signal "${name}"`,
  given: () => undefined,
};

export const signalEnds: Ends<'SignalWaitTimedOut'> = {
  SignalWaitTimedOut: () => new EngineError('SIGNAL_TIMED_OUT', 'no signal came before the deadline of the wait'),
};
