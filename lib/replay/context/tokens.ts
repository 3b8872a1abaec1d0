import { defined } from '../../base/defined.js';
import { ExternalWaitFailed } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Duration } from '../../base/time.js';
import { toCaller, type AddressedQuestion } from '../../history/question.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { Parsed, TokenOptions } from '../../workflow/external-wait.js';
import type { AskOptions, AnswerSchema, TypedAskOptions } from '../../workflow/ask-options.js';
import type { Scope } from '../waits/scope.js';
import { checkName, invalid, json, timeoutOf } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { toAddressing, toAnswer, toQuestion } from './input.js';
import { parsed } from './parsed.js';

/** Default timeout of a question to the caller: its task holds up the others of its context. */
const callerTimeout: Duration = { hours: 24 };

/** Creates `ctx.externalToken`, and `ctx.ask` and `ctx.promise`, which are built on tokens. */
export function tokens(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'externalToken' | 'ask' | 'promise'> {
  return {
    externalToken: handled(async (options?: TokenOptions & Partial<Parsed<unknown>>) => {
      const external = await issue(host, scope, { method: 'externalToken', options });
      const { schema } = options ?? {};
      if (schema === undefined) return external;
      const outcome = external.outcome.then(async (settled) =>
        settled.isError
          ? settled
          : { ...settled, result: await parsed(schema, settled.result, 'the result of a token') },
      );
      outcome.catch(() => undefined);
      return { token: external.token, outcome };
    }) as WorkflowContext['externalToken'],

    ask: handled(async (options: AskOptions | TypedAskOptions<unknown>) => {
      const { name = 'question', schema, to, remindAfter, escalate, timeout: given, ...form } = options;
      const isForCaller = to === toCaller && host.start.task !== undefined;
      const timeout = given ?? (isForCaller ? callerTimeout : undefined);
      const parser = isStandard(schema) ? schema : undefined;
      const written = { ...form, ...defined({ schema: isStandard(schema) ? writtenAs(schema) : schema }) };
      const addressed = {
        ...toQuestion(written),
        ...toAddressing({ to: to === toCaller && !isForCaller ? undefined : to, remindAfter, escalate }),
      };
      const token = { method: 'ask', options: { name, ...defined({ timeout }) }, form: addressed };
      const { outcome } = await issue(host, scope, token);
      const answer = toAnswer((await outcome).result);
      if (parser === undefined || answer.action !== 'accept') return answer;
      return { ...answer, content: await parsed(parser, answer.content ?? {}, `the answer to "${name}"`) };
    }) as WorkflowContext['ask'],

    promise: handled(async (options?: TokenOptions & Partial<Parsed<unknown>>) => {
      const external = await issue(host, scope, { method: 'promise', options: { name: 'promise', ...options } });
      const { schema } = options ?? {};
      const promise = external.outcome.then(({ result, isError }) => {
        if (!isError) return schema === undefined ? result : parsed(schema, result, 'the value of a promise');
        throw new ExternalWaitFailed('EXTERNAL_FAILED', 'the promise was rejected', { details: { result } });
      });
      promise.catch(() => undefined);
      return { token: external.token, promise };
    }) as WorkflowContext['promise'],
  };
}

function isStandard(schema: JsonObject | AnswerSchema<unknown> | undefined): schema is AnswerSchema<unknown> {
  return (typeof schema === 'object' && '~standard' in schema) || typeof schema === 'function';
}

/** Converts a schema to JSON Schema. @throws EngineError `INPUT_INVALID` if it cannot be converted */
function writtenAs(schema: AnswerSchema<unknown>): JsonObject {
  try {
    return json(
      schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }),
      'the schema of a question',
    ) as JsonObject;
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it threw';
    throw invalid(`the schema of a question must be JSON Schema, or convertible to JSON Schema: ${why}`);
  }
}

interface TokenCall {
  /** Name of the called method of the context. */
  readonly method: string;
  readonly options: TokenOptions | undefined;
  /** Question to a person. */
  readonly form?: AddressedQuestion;
}

/** Requests a token, and waits until it can be handed out. */
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
  // A wait that is closed before its token is issued has no token.
  const text = await Promise.race([host.news.tokenIssued(asked), outcome.then(() => '')]);
  return { token: text, outcome };
}
