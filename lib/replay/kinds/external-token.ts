import { defined } from '../../base/defined.js';
import { EngineError, ExternalWaitFailed } from '../../base/errors.js';
import type { ExternalWaitRequested } from '../../history/event.js';
import type { IssueToken } from '../command.js';
import { deadline } from './deadline.js';
import type { WaitKind } from './kind.js';

/** Token that is settled from outside, or question to a person. */
export const externalToken: WaitKind<IssueToken, ExternalWaitRequested> = {
  eventType: 'ExternalWaitRequested',
  hasToken: true,
  details({ name, form, timeoutMs }, atMs) {
    return { name, ...defined({ form }), ...deadline(timeoutMs, atMs) };
  },
  identity({ name }) {
    return name;
  },
  describe({ name }) {
    return `token "${name}"`;
  },
  given({ name, form }, outcome) {
    switch (outcome.kind) {
      case 'completed':
        return { value: { result: outcome.result, isError: outcome.isError } };
      case 'failed': {
        const { code, message, details } = outcome.error;
        // The turn has refused the question: nobody outside can settle with this code.
        if (code === 'CONFIG_INVALID') return new EngineError(code, message);
        // Tokens are settled without knowing their wait, so the text begins like that of a remote task.
        const reason = message.replace(/^remote task failed: /, '');
        return new ExternalWaitFailed('EXTERNAL_FAILED', reason, defined({ details }));
      }
      case 'timed_out':
      case 'abandoned':
      case 'run_ended':
        return form === undefined
          ? new EngineError('EXTERNAL_TIMED_OUT', `token "${name}" was not settled before its deadline`)
          : new EngineError('INPUT_TIMED_OUT', `the question "${name}" was not answered in time`);
    }
  },
  toDropped({ name }) {
    return { kind: 'token', name };
  },
};
