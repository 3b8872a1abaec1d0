import { fromStoredError } from '../../base/errors.js';
import type { RemoteAnswerRequested } from '../../history/event.js';
import type { AnswerRemote } from '../command.js';
import type { Ends, WaitKind } from './kind.js';

/** An answer to what the remote task of another wait asks. */
export const remoteAnswer: WaitKind<AnswerRemote, RemoteAnswerRequested> = {
  eventType: 'RemoteAnswerRequested',
  hasToken: false,
  toEvent: ({ waitId, callId, questionId, answer, digest }, atMs) => ({
    type: 'RemoteAnswerRequested',
    atMs,
    waitId,
    callId,
    questionId,
    answer,
    digest,
  }),
  isSame: (recorded, asked) => asked.digest === recorded.digest,
  describe: ({ callId }) => `an answer to the call of wait ${callId}`,
  given: () => undefined,
};

export const remoteAnswerEnds: Ends<'RemoteAnswerDelivered' | 'RemoteAnswerRefused'> = {
  RemoteAnswerDelivered: () => ({ value: undefined }),
  RemoteAnswerRefused: ({ error }) => fromStoredError(error),
};
