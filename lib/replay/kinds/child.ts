import { ChildFailed, EngineError } from '../../base/errors.js';
import type { ChildRequested } from '../../history/event.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { StartChild } from '../command.js';
import { deadline } from './deadline.js';
import type { Given, WaitKind } from './kind.js';

/** A child run; its end settles the token of its parent's wait. */
export const child: WaitKind<StartChild, ChildRequested> = {
  eventType: 'ChildRequested',
  hasToken: true,
  toEvent: ({ waitId, workflow, digest, childRunId, parentClose, timeoutMs }, atMs) => ({
    type: 'ChildRequested',
    atMs,
    waitId,
    workflow,
    digest,
    childRunId,
    parentClose,
    ...deadline(timeoutMs, atMs),
  }),
  isSame: (recorded, asked) => asked.digest === recorded.digest,
  describe: ({ workflow }) => `child "${workflow}"`,
  given: childResult,
  outlivesRun: ({ parentClose }) => parentClose === 'abandon',
  toDropped: ({ workflow }) => ({ kind: 'child', name: workflow }),
};

function childResult({ workflow }: StartChild, outcome: TokenOutcome): Given {
  switch (outcome.kind) {
    case 'completed':
      return { value: outcome.result };
    case 'failed':
      return new ChildFailed(
        'CHILD_FAILED',
        outcome.error.message,
        outcome.error.details === undefined ? {} : { details: outcome.error.details },
      );
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      return new EngineError('CHILD_TIMED_OUT', `child "${workflow}" had no end before its deadline`);
  }
}
