import type { WaitId } from '../../base/ids.js';
import { canonicalJson } from '../../base/json.js';
import { questionIdOf, type AskedQuestion } from '../../history/remote-question.js';
import type { InputHandler, RemoteWaitOptions } from '../../workflow/context.js';
import type { RemoteOutcome } from '../../workflow/outcome.js';
import type { StartRemoteTask } from '../command.js';
import { Scope } from '../waits/scope.js';
import { failCall, hearing } from './remote-progress.js';
import { checkDeed, type ContextHost } from './host.js';
import { toAnswer } from './input.js';
import { cancelled } from './scopes.js';

/** Answers the questions of a call's server. */
interface Answerer {
  readonly callId: WaitId;
  readonly handler: InputHandler;
  /** Scope of the answers and of what the handler waits for; closed with the call. */
  readonly scope: Scope;
}

/** Handlers of a call. */
export type CallHandlers = Pick<RemoteWaitOptions, 'onInput' | 'onProgress'>;

/** Requests a remote task, and lets the handlers of the call hear of it while the call is open. */
export function askHeard(
  host: ContextHost,
  scope: Scope,
  handlers: CallHandlers,
  toCommand: (waitId: WaitId) => StartRemoteTask,
): Promise<RemoteOutcome> {
  return handlers.onInput === undefined && handlers.onProgress === undefined
    ? host.waits.ask<RemoteOutcome>(scope, toCommand)
    : heardBy(host, scope, handlers, toCommand);
}

async function heardBy(
  host: ContextHost,
  scope: Scope,
  { onInput, onProgress }: CallHandlers,
  toCommand: (waitId: WaitId) => StartRemoteTask,
): Promise<RemoteOutcome> {
  const inner = new Scope(scope);
  let callId = '';
  const outcome = host.waits.ask<RemoteOutcome>(scope, (waitId) => {
    callId = waitId;
    return toCommand(waitId);
  });
  if (callId === '') return outcome;
  if (onInput !== undefined)
    host.news.onQuestion(callId, (asked) => void answer(host, { callId, handler: onInput, scope: inner }, asked));
  if (onProgress !== undefined)
    host.news.onProgress(callId, hearing(host, { callId, handler: onProgress, scope: inner }));
  try {
    return await outcome;
  } finally {
    host.news.onQuestion(callId, undefined);
    host.news.onProgress(callId, undefined);
    host.waits.cancelScope(inner, cancelled('the call of the remote task has ended'));
  }
}

/** Answers a question. The call fails if the handler fails, or if the server does not accept the answer. */
async function answer(host: ContextHost, answerer: Answerer, asked: AskedQuestion): Promise<void> {
  const { callId, scope } = answerer;
  try {
    const given = toAnswer(await handle(host, answerer, asked));
    const questionId = questionIdOf(asked);
    const digest = host.digest(`answer ${questionId}\n${canonicalJson(given)}`);
    await host.waits.ask<undefined>(scope, (waitId) => ({
      kind: 'answerRemote',
      waitId,
      callId,
      questionId,
      answer: given,
      digest,
    }));
  } catch (error) {
    failCall(host, callId, 'onInput', error);
  }
}

async function handle(host: ContextHost, { handler, scope }: Answerer, { question }: AskedQuestion): Promise<unknown> {
  try {
    return await handler(question, host.contextOf(scope));
  } finally {
    checkDeed(host, 'onInput of a call ended');
  }
}
