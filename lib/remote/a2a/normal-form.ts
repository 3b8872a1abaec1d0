// Objects of A2A 0.3 and 1.0 in the names of 1.0. Fields already in these names stay as they came, unknown ones too.

import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { a2aStateName } from './task-state.js';

/** Converts a task: its state, and the parts of its artifacts, history and status message. */
export function normalTask(task: JsonObject): JsonObject {
  const { status, artifacts, history } = task;
  return {
    ...withoutKind(task, 'task'),
    ...defined({
      status: isJsonObject(status) ? normalStatus(status) : undefined,
      artifacts: Array.isArray(artifacts) ? mapObjects(artifacts, normalArtifact) : undefined,
      history: Array.isArray(history) ? mapObjects(history, normalMessage) : undefined,
    }),
  };
}

export function normalStatus(status: JsonObject): JsonObject {
  const { state, message } = status;
  return {
    ...status,
    ...defined({
      state: state === undefined ? undefined : a2aStateName(state),
      message: isJsonObject(message) ? normalMessage(message) : undefined,
    }),
  };
}

export function normalMessage(message: JsonObject): JsonObject {
  const { role } = message;
  const roles: Readonly<Record<string, string>> = { user: 'ROLE_USER', agent: 'ROLE_AGENT' };
  const name = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined;
  return { ...withNormalParts(withoutKind(message, 'message')), ...defined({ role: name }) };
}

export function normalArtifact(artifact: JsonObject): JsonObject {
  return withNormalParts(artifact);
}

function withNormalParts(holder: JsonObject): JsonObject {
  const { parts } = holder;
  return Array.isArray(parts) ? { ...holder, parts: (parts as readonly JsonValue[]).map(normalPart) } : holder;
}

/**
 * Converts one part to the names of 1.0. A part that breaks the rules of section 4.1.6 becomes `{ problem, part }`,
 * with the original as `part`: its neighbours are still good, and it cannot be taken for content.
 */
export function normalPart(part: JsonValue): JsonObject {
  if (!isJsonObject(part)) return { problem: 'a part must be an object', part };
  const renamed = renamedPart(part);
  const problem = problemWithPart(renamed);
  return problem === undefined ? renamed : { problem, part };
}

const contents = ['text', 'raw', 'url', 'data'] as const;

/** Returns why a part in the names of 1.0 is invalid, or undefined if it is valid. */
export function problemWithPart(part: JsonObject): string | undefined {
  const present = contents.filter((content) => part[content] !== undefined);
  const [content] = present;
  if (content === undefined || present.length > 1) return `must have exactly one of ${contents.join(', ')}`;
  if (content === 'data') return undefined;
  const value = part[content];
  if (typeof value !== 'string') return `must have a string as ${content}`;
  return content !== 'raw' || isBase64(value) ? undefined : 'must have base64 as raw';
}

/** Accepts both alphabets, with and without padding, as ProtoJSON does. */
function isBase64(text: string): boolean {
  const unpadded = text.replace(/={1,2}$/, '');
  return /^[A-Za-z0-9+/_-]*$/.test(unpadded) && unpadded.length % 4 !== 1;
}

/** Renames the fields of a 0.3 part, which has a `kind`. */
function renamedPart(part: JsonObject): JsonObject {
  const { kind, file } = part;
  if (kind === 'text') return without(part, 'kind');
  if (kind === 'data') return unwrapped(without(part, 'kind'));
  if (kind !== 'file' || !isJsonObject(file)) return part;
  const { bytes, uri, name, mimeType } = file;
  return {
    ...without(without(part, 'kind'), 'file'),
    ...defined({ raw: bytes, url: uri, filename: name, mediaType: mimeType }),
  };
}

/** Metadata key of a wrapped value: data of 0.3 must be an object, so anything else is sent as `{ value }`. */
const wrappedMark = 'data_part_compat';

function unwrapped(part: JsonObject): JsonObject {
  const { data, metadata } = part;
  if (!isJsonObject(data) || !isJsonObject(metadata) || metadata[wrappedMark] !== true) return part;
  const others = without(metadata, wrappedMark);
  const kept = Object.keys(others).length === 0 ? {} : { metadata: others };
  return { ...without(part, 'metadata'), data: data['value'] ?? null, ...kept };
}

/** Converts a part in the names of 1.0 to 0.3. */
export function partFor03(part: JsonObject): JsonObject {
  const { text, raw, url, data, filename, mediaType, metadata } = part;
  const meta = metadata === undefined ? {} : { metadata };
  if (text !== undefined) return { kind: 'text', text, ...meta };
  if (data !== undefined) {
    if (isJsonObject(data)) return { kind: 'data', data, ...meta };
    return {
      kind: 'data',
      data: { value: data },
      metadata: { ...(isJsonObject(metadata) ? metadata : undefined), [wrappedMark]: true },
    };
  }
  const file = {
    ...defined({ bytes: raw, uri: url, name: filename, mimeType: mediaType }),
  };
  return { kind: 'file', file, ...meta };
}

function withoutKind(object: JsonObject, expected: string): JsonObject {
  return object['kind'] === expected ? without(object, 'kind') : object;
}

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

function mapObjects(values: readonly unknown[], map: (object: JsonObject) => JsonObject): readonly JsonValue[] {
  return (values as readonly JsonValue[]).map((value) => (isJsonObject(value) ? map(value) : value));
}
