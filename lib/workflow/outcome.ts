import type { JsonObject, JsonValue } from '../base/json.js';
import { isJsonObject } from '../base/json.js';

/** The outcome of a remote task. A result that the tool itself marks as an error is an outcome, not an exception. */
export interface RemoteOutcome {
  /**
   * MCP: the tool result object. A2A: the whole task, or the message sent instead of one, with the field names of 1.0.
   */
  readonly result: JsonValue;
  /** MCP `isError`; always false for A2A. */
  readonly isError: boolean;
  readonly server: string;
  /** Missing if the server answered at once, without a task. */
  readonly taskId?: string;
  /** Set if the start itself was answered with the error (a quota, invalid arguments), so that no task ran. */
  readonly phase?: 'start';
}

/** The outcome of a call with an `output` schema if the task succeeded. */
export interface OutcomeWithData<Data> extends RemoteOutcome {
  readonly isError: false;
  /** The structured value of the result, or its text, as parsed by the schema. */
  readonly data: Data;
}
/** The outcome of a call with an `output` schema if the tool reports that it failed. */
export interface ErrorOutcome extends RemoteOutcome {
  readonly isError: true;
  readonly data?: undefined;
}
export type TypedOutcome<Data> = OutcomeWithData<Data> | ErrorOutcome;

declare const declared: unique symbol;

/**
 * The outcome of a call without an `output` schema, of a tool that declares the type of its result; `dataOf` has that
 * type.
 */
export interface DeclaredOutcome<Data> extends RemoteOutcome {
  /** Exists only in the type. */
  readonly [declared]?: Data;
}

/** The type that `dataOf` returns for an outcome. */
export type DataOf<Outcome> = Outcome extends { readonly [declared]?: infer Data }
  ? unknown extends Data
    ? JsonValue
    : Exclude<Data, undefined>
  : JsonValue;

/**
 * Returns the text of an outcome, joined by newlines. MCP: text content. A2A: text parts of the artifacts, or of the
 * message.
 */
export function textOf(outcome: RemoteOutcome): string {
  return partsOf(outcome.result)
    .map((part) => part['text'])
    .filter((text) => typeof text === 'string')
    .join('\n');
}

/**
 * Returns the first structured value of an outcome: MCP `structuredContent`, or the first A2A data part. Returns
 * undefined if there is none. With the file that `outwait types` writes it has the type that the server declares, which
 * is not checked: to check it, give the call an `output` schema.
 */
export function dataOf<Outcome extends RemoteOutcome>(outcome: Outcome): DataOf<Outcome> | undefined;
export function dataOf({ result }: RemoteOutcome): JsonValue | undefined {
  if (isJsonObject(result) && result['structuredContent'] !== undefined) return result['structuredContent'];
  return partsOf(result).find((part) => part['data'] !== undefined && part['type'] === undefined)?.['data'];
}

/** Returns the artifacts of an A2A task; empty for anything else. */
export function artifactsOf(outcome: RemoteOutcome): readonly JsonObject[] {
  return isJsonObject(outcome.result) ? objectsIn(outcome.result['artifacts']) : [];
}

/**
 * Returns MCP content blocks, or the parts of an A2A message or task: those of its artifacts, or else of its status
 * message, or else of the agent's last message in the history.
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
