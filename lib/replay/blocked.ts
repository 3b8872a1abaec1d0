// Why an execution is blocked: the code and the history do not fit, or the code waits for something of its own.

import { storedError, type StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { SignalDelivered, SignalReceived } from '../history/event.js';
import type { Command } from './command.js';
import { describe, isSame, type RequestEvent } from './kinds/kinds.js';

/** Why the recorded command is not the one that the code asks for now; undefined when it is. */
export function mismatchOf(recorded: RequestEvent, asked: Command | undefined): StoredError | undefined {
  if (asked !== undefined && isSame(recorded, asked)) return undefined;
  const recordedText = describe(recorded);
  const askedText = asked === undefined ? 'nothing at this point' : describe(asked);
  const differs = recordedText === askedText ? ' (with other arguments)' : '';
  return storedError(
    'NONDETERMINISM',
    `wait ${recorded.waitId}: the history has ${recordedText}, the workflow now asks for ${askedText}${differs}. ` +
      'Deploy code that asks for the same waits in the same order; the run then goes on by itself.',
    { waitId: recorded.waitId, recorded: recordedText, asked: askedText + differs },
  );
}

/** The code gives a signal to another wait than the history says, or to none. */
export function deliveryMismatch({ waitId, inboxId }: SignalDelivered): StoredError {
  return storedError(
    'NONDETERMINISM',
    `wait ${waitId}: the history gave it the signal ${inboxId}, the workflow now gives that signal to another wait or keeps it. Deploy code that takes the same signals; the run then goes on by itself.`,
    { waitId, inboxId },
  );
}

/** The code waits for what the history says it has closed. */
export function closingMismatch(waitId: WaitId): StoredError {
  return storedError(
    'NONDETERMINISM',
    `wait ${waitId}: in the history a race, a scope or a cancel has closed it, the workflow now waits for it. Deploy code that closes the same waits; the run then goes on by itself.`,
    { waitId },
  );
}

/** The history is one of a version that is newer than this one. */
export function rulesUnknown(behaviors: number, known: number): StoredError {
  return storedError(
    'HISTORY_FORMAT_UNKNOWN',
    `the history follows replay rules ${behaviors}, this version knows those up to ${known}`,
  );
}

/** The signal that the history says was taken in is gone. */
export function signalMissing({ inboxId, name }: SignalReceived): StoredError {
  return storedError(
    'HISTORY_FORMAT_UNKNOWN',
    `the history refers to the signal ${inboxId} "${name}", which is not there`,
  );
}

/** The settlement that the history says was taken in is gone. */
export function settlementMissing(waitId: WaitId): StoredError {
  return storedError('HISTORY_FORMAT_UNKNOWN', `wait ${waitId}: the history refers to a settlement that is not there`);
}

/** Nothing that the engine knows of will ever let the workflow go on. */
export function stuck(isOwing: boolean): StoredError {
  const who = isOwing
    ? 'a race, a scope or the run has closed a part of the workflow and waits for a shield or saga in it that waits'
    : 'the workflow waits';
  return storedError(
    'WORKFLOW_STUCK',
    `${who}, but for nothing of ctx: it awaits a promise of its own (a fetch, a timer, a file). Move that work into ctx.step; after the deploy the run goes on by itself.`,
  );
}
