import { EngineError, readable } from '../../base/errors.js';
import type { WaitId } from '../../base/ids.js';
import { canonicalJson } from '../../base/json.js';
import { questionIdOf, type AskedQuestion } from '../../history/remote-question.js';
import type { InputHandler } from '../../workflow/context.js';
import type { RemoteOutcome } from '../../workflow/outcome.js';
import type { StartRemoteTask } from '../command.js';
import { Scope } from '../waits/scope.js';
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

/** Requests a remote task, and lets `handler` answer questions of its server while the call is open. */
export function askAnswering(
  host: ContextHost,
  scope: Scope,
  handler: InputHandler | undefined,
  toCommand: (waitId: WaitId) => StartRemoteTask,
): Promise<RemoteOutcome> {
  return handler === undefined
    ? host.waits.ask<RemoteOutcome>(scope, toCommand)
    : answeringWith(host, scope, handler, toCommand);
}

async function answeringWith(
  host: ContextHost,
  scope: Scope,
  handler: InputHandler,
  toCommand: (waitId: WaitId) => StartRemoteTask,
): Promise<RemoteOutcome> {
  const inner = new Scope(scope);
  let callId = '';
  const outcome = host.waits.ask<RemoteOutcome>(scope, (waitId) => {
    callId = waitId;
    return toCommand(waitId);
  });
  if (callId === '') return outcome;
  host.news.onQuestion(callId, (asked) => void answer(host, { callId, handler, scope: inner }, asked));
  try {
    return await outcome;
  } finally {
    host.news.onQuestion(callId, undefined);
    host.waits.cancelScope(inner, cancelled('the remote task no longer waits for an answer'));
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
    // Outside of the turn: a replay could not repeat it at this point.
    if (!host.position.isAdvancing) return;
    const thrown = readable(error);
    host.waits.drop(
      callId,
      thrown instanceof Error ? thrown : new EngineError('INPUT_INVALID', 'onInput threw a value that is not an Error'),
    );
  }
}

async function handle(host: ContextHost, { handler, scope }: Answerer, { question }: AskedQuestion): Promise<unknown> {
  try {
    return await handler(question, host.contextOf(scope));
  } finally {
    checkDeed(host, 'onInput of a call ended');
  }
}
