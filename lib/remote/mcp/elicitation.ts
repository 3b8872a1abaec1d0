// Questions of an MCP server (elicitation), and answers to them. Pure.

import { cutUtf8, isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { questionMaxBytes, questionsMax, remoteIdMaxBytes } from '../../base/limits.js';
import type { RemoteAnswer, RemoteQuestion } from '../../history/remote-question.js';

/** Limit to which the message of a remote task's question is cut. */
const questionTextBytes = 4 * 1024;

export interface InputRequests {
  readonly questions: readonly RemoteQuestion[];
  /** Requests that are not questions we can pass on: method and, if known, the reason. They stay open at the server. */
  readonly unanswerable: readonly string[];
}

/**
 * Reads `inputRequests` (MCP 2026-07-28, multi round-trip requests; tasks extension), in the order in which they came.
 */
export function readInputRequests(requests: JsonValue | undefined): InputRequests {
  const questions: RemoteQuestion[] = [];
  const unanswerable: string[] = [];
  for (const [key, request] of Object.entries(isJsonObject(requests) ? requests : {})) {
    const question = questions.length < questionsMax ? readQuestion(key, request) : 'more questions than are accepted';
    if (typeof question === 'string') unanswerable.push(question);
    else questions.push(question);
  }
  return { questions, unanswerable };
}

/** Returns the question, or why it is not taken. */
function readQuestion(key: string, request: JsonValue): RemoteQuestion | string {
  if (utf8Bytes(key) > remoteIdMaxBytes) return 'a question with a key that is too long';
  if (!isJsonObject(request)) return 'a question that is not an object';
  const { method, params } = request;
  // Rejects sampling and roots, which are never declared and never executed.
  if (method !== 'elicitation/create')
    return typeof method === 'string' ? cutUtf8(method, 64) : 'a question without a method';
  const question = readElicitation(key, isJsonObject(params) ? params : {});
  if (typeof question === 'string') return question;
  return utf8Bytes(JSON.stringify(question)) <= questionMaxBytes ? question : 'a question that is too large';
}

function readElicitation(key: string, params: JsonObject): RemoteQuestion | string {
  const { mode = 'form', requestedSchema: schema, url } = params;
  const message = typeof params['message'] === 'string' ? cutUtf8(params['message'], questionTextBytes) : '';
  if (mode === 'form') {
    if (schema === undefined) return { key, kind: 'form', message };
    return isJsonObject(schema) ? { key, kind: 'form', message, schema } : 'a form whose schema is not an object';
  }
  if (mode !== 'url') return 'an elicitation of an unknown mode';
  return typeof url === 'string' && isWebAddress(url)
    ? { key, kind: 'url', message, url }
    : 'a page without a web address';
}

/** Requires http or https, no `javascript:` and the like, since the URL is shown to a person. */
function isWebAddress(url: string): boolean {
  return utf8Bytes(url) <= questionTextBytes && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** Returns an answer as an elicitation result. Content goes with `accept` only. */
export function inputResponse(answer: RemoteAnswer): JsonObject {
  const { action } = answer;
  return action === 'accept' && answer.content !== undefined ? { action, content: answer.content } : { action };
}
