import { defined } from '../../base/defined.js';
import { EngineError, ExternalWaitFailed } from '../../base/errors.js';
import type { ExternalWaitRequested } from '../../history/event.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { IssueToken } from '../command.js';
import { deadline } from './deadline.js';
import type { Given, WaitKind } from './kind.js';

/** A token that somebody outside settles, or a question that a person answers. */
export const externalToken: WaitKind<IssueToken, ExternalWaitRequested> = {
  eventType: 'ExternalWaitRequested',
  hasToken: true,
  toEvent: ({ waitId, name, form, timeoutMs }, atMs) => ({
    type: 'ExternalWaitRequested',
    atMs,
    waitId,
    name,
    ...defined({ form }),
    ...deadline(timeoutMs, atMs),
  }),
  isSame: (recorded, asked) => asked.name === recorded.name,
  describe: ({ name }) => `token "${name}"`,
  given: externalResult,
  toDropped: ({ name }) => ({ kind: 'token', name }),
};

function externalResult({ name, form }: IssueToken, outcome: TokenOutcome): Given {
  switch (outcome.kind) {
    case 'completed':
      return { value: { result: outcome.result, isError: outcome.isError } };
    case 'failed':
      // The settler of a token does not say what its wait is for, so the text begins like that of a remote task.
      return new ExternalWaitFailed(
        'EXTERNAL_FAILED',
        outcome.error.message.replace(/^remote task failed: /, ''),
        outcome.error.details === undefined ? {} : { details: outcome.error.details },
      );
    case 'timed_out':
    case 'abandoned':
    case 'run_ended':
      return form === undefined
        ? new EngineError('EXTERNAL_TIMED_OUT', `nobody settled token "${name}" before its deadline`)
        : new EngineError('INPUT_TIMED_OUT', `nobody answered the question "${name}" in time`);
  }
}
