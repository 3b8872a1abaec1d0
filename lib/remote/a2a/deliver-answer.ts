import type { RemoteTaskHandle } from '../../history/event.js';
import { answerReplyOf } from '../rpc/failed-exchange.js';
import type { Exchange } from '../rpc/exchange.js';
import { remoteError } from '../rpc/remote-error.js';
import type { AnswerReply, PollReply, RemoteQuestion } from '../transport.js';
import { hasChanged } from './classify.js';
import { readAnswerResult } from './read-reply.js';

/** Tries of one delivery against a task that changes meanwhile. */
const triesMax = 3;

/** The task that asked, at its agent. */
export interface AskingTask {
  readonly handle: RemoteTaskHandle;
  /** Reads the task. `currentGeneration`: the agent may wait until it has a later one. */
  readonly read: (currentGeneration?: number) => Promise<PollReply>;
  /** Sends the answer, under the id that it has in every attempt. */
  readonly send: (ifGenerationMatch: number | undefined) => Promise<Exchange>;
}

/**
 * Delivers the answer to a question. Checks first that the question is still open: an answer that was delivered, but
 * whose reply was lost, must not be taken for the answer to the next question. If the agent counts the changes of its
 * tasks, the answer names the last one that was read. If there was another one meanwhile, nothing was executed: the task
 * is read again, and the question may still be open.
 */
export async function deliverAnswer(question: RemoteQuestion, task: AskingTask): Promise<AnswerReply> {
  let seen = await task.read();
  for (let attempt = 1; ; attempt++) {
    const before = notOpen(seen, question);
    if (before !== undefined) return before;
    const { generation } = seen as Extract<PollReply, { kind: 'working' }>;
    const exchange = await task.send(generation);
    if (exchange.kind === 'result') return readAnswerResult(exchange.result, task.handle);
    if (hasChanged(exchange)) {
      if (attempt >= triesMax) return { kind: 'retry', error: keepsChanging };
      seen = await task.read(generation);
      continue;
    }
    const failure = answerReplyOf(exchange);
    if (failure.kind !== 'refused') return failure;
    const after = notOpen(await task.read(), question);
    return after?.kind === 'done' ? after : failure;
  }
}

const keepsChanging = remoteError('REMOTE_UNREACHABLE', 'the task changed each time it was answered');

/** Returns undefined while the task waits for the answer to `question`. */
function notOpen(reply: PollReply, question: RemoteQuestion): AnswerReply | undefined {
  switch (reply.kind) {
    case 'working':
      return reply.questions?.some(({ key }) => key === question.key) === true ? undefined : { kind: 'done' };
    case 'ended':
      return { kind: 'done' };
    case 'missing':
      return { kind: 'retry', error: reply.error };
    case 'unreadable':
      return { ...reply, kind: 'retry' };
  }
}
