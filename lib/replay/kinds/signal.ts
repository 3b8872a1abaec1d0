import { EngineError } from '../../base/errors.js';
import type { SignalWaitStarted } from '../../history/event.js';
import type { WaitForSignal } from '../command.js';
import { deadline } from './deadline.js';
import type { Ends, WaitKind } from './kind.js';

/** Wait for a signal. The code determines which signal it receives (`signals.ts`). */
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
    return new EngineError('SIGNAL_TIMED_OUT', 'no signal arrived before the deadline of the wait');
  },
};
