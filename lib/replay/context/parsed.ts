// Schemas of the author's for what comes from outside: results of remote tasks, signals, tokens, answers.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { EngineError, RemoteResultInvalid } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { readAnswer, schemaThrew, textOfIssues, type Validated } from '../../base/validate.js';
import type { RemoteOutcome } from '../../workflow/outcome.js';
import { dataOf, textOf } from '../../workflow/outcome.js';

/** Checks a result as the protocol has it. @throws RemoteResultInvalid `REMOTE_RESULT_INVALID` */
export function checkResult(schema: StandardSchemaV1, { server, result }: RemoteOutcome): Promise<unknown> {
  return parse(schema, result, (issues) => misfit(server, result, issues));
}

/**
 * An outcome with what an `output` schema makes of it: of its structured value, else of its text, as JSON where it is JSON.
 * One that is an error is held to no schema.
 * @throws RemoteResultInvalid `REMOTE_RESULT_INVALID`
 */
export async function typedOutcome(schema: StandardSchemaV1, outcome: RemoteOutcome): Promise<RemoteOutcome> {
  const { server, result, isError } = outcome;
  if (isError) return outcome;
  const value = dataOf(outcome) ?? writtenOut(textOf(outcome));
  const data = await parse(schema, value, (issues) => misfit(server, result, issues));
  return { ...outcome, data } as RemoteOutcome;
}

/** What a schema makes of a value from outside. @throws EngineError `INPUT_INVALID` that says `what` does not fit, and why */
export function parsed(schema: StandardSchemaV1, value: JsonValue, what: string): Promise<unknown> {
  return parse(
    schema,
    value,
    (issues) => new EngineError('INPUT_INVALID', `${what} does not fit its schema: ${issues}`, { details: { value } }),
  );
}

/** Many servers write the value of their result out as text. */
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
    // Awaited here: one microtask more could put the commands of two branches into another order than a history has.
    validated = readAnswer(await schema['~standard'].validate(value));
  } catch (error) {
    validated = schemaThrew(error);
  }
  if (validated.isValid) return validated.value;
  throw toError(textOfIssues(validated.issues));
}
