// Checks of questions and answers.

import { defined } from '../../base/defined.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { answerMaxBytes, questionMaxBytes } from '../../base/limits.js';
import type { AddressedQuestion, Question } from '../../history/question.js';
import type { Duration } from '../../base/time.js';
import type { RemoteAnswer } from '../../history/remote-question.js';
import type { Addressing } from '../../workflow/ask-options.js';
import { configName } from '../../workflow/config-name.js';
import { invalid, json, text, toMs } from './arguments.js';

/** Checks the answer of a handler or a person. @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE` */
export function toAnswer(given: unknown): RemoteAnswer {
  const answer = json(given, 'an answer');
  const action = isJsonObject(answer) ? answer['action'] : undefined;
  if (action === 'decline' || action === 'cancel') return { action };
  if (action !== 'accept' || !isJsonObject(answer))
    throw invalid('an answer must have the action accept, decline or cancel');
  const { content } = answer;
  if (content === undefined) return { action };
  checkJsonBytes('the content of an answer is', jsonBytes(content), answerMaxBytes);
  return { action, content };
}

/** Checks a question. @throws EngineError `INPUT_INVALID`, `PAYLOAD_TOO_LARGE` */
export function toQuestion(given: Question): Question {
  const form = json(given, 'a question') as JsonObject;
  anyText(form['message'], 'the message of a question');
  const { message, schema, url, server } = form as {
    message: string;
    schema?: JsonValue;
    url?: string;
    server?: string;
  };
  if (schema !== undefined && !isJsonObject(schema))
    throw invalid('the schema of a question must be a JSON Schema object');
  checkJsonBytes('a question is', jsonBytes(form), questionMaxBytes);
  return {
    message,
    ...defined({
      schema,
      url: url === undefined ? undefined : anyText(url, 'the url of a question'),
      server: server === undefined ? undefined : text(server, 'the server of a question'),
    }),
  };
}

/** Checks whom a question is for. @throws EngineError `INPUT_INVALID` */
export function toAddressing(given: { readonly [Name in keyof Addressing]: Addressing[Name] | undefined }): Omit<
  AddressedQuestion,
  keyof Question
> {
  const { to, remindAfter, escalate } = given;
  return defined({
    to: to === undefined ? undefined : addressee(to, 'to'),
    remindAfterMs: remindAfter === undefined ? undefined : atLeastAMinute(remindAfter, 'remindAfter'),
    escalate:
      escalate === undefined
        ? undefined
        : { afterMs: atLeastAMinute(escalate.after, 'escalate.after'), to: addressee(escalate.to, 'escalate.to') },
  });
}

/** Checks a text that may be as long as a question: a remote server may have written it. */
function anyText(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '' && value.isWellFormed()) return value;
  throw invalid(`${what} must be a string of at least 1 character`);
}

function addressee(name: unknown, field: string): string {
  if (typeof name === 'string' && configName.test(name)) return name;
  throw invalid(`${field} of a question must be the name of one of the receivers in people of the app`);
}

function atLeastAMinute(duration: Duration, field: string): number {
  const ms = toMs(duration, `${field} of a question`);
  if (ms >= 60_000) return ms;
  throw invalid(`${field} of a question must be at least { minutes: 1 }`);
}
