// Reasons for blocking an execution: the code does not fit the history, or awaits a promise that is not from ctx.

import { storedError, type StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { SignalDelivered, SignalReceived } from '../history/event.js';
import type { Command } from './command.js';
import { describe, isSame, type RequestEvent } from './kinds/kinds.js';

/** Returns why the recorded command is not the one that the code requests now; undefined if it is. */
export function mismatchOf(recorded: RequestEvent, asked: Command | undefined): StoredError | undefined {
  if (asked !== undefined && isSame(recorded, asked)) return undefined;
  const { waitId } = recorded;
  const recordedText = describe(recorded);
  const askedText = asked === undefined ? 'nothing at this point' : describe(asked);
  const differs = recordedText === askedText ? ' (with other arguments)' : '';
  return nondeterminism(
    `the history has ${recordedText}, but the workflow now asks for ${askedText}${differs}`,
    'asks for the same waits in the same order',
    { waitId, recorded: recordedText, asked: askedText + differs },
  );
}

/** Creates the error for code that gives a signal to a wait other than the one in the history, or to none. */
export function deliveryMismatch({ waitId, inboxId }: SignalDelivered): StoredError {
  return nondeterminism(
    `the history gave it the signal ${inboxId}, but the workflow now gives that signal to another wait or keeps it`,
    'takes the same signals',
    { waitId, inboxId },
  );
}

/** Creates the error for code that waits for a wait that was closed according to the history. */
export function closingMismatch(waitId: WaitId): StoredError {
  return nondeterminism(
    'in the history a race, a scope or a cancel closed it, but the workflow now waits for it',
    'closes the same waits',
    { waitId },
  );
}

/** Creates the error. `fitting` completes "Deploy code that …". */
function nondeterminism(what: string, fitting: string, details: JsonObject & { readonly waitId: WaitId }): StoredError {
  return storedError(
    'NONDETERMINISM',
    `wait ${details.waitId}: ${what}. Deploy code that ${fitting}; the run then continues by itself.`,
    details,
  );
}

/** Creates the error for a history that a newer version has written. */
export function rulesUnknown(behaviors: number, known: number): StoredError {
  return unreadable(`the history follows replay rules ${behaviors}, but this version knows only those up to ${known}`);
}

/** Creates the error for a history that refers to a missing signal. */
export function signalMissing({ inboxId, name }: Pick<SignalReceived, 'inboxId' | 'name'>): StoredError {
  return unreadable(`the history refers to the signal ${inboxId} "${name}", which is not there`);
}

/** Creates the error for a history that refers to a missing settlement. */
export function settlementMissing(waitId: WaitId): StoredError {
  return unreadable(`wait ${waitId}: the history refers to a settlement that is not there`);
}

function unreadable(message: string): StoredError {
  return storedError('HISTORY_FORMAT_UNKNOWN', message);
}

/** Creates the error for a workflow that no event can continue. `isOwing`: a closed part of it has not ended. */
export function stuck(isOwing: boolean): StoredError {
  const who = isOwing
    ? 'a race, a scope or the run closed a part of the workflow and waits for a shield or saga in it, which awaits'
    : 'the workflow awaits';
  return storedError(
    'WORKFLOW_STUCK',
    `${who} a promise that is not from ctx (a fetch, a timer, a file). Move that work into ctx.step and deploy; the run then continues by itself.`,
  );
}
