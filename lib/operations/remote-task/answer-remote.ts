import { storedError } from '../../base/errors.js';
import { remoteKeyOf, type RunId } from '../../base/ids.js';
import { answerRetryDelayMs } from '../../decide/retry.js';
import type { RemoteAnswerDelivered, RemoteAnswerFailed, RemoteAnswerRefused } from '../../history/event.js';
import type { OpenRemoteAnswer, OpenRemoteTask } from '../../history/run-state.js';
import type { RemoteTaskTransport } from '../../remote/transport.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { pollAt } from '../wake.js';

/** Delay of the first read of the task after an answer. */
export const pollAfterAnswerMs = 5_000;

/** The call whose server asked, and its token. */
interface AnsweredCall {
  readonly call: OpenRemoteTask | undefined;
  readonly token: TokenRecord | undefined;
}

export type AnswerEvent = RemoteAnswerDelivered | RemoteAnswerFailed | RemoteAnswerRefused;

/**
 * Makes one attempt to deliver an answer that is in the log. The caller retries, with the same key, until the server
 * takes or refuses it or the call has ended. Answers to questions from before the task go with the next start.
 */
export async function answerRemote(
  deps: Deps,
  runId: RunId,
  wait: OpenRemoteAnswer,
  { call, token }: AnsweredCall,
): Promise<AnswerEvent> {
  const { waitId, callId, questionId, answer } = wait;
  const asked = call?.asked.get(questionId);
  const handle = token?.handle;
  const delivered = (): AnswerEvent => ({ type: 'RemoteAnswerDelivered', atMs: deps.clock.nowMs(), waitId });
  if (asked === undefined || asked.round !== undefined || handle === undefined || token?.settlement !== undefined)
    return delivered();

  let transport: RemoteTaskTransport | undefined;
  if (Object.hasOwn(deps.app.servers, handle.server)) transport = deps.transports.get(handle.server);
  if (transport?.answer === undefined) {
    const error = storedError('SERVER_NOT_FOUND', `no server named "${handle.server}" takes answers`);
    return { type: 'RemoteAnswerRefused', atMs: deps.clock.nowMs(), waitId, error };
  }
  const key = remoteKeyOf(runId, waitId, deps.digest);
  const reply = await transport.answer(handle, asked.question, answer, key);
  const atMs = deps.clock.nowMs();
  switch (reply.kind) {
    case 'done': {
      const poke = { kind: 'poll', runId, waitId: callId, server: handle.server } as const;
      await pollAt(deps, poke, atMs + pollAfterAnswerMs);
      return delivered();
    }
    case 'refused': {
      const { server } = handle;
      const error = storedError('REMOTE_ANSWER_REFUSED', `"${server}" refused the answer: ${reply.error.message}`, {
        server,
      });
      return { type: 'RemoteAnswerRefused', atMs, waitId, error };
    }
    case 'retry': {
      const attempt = wait.failedAttempts + 1;
      const { code } = reply.error;
      deps.log.warn('answer not delivered', { runId, waitId, server: handle.server, attempt, code });
      const retryAtMs = atMs + answerRetryDelayMs(attempt, reply.retryAfterMs);
      return { type: 'RemoteAnswerFailed', atMs, waitId, attempt, error: reply.error, retryAtMs };
    }
  }
}
