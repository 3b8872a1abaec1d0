import { defined } from '../../base/defined.js';
import { ChildFailed, EngineError } from '../../base/errors.js';
import type { ChildRequested } from '../../history/event.js';
import type { StartChild } from '../command.js';
import { deadline } from './deadline.js';
import type { WaitKind } from './kind.js';

/** Child run; its end settles the token of its parent's wait. */
export const child: WaitKind<StartChild, ChildRequested> = {
  eventType: 'ChildRequested',
  hasToken: true,
  details({ workflow, digest, childRunId, parentClose, timeoutMs }, atMs) {
    return { workflow, digest, childRunId, parentClose, ...deadline(timeoutMs, atMs) };
  },
  identity({ digest }) {
    return digest;
  },
  describe({ workflow }) {
    return `child "${workflow}"`;
  },
  given({ workflow }, outcome) {
    switch (outcome.kind) {
      case 'completed':
        return { value: outcome.result };
      case 'failed': {
        const { message, details } = outcome.error;
        return new ChildFailed('CHILD_FAILED', message, defined({ details }));
      }
      case 'timed_out':
      case 'abandoned':
      case 'run_ended':
        return new EngineError('CHILD_TIMED_OUT', `child "${workflow}" did not end before its deadline`);
    }
  },
  outlivesRun({ parentClose }) {
    return parentClose === 'abandon';
  },
  toDropped({ workflow }) {
    return { kind: 'child', name: workflow };
  },
};
