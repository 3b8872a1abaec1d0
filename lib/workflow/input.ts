// Ready-made handlers for the questions of remote servers.

import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import { isJsonObject } from '../base/json.js';
import type { Duration } from '../base/time.js';
import type { RemoteAnswer } from '../history/remote-question.js';
import type { InputHandler } from './context.js';

export interface AskPersonOptions {
  /** How long a person has; default: as long as the call. */
  readonly timeout?: Duration;
  /** What happens when nobody answers in time: the call fails with `INPUT_TIMED_OUT` (default), or the server gets this answer. */
  readonly ifUnanswered?: 'fail' | RemoteAnswer;
}

/** Lets a person answer: the question is listed with its schema until somebody does, once. */
export function askPerson(options: AskPersonOptions = {}): InputHandler {
  const { timeout, ifUnanswered = 'fail' } = options;
  return async ({ message, schema, url }, ctx) => {
    try {
      return await ctx.ask({
        name: 'input',
        message: message === '' ? 'the server asks without a text' : message,
        ...defined({ schema, url, timeout }),
      });
    } catch (error) {
      const isUnanswered = error instanceof EngineError && error.code === 'INPUT_TIMED_OUT';
      if (!isUnanswered || ifUnanswered === 'fail') throw error;
      return ifUnanswered;
    }
  };
}

/**
 * Accepts every question with those of `values` that its schema names; without a schema, with all of them.
 * @throws EngineError `INPUT_INVALID` (and with it the call fails) when the schema requires a field that has no value
 */
export function answerWith(values: JsonObject): InputHandler {
  return ({ message, schema }) => {
    const properties = schema?.['properties'];
    if (!isJsonObject(properties)) return { action: 'accept', content: values };
    const required: JsonValue = schema?.['required'] ?? [];
    const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(values, String(name))) : [];
    if (missing.length > 0)
      throw new EngineError('INPUT_INVALID', `no answer for ${missing.join(', ')} to the question "${message}"`);
    const content = Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(properties, name)));
    return { action: 'accept', content };
  };
}
