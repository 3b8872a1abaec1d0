import { defined } from '../../base/defined.js';
import { createHash } from 'node:crypto';
import { canonicalJson, cutUtf8, isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { failureTextBytes, remoteIdMaxBytes } from '../../base/limits.js';
import { isUsableId } from '../endpoint/handle.js';
import type { RemoteAnswer, RemoteQuestion } from '../transport.js';
import { a2aStateClass } from './task-state.js';
import { textIn } from './text.js';

/** Size up to which the parts of a question are kept; of larger ones only the text is. */
const questionPartsMaxBytes = 32 * 1024;

/** Returns the questions of a task in the names of 1.0: at most one at a time. */
export function questionsIn({ status }: JsonObject): readonly RemoteQuestion[] {
  if (!isJsonObject(status)) return [];
  switch (a2aStateClass(status['state'])) {
    case 'input_required':
      return [{ ...asked(status, 'the agent asks for input'), kind: 'form' }];
    case 'auth_required': {
      const url = urlIn(partsOf(status['message']));
      return [{ ...asked(status, 'the agent waits for consent'), kind: 'auth', ...defined({ url }) }];
    }
    case 'active':
    case 'completed':
    case 'failed':
    case 'rejected':
    case 'canceled':
      return [];
  }
}

function asked(status: JsonObject, otherwise: string): Omit<RemoteQuestion, 'kind' | 'url'> {
  const parts = partsOf(status['message']);
  const schema = schemaIn(parts);
  const keepsParts = parts.length > 0 && utf8Bytes(JSON.stringify(parts)) <= questionPartsMaxBytes;
  return {
    key: keyOf(status),
    message: cutUtf8(textIn(status['message']) ?? otherwise, failureTextBytes),
    ...defined({ schema, parts: keepsParts ? parts : undefined }),
  };
}

/**
 * Returns the key of a question. A second question comes in the same state as the first, so the message that asks
 * distinguishes them: by its id, or else by a hash of all that is known of it.
 */
function keyOf(status: JsonObject): string {
  const { message, timestamp = null } = status;
  const messageId = isJsonObject(message) ? message['messageId'] : undefined;
  if (isUsableId(messageId)) return messageId;
  const known = canonicalJson({ state: status['state'] ?? null, timestamp, parts: partsOf(message) });
  return createHash('sha256').update(known).digest('hex').slice(0, 32);
}

function partsOf(message: JsonValue | undefined): readonly JsonValue[] {
  const parts = isJsonObject(message) ? message['parts'] : undefined;
  return Array.isArray(parts) ? (parts as readonly JsonValue[]) : [];
}

/**
 * Returns the schema from a data part `{ schema }` or a part that declares itself a JSON Schema. A2A has no field for
 * it.
 */
function schemaIn(parts: readonly JsonValue[]): JsonObject | undefined {
  for (const part of parts) {
    const data = isJsonObject(part) ? part['data'] : undefined;
    if (!isJsonObject(data)) continue;
    const schema = data['$schema'] === undefined ? data['schema'] : data;
    if (isJsonObject(schema) && utf8Bytes(JSON.stringify(schema)) <= questionPartsMaxBytes) return schema;
  }
  return undefined;
}

function urlIn(parts: readonly JsonValue[]): string | undefined {
  return parts
    .map((part) => (isJsonObject(part) ? part['url'] : undefined))
    .find(
      (url) =>
        typeof url === 'string' && utf8Bytes(url) <= remoteIdMaxBytes && URL.canParse(url) && /^https?:/i.test(url),
    ) as string | undefined;
}

/**
 * Returns the parts that carry an answer: text as text, anything else as data. A2A has no form for a declined question,
 * so it is expressed both ways, for programs and for models.
 */
export function answerParts(answer: RemoteAnswer): readonly JsonObject[] {
  switch (answer.action) {
    case 'accept': {
      const { content } = answer;
      if (content === undefined) return said('accept', 'Accepted.');
      return [typeof content === 'string' ? { text: content } : { data: content, mediaType: 'application/json' }];
    }
    case 'decline':
      return said('decline', 'Declined: no answer will be given to this question.');
    case 'cancel':
      return said('cancel', 'Cancelled: nobody answered this question.');
  }
}

function said(action: RemoteAnswer['action'], text: string): readonly JsonObject[] {
  return [{ text }, { data: { action }, mediaType: 'application/json' }];
}
