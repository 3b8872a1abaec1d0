import { fromStoredError } from '../../base/errors.js';
import type { RemoteAnswerRequested } from '../../history/event.js';
import type { AnswerRemote } from '../command.js';
import type { Ends, WaitKind } from './kind.js';

/** Answer to a question of the remote task of another wait. */
export const remoteAnswer: WaitKind<AnswerRemote, RemoteAnswerRequested> = {
  eventType: 'RemoteAnswerRequested',
  details({ callId, questionId, answer, digest }) {
    return { callId, questionId, answer, digest };
  },
  identity({ digest }) {
    return digest;
  },
  describe({ callId }) {
    return `an answer to the call of wait ${callId}`;
  },
};

export const remoteAnswerEnds: Ends<'RemoteAnswerDelivered' | 'RemoteAnswerRefused'> = {
  RemoteAnswerDelivered() {
    return { value: undefined };
  },
  RemoteAnswerRefused({ error }) {
    return fromStoredError(error);
  },
};
