// What an MCP server wants to know (elicitation), and how it is told. Pure.

import { cutUtf8, isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { questionMaxBytes, questionsMax, remoteIdMaxBytes } from '../../base/limits.js';
import type { RemoteAnswer, RemoteQuestion } from '../../history/remote-question.js';

/** Message of a question of a remote task, cut. */
const questionTextBytes = 4 * 1024;

export interface InputRequests {
  readonly questions: readonly RemoteQuestion[];
  /** What else was asked for, each as a method and, where it is known, the reason. They stay open at the server. */
  readonly unanswerable: readonly string[];
}

/** Reads `inputRequests` (MCP 2026-07-28, multi round-trip requests; tasks extension), in the order in which they came. */
export function readInputRequests(requests: JsonValue | undefined): InputRequests {
  const questions: RemoteQuestion[] = [];
  const unanswerable: string[] = [];
  for (const [key, request] of Object.entries(isJsonObject(requests) ? requests : {})) {
    const question = questions.length < questionsMax ? readQuestion(key, request) : 'more questions than are taken';
    if (typeof question === 'string') unanswerable.push(question);
    else questions.push(question);
  }
  return { questions, unanswerable };
}

/** The question, or why there is none. */
function readQuestion(key: string, request: JsonValue): RemoteQuestion | string {
  if (utf8Bytes(key) > remoteIdMaxBytes) return 'a question with a key that is too long';
  if (!isJsonObject(request)) return 'a question that is no object';
  const { method, params } = request;
  // Sampling and roots are never declared and never executed.
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
    return isJsonObject(schema) ? { key, kind: 'form', message, schema } : 'a form whose schema is no object';
  }
  if (mode !== 'url') return 'an elicitation of an unknown mode';
  return typeof url === 'string' && isWebAddress(url)
    ? { key, kind: 'url', message, url }
    : 'a page without a web address';
}

/** It is shown to a person: no `javascript:` and the like. */
function isWebAddress(url: string): boolean {
  return utf8Bytes(url) <= questionTextBytes && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** An answer as an elicitation result. Content goes with `accept` alone. */
export function inputResponse(answer: RemoteAnswer): JsonObject {
  const { action } = answer;
  return action === 'accept' && answer.content !== undefined ? { action, content: answer.content } : { action };
}
