import { EngineError } from '../../base/errors.js';
import type { SignalWaitStarted } from '../../history/event.js';
import type { WaitForSignal } from '../command.js';
import { deadline } from './deadline.js';
import type { Ends, WaitKind } from './kind.js';

/** A wait for a signal. Which signal it is given follows from the code (`signals.ts`). */
export const signal: WaitKind<WaitForSignal, SignalWaitStarted> = {
  eventType: 'SignalWaitStarted',
  details({ name, timeoutMs }, atMs) {
    return { name, ...deadline(timeoutMs, atMs) };
  },
  identity({ name }) {
    return name;
  },
  describe({ name }) {
    return `signal "${name}"`;
  },
};

export const signalEnds: Ends<'SignalWaitTimedOut'> = {
  SignalWaitTimedOut() {
    return new EngineError('SIGNAL_TIMED_OUT', 'no signal came before the deadline of the wait');
  },
};
