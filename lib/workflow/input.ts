// Ready-made handlers for the questions of remote servers.

import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import { isJsonObject } from '../base/json.js';
import type { Duration } from '../base/time.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { Addressing } from './ask-options.js';
import type { InputHandler } from './context.js';

/** Options of `askPerson`. */
export interface AskPersonOptions extends Addressing {
  /** How long a person has to answer. Default: as long as the call is open. */
  readonly timeout?: Duration;
  /**
   * Reaction if no answer comes in time: fail the call with `INPUT_TIMED_OUT` (default), or send the server this
   * answer.
   */
  readonly ifUnanswered?: 'fail' | RemoteAnswer;
}

/** Creates a handler that lets a person answer. The question is listed with its schema until it is answered, once. */
export function askPerson(options: AskPersonOptions = {}): InputHandler {
  const { timeout, ifUnanswered = 'fail', to, remindAfter, escalate } = options;
  return async ({ message, schema, url }, ctx) => {
    try {
      return await ctx.ask({
        name: 'input',
        message: message === '' ? 'the server sent a question without a message' : message.toWellFormed(),
        ...defined({ schema, url: url?.toWellFormed(), timeout, to, remindAfter, escalate }),
      });
    } catch (error) {
      const isUnanswered = error instanceof EngineError && error.code === 'INPUT_TIMED_OUT';
      if (!isUnanswered || ifUnanswered === 'fail') throw error;
      return ifUnanswered;
    }
  };
}

/**
 * Creates a handler that accepts every question, with those of `values` that its schema names, or all without a schema.
 * If `values` lacks a field that the schema requires, it throws EngineError `INPUT_INVALID`, which fails the call.
 */
export function answerWith(values: JsonObject): InputHandler {
  return ({ message, schema }) => {
    const properties = schema?.['properties'];
    if (!isJsonObject(properties)) return { action: 'accept', content: values };
    const required: JsonValue = schema?.['required'] ?? [];
    const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(values, String(name))) : [];
    if (missing.length > 0)
      throw new EngineError(
        'INPUT_INVALID',
        `no value for ${missing.join(', ')}, which the question "${message}" requires`,
      );
    const content = Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(properties, name)));
    return { action: 'accept', content };
  };
}
