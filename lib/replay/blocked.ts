// Why an execution is blocked: the code and the history do not fit, or the code waits for something of its own.

import { storedError, type StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { SignalDelivered, SignalReceived } from '../history/event.js';
import type { Command } from './command.js';
import { describe, isSame, type RequestEvent } from './kinds/kinds.js';

/** Why the recorded command is not the one that the code asks for now; undefined when it is. */
export function mismatchOf(recorded: RequestEvent, asked: Command | undefined): StoredError | undefined {
  if (asked !== undefined && isSame(recorded, asked)) return undefined;
  const { waitId } = recorded;
  const recordedText = describe(recorded);
  const askedText = asked === undefined ? 'nothing at this point' : describe(asked);
  const differs = recordedText === askedText ? ' (with other arguments)' : '';
  return nondeterminism(
    `the history has ${recordedText}, the workflow now asks for ${askedText}${differs}`,
    'asks for the same waits in the same order',
    { waitId, recorded: recordedText, asked: askedText + differs },
  );
}

/** The code gives a signal to another wait than the history says, or to none. */
export function deliveryMismatch({ waitId, inboxId }: SignalDelivered): StoredError {
  return nondeterminism(
    `the history gave it the signal ${inboxId}, the workflow now gives that signal to another wait or keeps it`,
    'takes the same signals',
    { waitId, inboxId },
  );
}

/** The code waits for what the history says it has closed. */
export function closingMismatch(waitId: WaitId): StoredError {
  return nondeterminism(
    'in the history a race, a scope or a cancel has closed it, the workflow now waits for it',
    'closes the same waits',
    { waitId },
  );
}

/** `fitting`: what code does that fits the history. */
function nondeterminism(what: string, fitting: string, details: JsonObject & { readonly waitId: WaitId }): StoredError {
  return storedError(
    'NONDETERMINISM',
    `wait ${details.waitId}: ${what}. Deploy code that ${fitting}; the run then goes on by itself.`,
    details,
  );
}

/** The history is one of a version that is newer than this one. */
export function rulesUnknown(behaviors: number, known: number): StoredError {
  return unreadable(`the history follows replay rules ${behaviors}, this version knows those up to ${known}`);
}

/** The signal that the history says was taken in is gone. */
export function signalMissing({ inboxId, name }: SignalReceived): StoredError {
  return unreadable(`the history refers to the signal ${inboxId} "${name}", which is not there`);
}

/** The settlement that the history says was taken in is gone. */
export function settlementMissing(waitId: WaitId): StoredError {
  return unreadable(`wait ${waitId}: the history refers to a settlement that is not there`);
}

function unreadable(message: string): StoredError {
  return storedError('HISTORY_FORMAT_UNKNOWN', message);
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
