import type { JsonObject, JsonValue } from '../base/json.js';
import { isJsonObject } from '../base/json.js';

/** How a remote task ended. A result that the tool itself marks as an error is an outcome, not an exception. */
export interface RemoteOutcome {
  /** MCP: the tool result object. A2A: the whole task, or the message that came in its place, in the names of 1.0. */
  readonly result: JsonValue;
  /** MCP `isError`; always false for A2A. */
  readonly isError: boolean;
  readonly server: string;
  /** Missing when the server answered at once, without a task. */
  readonly taskId?: string;
  /** With `isError`: the reply to the start said so already (a quota, arguments that do not fit), and no task ran. */
  readonly phase?: 'start';
}

/** The outcome of a call with an `output` schema, of a task that did what it was asked. */
export interface OutcomeWithData<Data> extends RemoteOutcome {
  readonly isError: false;
  /** What the schema made of the structured value of the result, or of its text. */
  readonly data: Data;
}
/** The outcome of a call with an `output` schema, of a tool that says that it failed. */
export interface ErrorOutcome extends RemoteOutcome {
  readonly isError: true;
  readonly data?: undefined;
}
export type TypedOutcome<Data> = OutcomeWithData<Data> | ErrorOutcome;

declare const declared: unique symbol;

/** The outcome of a tool that says what it gives, without an `output` schema: the type of `dataOf` of it. */
export interface DeclaredOutcome<Data> extends RemoteOutcome {
  /** For the compiler alone. */
  readonly [declared]?: Data;
}

/** What `dataOf` gives of an outcome. */
export type DataOf<Outcome> = Outcome extends { readonly [declared]?: infer Data }
  ? unknown extends Data
    ? JsonValue
    : Exclude<Data, undefined>
  : JsonValue;

/** The text of an outcome: MCP text content, A2A text parts of the artifacts or else of the message, joined by newlines. */
export function textOf(outcome: RemoteOutcome): string {
  return partsOf(outcome.result)
    .map((part) => part['text'])
    .filter((text) => typeof text === 'string')
    .join('\n');
}

/**
 * The first structured value of an outcome: MCP `structuredContent`, A2A the first data part. Undefined if there is none.
 * With the file of `outwait types` it has the type that the tool's server promises, and nothing checks that the server
 * keeps the promise: an `output` schema of the call does.
 */
export function dataOf<Outcome extends RemoteOutcome>(outcome: Outcome): DataOf<Outcome> | undefined;
export function dataOf({ result }: RemoteOutcome): JsonValue | undefined {
  if (isJsonObject(result) && result['structuredContent'] !== undefined) return result['structuredContent'];
  return partsOf(result).find((part) => part['data'] !== undefined && part['type'] === undefined)?.['data'];
}

/** The artifacts of an A2A task; empty for anything else. */
export function artifactsOf(outcome: RemoteOutcome): readonly JsonObject[] {
  return isJsonObject(outcome.result) ? objectsIn(outcome.result['artifacts']) : [];
}

/**
 * MCP content blocks, or the parts of an A2A message or task: its artifacts, else its last message, else what the agent
 * said last.
 */
function partsOf(result: JsonValue): readonly JsonObject[] {
  if (!isJsonObject(result)) return [];
  if (result['content'] !== undefined) return objectsIn(result['content']);
  if (result['parts'] !== undefined) return objectsIn(result['parts']);
  const inArtifacts = objectsIn(result['artifacts']).flatMap((artifact) => objectsIn(artifact['parts']));
  if (inArtifacts.length > 0) return inArtifacts;
  const status = result['status'];
  const message = isJsonObject(status) ? status['message'] : undefined;
  const inStatus = isJsonObject(message) ? objectsIn(message['parts']) : [];
  if (inStatus.length > 0) return inStatus;
  const said = objectsIn(result['history']).findLast(({ role }) => role === 'ROLE_AGENT');
  return objectsIn(said?.['parts']);
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}
