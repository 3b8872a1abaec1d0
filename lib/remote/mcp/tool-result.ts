// The result of a tool, common to all revisions. Pure.

import { parseBoundedJson } from '../../base/bounded-json.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { unknown } from '../rpc/remote-error.js';
import type { StartReply } from '../transport.js';

/** Length up to which a text is checked for a task that a tool returns as plain data: there is not much to one. */
const disguisedTaskMaxChars = 16 * 1024;

/**
 * Reads the answer of a tool that answered at once. `isError` is an outcome like any other: the tool ran and reports
 * failure.
 */
export function readToolResult(result: JsonObject): StartReply {
  const { content, structuredContent } = result;
  if (!Array.isArray(content) && structuredContent === undefined)
    return unknown('the result of the call has neither content nor structuredContent');
  const isError = result['isError'] === true;
  if (!isError && isTaskInDisguise(structuredContent ?? textAsJson(content))) {
    const problem =
      'the tool answered with the id of a running task as plain data; only a task of the protocol can be followed';
    return unknown(problem);
  }
  return { kind: 'ended', end: { kind: 'completed', result, isError } };
}

/** Whether the value is a task handle as plain data. Only MCP's own words count: other tools speak of tasks too. */
function isTaskInDisguise(value: JsonValue | undefined): boolean {
  if (!isJsonObject(value)) return false;
  const { taskId, status } = isJsonObject(value['task']) ? value['task'] : value;
  return typeof taskId === 'string' && (status === 'working' || status === 'input_required');
}

function textAsJson(content: JsonValue | undefined): JsonValue | undefined {
  const [item, ...more] = Array.isArray(content) ? (content as readonly JsonValue[]) : [];
  if (more.length > 0 || !isJsonObject(item) || typeof item['text'] !== 'string') return undefined;
  const text = item['text'].trim();
  if (!text.startsWith('{') || text.length > disguisedTaskMaxChars) return undefined;
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}
