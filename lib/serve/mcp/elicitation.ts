// Questions of workflows as the input requests of MCP, and their answers. Pure.

import { callerLimits, parseBoundedJson } from '../../base/bounded-json.js';
import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { OpenQuestion, Part } from '../task/served-task.js';

/** Returns the questions that a client with these capabilities can be asked. */
export function askable(
  questions: readonly OpenQuestion[] | undefined,
  capabilities: JsonObject,
): readonly OpenQuestion[] {
  const { elicitation } = capabilities;
  if (!isJsonObject(elicitation)) return [];
  const canForm = elicitation['form'] !== undefined || elicitation['url'] === undefined;
  const canUrl = elicitation['url'] !== undefined;
  return (questions ?? []).filter(({ url }) => (url === undefined ? canForm : canUrl));
}

/** Returns the input requests of questions, by their keys or as `keyOf` says. */
export function inputRequests(
  questions: readonly OpenQuestion[],
  keyOf: (question: OpenQuestion) => string = ({ key }) => key,
): JsonObject {
  return Object.fromEntries(questions.map((question) => [keyOf(question), inputRequest(question)]));
}

/** Returns what each question is called while a call asks it: its name, unless another one has that too. */
export function namesOf(questions: readonly OpenQuestion[]): (question: OpenQuestion) => string {
  return ({ key, name }) => (questions.filter((other) => other.name === name).length === 1 ? name : key);
}

function inputRequest({ key, message, schema, url }: OpenQuestion): JsonObject {
  const method = 'elicitation/create';
  if (url !== undefined) return { method, params: { mode: 'url', message, url, elicitationId: key } };
  return { method, params: { mode: 'form', message, requestedSchema: formOf(schema) } };
}

/** The only field of a form for an answer that a form of MCP cannot ask for. */
const jsonField = 'json';

/** Forms of MCP are flat. Any other schema is told in the description of a field that takes JSON. */
function formOf(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const { properties, required } = schema;
  if (isFlat(schema))
    return {
      type: 'object',
      properties: isJsonObject(properties) ? properties : {},
      ...defined({ required: Array.isArray(required) ? required : undefined }),
    };
  const description = `The answer as JSON, of this JSON Schema: ${JSON.stringify(schema)}`;
  return { type: 'object', properties: { [jsonField]: { type: 'string', description } }, required: [jsonField] };
}

/** Keywords of the fields of a form. */
const fieldKeywords: ReadonlySet<string> = new Set([
  ...['type', 'title', 'description', 'default', 'enum', 'enumNames', 'oneOf', 'minLength', 'maxLength', 'format'],
  ...['minimum', 'maximum', 'items', 'minItems', 'maxItems', 'pattern'],
]);

function isFlat({ type, properties = {} }: JsonObject): boolean {
  return type === 'object' && isJsonObject(properties) && Object.values(properties).every(isField);
}

function isField(field: JsonValue | undefined): boolean {
  if (!isJsonObject(field) || !Object.keys(field).every((keyword) => fieldKeywords.has(keyword))) return false;
  const { type, items, enum: words } = field;
  if (type === undefined) return Array.isArray(words) && words.every((word) => typeof word === 'string');
  if (type === 'array') return isJsonObject(items) && (Array.isArray(items['enum']) || Array.isArray(items['anyOf']));
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean';
}

/**
 * Returns the answer of a client as the parts of a message. @throws EngineError `INPUT_INVALID` if it has no known action,
 * or JSON that is none
 */
export function answerParts({ schema }: OpenQuestion, given: JsonValue | undefined): readonly Part[] {
  const { action, content } = isJsonObject(given) ? given : {};
  if (action === 'decline' || action === 'cancel') return [{ data: { action } }];
  if (action !== 'accept') throw new EngineError('INPUT_INVALID', 'an answer must accept, decline or cancel');
  if (content === undefined) return [{ data: { action } }];
  return [{ data: { action, content: schema === undefined || isFlat(schema) ? content : jsonIn(content) } }];
}

function jsonIn(content: JsonValue): JsonValue {
  const text = isJsonObject(content) ? content[jsonField] : undefined;
  try {
    return parseBoundedJson(typeof text === 'string' ? text : '', callerLimits);
  } catch {
    throw new EngineError('INPUT_INVALID', `the field "${jsonField}" must be JSON, within its limits`);
  }
}
