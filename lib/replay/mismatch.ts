// What is said of a history that the code does not follow. Tests pin these texts, and recorded runs hold them.

import { storedError, type StoredError } from '../base/errors.js';
import type { WaitId } from '../base/ids.js';
import type { SignalDelivered } from '../history/event.js';
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
