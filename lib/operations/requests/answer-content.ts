import { Validator, type Schema, type ValidationResult } from '@cfworker/json-schema';
import { EngineError } from '../../base/errors.js';
import { cutUtf8, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { answerMaxBytes, failureTextBytes } from '../../base/limits.js';

/** Most parts of an answer times parts of its schema; beyond this the check takes over a second and is skipped. */
const answerCheckPairsMax = 200_000;

// Loaded late by answer-question.ts: the validator is large, and few invocations take an answer.

/**
 * Checks the content of an accepted answer against the schema of its question, if there is one and the check can be
 * made in reasonable time.
 * @throws EngineError `INPUT_INVALID` with the mismatches, `PAYLOAD_TOO_LARGE`
 */
export function checkContent(schema: JsonObject | undefined, content: JsonValue | undefined): void {
  checkJsonBytes('the content of the answer is', jsonBytes(content), answerMaxBytes);
  if (schema === undefined) return;
  const { valid, errors } = validate(schema, content ?? {});
  if (valid) return;
  // The deepest error says what is wrong; its parents only say that something is.
  const problems = errors.filter(({ keyword }) => keyword !== 'properties');
  const shown = problems.slice(0, problemsShown).map(problemText);
  const more = problems.length > problemsShown ? `; and ${problems.length - problemsShown} more` : '';
  const text = `${cutUtf8(shown.join('; '), failureTextBytes)}${more}`;
  throw new EngineError('INPUT_INVALID', `the content does not fit the schema of the question: ${text}`);
}

const problemsShown = 10;

function validate(schema: JsonObject, content: JsonValue): ValidationResult {
  const unchecked = { valid: true, errors: [] };
  // The validator may compare each part of one with each part of the other, and each item of a list with each.
  const parts = partsIn(content);
  if (parts * Math.max(parts, partsIn(schema)) > answerCheckPairsMax) return unchecked;
  try {
    return new Validator(harmless(schema) as Schema, '2020-12', false).validate(content);
  } catch {
    // The validator fails on an invalid JSON Schema, and no answer can be checked against that.
    return unchecked;
  }
}

function partsIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner: JsonValue) => sum + partsIn(inner), 1);
}

function problemText({ instanceLocation, error }: { instanceLocation: string; error: string }): string {
  return `${instanceLocation === '#' ? 'content' : instanceLocation.slice(2).replaceAll('/', '.')}: ${error}`;
}

/**
 * Removes risky keywords, since a remote server may have written the schema: its regular expressions are not run
 * against user input, and its references are not followed, since they may be endless or nearly so.
 */
function harmless(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => !isRisky(keyword));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, inner(keyword, value)]));
}

function isRisky(keyword: string): boolean {
  return keyword === 'pattern' || keyword === 'patternProperties' || keyword.startsWith('$');
}

function inner(keyword: string, value: JsonValue): JsonValue {
  if (keyword === 'const' || keyword === 'enum') return value;
  const holdsSchemasByName = ['properties', 'definitions', 'dependentSchemas'].includes(keyword);
  if (holdsSchemasByName && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, harmless(schema)]));
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(harmless);
  return isJsonObject(value) ? harmless(value) : value;
}
