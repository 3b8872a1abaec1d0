import { defined } from '../../base/defined.js';
import { ExternalWaitFailed } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { InputForm } from '../../history/input-form.js';
import type { AskOptions, TokenOptions, WorkflowContext } from '../../workflow/context.js';
import type { Scope } from '../waits/scope.js';
import { checkName, timeoutOf } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { toAnswer, toForm } from './input.js';

/** `ctx.externalToken`, and what is built on one: `ctx.ask` of a person, `ctx.promise` of a value. */
export function tokens(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'externalToken' | 'ask' | 'promise'> {
  return {
    externalToken: handled((options?: TokenOptions) => issue(host, scope, { method: 'externalToken', options })),

    ask: handled(async (options: AskOptions) => {
      const { timeout, name = 'question', ...form } = options;
      const token = { method: 'ask', options: { name, ...defined({ timeout }) }, form: toForm(form) };
      const { outcome } = await issue(host, scope, token);
      return toAnswer((await outcome).result);
    }),

    promise: handled(async (options?: TokenOptions) => {
      const external = await issue(host, scope, { method: 'promise', options: { name: 'promise', ...options } });
      const promise = external.outcome.then(({ result, isError }) => {
        if (!isError) return result;
        throw new ExternalWaitFailed('EXTERNAL_FAILED', 'the promise was rejected', { details: { result } });
      });
      promise.catch(() => undefined);
      return { token: external.token, promise };
    }) as WorkflowContext['promise'],
  };
}

interface TokenCall {
  /** The method of the context that was called. */
  readonly method: string;
  readonly options: TokenOptions | undefined;
  /** What a person is asked. */
  readonly form?: InputForm;
}

/** Asks for a token, and waits until it may be handed out. */
async function issue(host: ContextHost, scope: Scope, { method, options, form }: TokenCall) {
  checkTurn(host, method);
  const name = options?.name ?? 'token';
  checkName(name, 'the name of a token');
  const timeout = timeoutOf(options?.timeout, `the timeout of token "${name}"`);
  let asked = '';
  const outcome = host.waits.ask<{ readonly result: JsonValue; readonly isError: boolean }>(scope, (waitId) => {
    asked = waitId;
    return { kind: 'issueToken', waitId, name, ...defined({ form }), ...timeout };
  });
  // A wait that was closed before its token was issued has no token.
  const text = await Promise.race([host.news.tokenIssued(asked), outcome.then(() => '')]);
  return { token: text, outcome };
}
