// The author's schemas for values from outside: results of remote tasks, signals, tokens, answers.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { EngineError, RemoteResultInvalid } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { readAnswer, schemaThrew, textOfIssues, type Validated } from '../../base/validate.js';
import type { RemoteOutcome } from '../../workflow/outcome.js';
import { dataOf, textOf } from '../../workflow/outcome.js';

/** Checks a result in the form of the protocol. @throws RemoteResultInvalid `REMOTE_RESULT_INVALID` */
export function checkResult(schema: StandardSchemaV1, { server, result }: RemoteOutcome): Promise<unknown> {
  return parse(schema, result, (issues) => misfit(server, result, issues));
}

/**
 * Adds the value that an `output` schema parses from the structured value of an outcome or, without one, from its text
 * (parsed if it is JSON). An outcome that is an error is not checked.
 * @throws RemoteResultInvalid `REMOTE_RESULT_INVALID`
 */
export async function typedOutcome(schema: StandardSchemaV1, outcome: RemoteOutcome): Promise<RemoteOutcome> {
  const { server, result, isError } = outcome;
  if (isError) return outcome;
  const value = dataOf(outcome) ?? writtenOut(textOf(outcome));
  const data = await parse(schema, value, (issues) => misfit(server, result, issues));
  return { ...outcome, data } as RemoteOutcome;
}

/** Parses a value from outside with a schema. @throws EngineError `INPUT_INVALID` that says why `what` does not fit */
export function parsed(schema: StandardSchemaV1, value: JsonValue, what: string): Promise<unknown> {
  return parse(
    schema,
    value,
    (issues) => new EngineError('INPUT_INVALID', `${what} does not fit its schema: ${issues}`, { details: { value } }),
  );
}

/** Parses text as JSON if possible: many servers send the value of their result as text. */
function writtenOut(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

function misfit(server: string, result: JsonValue, issues: string): Error {
  const message = `the result of the remote task on "${server}" does not fit its schema: ${issues}`;
  return new RemoteResultInvalid('REMOTE_RESULT_INVALID', message, { details: { server, result } });
}

async function parse(schema: StandardSchemaV1, value: JsonValue, toError: (issues: string) => Error): Promise<unknown> {
  let validated: Validated;
  try {
    // Awaited here: an additional microtask could change the order of the commands of two branches in old histories.
    validated = readAnswer(await schema['~standard'].validate(value));
  } catch (error) {
    validated = schemaThrew(error);
  }
  if (validated.isValid) return validated.value;
  throw toError(textOfIssues(validated.issues));
}
