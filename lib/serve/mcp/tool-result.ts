// What a task has come to, as the result of a tool. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { fitted } from '../task/fitted.js';
import type { Artifact, Part, ServedTask, TaskMessage } from '../task/served-task.js';
import { modern, type McpVersion } from './call.js';
import { artifactsMaxBytes } from './limits.js';

/** Id of the artifact that is what the workflow returned. */
const resultId = 'result';

/** Returns the result of the tool whose call has become this task, which is final. */
export function toolResult(task: ServedTask, version: McpVersion): JsonObject {
  const { state, message } = task.status;
  if (state !== 'completed') {
    const text = state === 'canceled' ? 'The run was cancelled.' : (textOf(message) ?? 'The run failed.');
    return complete({ content: [{ type: 'text', text }], isError: true }, version);
  }
  const output = outputOf(task);
  const { artifacts } = fitted(task, 0, artifactsMaxBytes);
  const others = artifacts.filter(({ artifactId }) => artifactId !== resultId);
  const content = [...contentOfOutput(output, others.length), ...others.flatMap(contentOf)];
  const structured = output === undefined ? {} : structuredOf(output, version);
  return complete({ content, ...structured, isError: false }, version);
}

/** Results of 2026-07-28 say of what type they are. */
export function complete(result: JsonObject, version: McpVersion): JsonObject {
  return version === modern ? { resultType: 'complete', ...result } : result;
}

/** Returns what the workflow has returned; undefined for nothing. */
export function outputOf({ artifacts }: ServedTask): JsonValue | undefined {
  const [part] = artifacts.find(({ artifactId }) => artifactId === resultId)?.parts ?? [];
  if (part === undefined) return undefined;
  return 'data' in part ? part.data : 'text' in part ? part.text : undefined;
}

/** Any JSON is structured content today; earlier it had to be an object. Text stands in the content alone. */
function structuredOf(output: JsonValue, version: McpVersion): JsonObject {
  if (typeof output === 'string') return {};
  if (version === modern || isJsonObject(output)) return { structuredContent: output };
  return { structuredContent: { result: output } };
}

function contentOfOutput(output: JsonValue | undefined, others: number): readonly JsonObject[] {
  if (output === undefined) return others === 0 ? [{ type: 'text', text: 'Done.' }] : [];
  return [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }];
}

function contentOf({ artifactId, parts }: Artifact): readonly JsonObject[] {
  return parts.map((part) => blockOf(part, artifactId));
}

function blockOf(part: Part, artifactId: string): JsonObject {
  const { mediaType, metadata } = part;
  const uri = metadata?.['uri'];
  const type = mediaType === undefined ? {} : { mimeType: mediaType };
  if ('url' in part) return { type: 'resource_link', uri: part.url, name: part.filename ?? artifactId, ...type };
  if ('raw' in part) {
    const kind = /^(image|audio)\//.exec(mediaType ?? '')?.[1];
    if (kind !== undefined) return { type: kind, data: part.raw, ...type };
    const at = typeof uri === 'string' ? uri : `artifact:${encodeURIComponent(part.filename ?? artifactId)}`;
    return { type: 'resource', resource: { uri: at, blob: part.raw, ...type } };
  }
  const text = 'text' in part ? part.text : JSON.stringify(part.data);
  if (typeof uri === 'string') return { type: 'resource', resource: { uri, text, ...type } };
  return { type: 'text', text };
}

/** Returns the text of a message: its texts, or its data as JSON. */
export function textOf(message: TaskMessage | undefined): string | undefined {
  if (message === undefined) return undefined;
  const texts = message.parts.flatMap((part) => ('text' in part ? [part.text] : []));
  if (texts.length > 0) return texts.join('\n');
  const data = message.parts.find((part) => 'data' in part);
  return data === undefined ? undefined : JSON.stringify(data.data);
}
