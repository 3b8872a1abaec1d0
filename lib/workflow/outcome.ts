import type { JsonObject, JsonValue } from '../base/json.js';
import { isJsonObject } from '../base/json.js';
import type { RemoteOutcome } from './remote-outcome.js';

/** The text of an outcome: MCP text content, A2A text parts of the artifacts or else of the message, joined by newlines. */
export function textOf(outcome: RemoteOutcome): string {
  return partsOf(outcome.result)
    .map((part) => part['text'])
    .filter((text) => typeof text === 'string')
    .join('\n');
}

/** The first structured value of an outcome: MCP `structuredContent`, A2A the first data part. Undefined if there is none. */
export function dataOf(outcome: RemoteOutcome): JsonValue | undefined {
  const { result } = outcome;
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
