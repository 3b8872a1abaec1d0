// A2A 1.0 over HTTP+JSON (section 11): requests, and the meaning of answers. Pure.

import { defined } from '../../base/defined.js';
import { JsonBeyondLimits, parseReplyJson, type ReplyJson } from '../../base/bounded-json.js';
import type { StoredError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { HttpCall } from '../endpoint/endpoint.js';
import { eventStream } from '../http/event-stream.js';
import { httpError, mediaTypeOf, notJson, type Exchange } from '../rpc/exchange.js';
import type { HttpReply } from '../http/http.js';
import { remoteError, violationError } from '../rpc/remote-error.js';
import { waitIn } from '../http/retry-after.js';
import type { A2aInterface } from './interface.js';
import { eventsOrJson, historyLengthOf, listParams, type A2aOperation } from './operation.js';
import { headersFor10, sendParams10 } from './wire-1.0.js';

export function httpJsonCall(
  operation: A2aOperation,
  { url, tenant }: A2aInterface,
  extensions: readonly string[],
): HttpCall {
  const headers = { accept: 'application/json', ...headersFor10(extensions) };
  const at = (path: string): string => {
    const target = new URL(url);
    const prefix = tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`;
    const [pathname = '', query = ''] = `${target.pathname.replace(/\/$/, '')}${prefix}${path}`.split('?');
    target.pathname = pathname;
    for (const [name, value] of new URLSearchParams(query)) target.searchParams.set(name, value);
    return target.href;
  };
  const get = (path: string): HttpCall => ({
    httpMethod: 'GET',
    url: at(path),
    headers,
    toExchange: httpJsonExchange,
  });
  const post = (path: string, body: JsonObject, more: Readonly<Record<string, string>> = {}): HttpCall => ({
    httpMethod: 'POST',
    url: at(path),
    headers: { 'content-type': 'application/json', ...headers, ...more },
    body: JSON.stringify(tenant === undefined ? body : { tenant, ...body }),
    toExchange: httpJsonExchange,
  });
  switch (operation.kind) {
    case 'send': {
      const { idempotencyKey, traceparent, overStream } = operation;
      const key = { 'idempotency-key': idempotencyKey, ...defined({ traceparent }) };
      if (overStream !== true) return post('/message:send', sendParams10(operation), key);
      return firstEventOf(post('/message:stream', sendParams10(operation), { ...key, accept: eventsOrJson }));
    }
    case 'get': {
      const { currentGeneration } = operation;
      const after = currentGeneration === undefined ? '' : `&currentGeneration=${currentGeneration}`;
      return get(`/tasks/${encodeURIComponent(operation.taskId)}?historyLength=${historyLengthOf(operation)}${after}`);
    }
    case 'cancel':
      return post(`/tasks/${encodeURIComponent(operation.taskId)}:cancel`, {});
    case 'forget_push': {
      const [task, config] = [operation.taskId, operation.configId].map(encodeURIComponent);
      return { ...get(`/tasks/${task}/pushNotificationConfigs/${config}`), httpMethod: 'DELETE' };
    }
    case 'list': {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(listParams(operation))) query.set(name, String(value));
      return get(`/tasks?${query.toString()}`);
    }
    case 'subscribe': {
      const call = get(`/tasks/${encodeURIComponent(operation.taskId)}:subscribe`);
      return { ...call, headers: { ...headers, accept: 'text/event-stream' } };
    }
    case 'extended_card':
      return get('/extendedAgentCard');
  }
}

/** Returns `call` answered by a stream that is left at its first event, or by JSON instead of a stream. */
function firstEventOf(call: HttpCall): HttpCall {
  let first: string | undefined;
  const feed = eventStream((data) => {
    if (data.trim() !== '') first ??= data;
  });
  return {
    ...call,
    enough: (head, piece) => {
      if (mediaTypeOf(head) !== 'text/event-stream') return false;
      feed(piece);
      return first !== undefined;
    },
    toExchange: (reply, nowMs) => {
      if (reply.kind !== 'reply' || mediaTypeOf(reply) !== 'text/event-stream') return httpJsonExchange(reply, nowMs);
      // Ends the last event, which needs no blank line after it.
      feed('\n\n');
      if (first !== undefined) return httpJsonExchange({ ...reply, text: first }, nowMs);
      const error = remoteError('REMOTE_UNREACHABLE', 'the event stream ended without an event');
      return reply.status >= 200 && reply.status < 300 ? { kind: 'no_answer', error } : httpError(reply, nowMs);
    },
  };
}

/**
 * Returns an answer as a JSON-RPC server would have given it: the errors of both bindings are the same (section 5.4).
 */
export function httpJsonExchange(reply: HttpReply, nowMs: EpochMs): Exchange {
  if (reply.kind !== 'reply') return reply;
  const { status } = reply;
  const body = bodyOf(reply);
  if (status >= 200 && status < 300) return body.kind === 'json' ? resultOf(body) : { ...body, kind: 'unusable' };
  const wait = waitIn(reply, nowMs);
  const error = body.kind === 'json' ? errorIn(body.value) : undefined;
  if (error === undefined) return httpError(reply, nowMs);
  return { kind: 'rpc_error', status, ...error, ...wait };
}

type Body =
  | ({ readonly kind: 'json' } & ReplyJson)
  | { readonly kind: 'none'; readonly error: StoredError; readonly isBeyondLimits?: true };

function resultOf({ value, overflow }: ReplyJson): Exchange {
  return { kind: 'result', result: value, ...defined({ overflow }) };
}

function bodyOf(reply: Extract<HttpReply, { kind: 'reply' }>): Body {
  try {
    return { kind: 'json', ...parseReplyJson(reply.text) };
  } catch (thrown) {
    if (thrown instanceof JsonBeyondLimits) {
      const problem = `the answer cannot be read: ${thrown.message}`;
      return { kind: 'none', error: remoteError('PAYLOAD_TOO_LARGE', problem), isBeyondLimits: true };
    }
  }
  return { kind: 'none', error: violationError(notJson(reply)) };
}

const codes: Readonly<Record<string, number>> = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  INVALID_AGENT_RESPONSE: -32006,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32007,
  EXTENSION_SUPPORT_REQUIRED: -32008,
  VERSION_NOT_SUPPORTED: -32009,
  TASK_GENERATION_MISMATCH: -32010,
  // Code of google.rpc.Status, for a server that gives no reason.
  NOT_FOUND: -32001,
};

/** Reads an error of section 11.6, or problem JSON of earlier drafts: by its reason, else by its code. */
function errorIn(body: JsonValue): { readonly code: number; readonly message: string } | undefined {
  if (!isJsonObject(body)) return undefined;
  const error = isJsonObject(body['error']) ? body['error'] : body;
  const words = [...reasonsIn(error['details']), ...reasonsIn(error['data']), typeWord(error['type']), error['status']];
  const word = words.find((candidate) => typeof candidate === 'string' && Object.hasOwn(codes, candidate));
  const code = typeof word === 'string' ? codes[word] : isErrorCode(error) ? error['code'] : undefined;
  if (code === undefined) return undefined;
  const text = error['message'] ?? error['detail'] ?? error['title'];
  return { code, message: typeof text === 'string' ? text : 'no reason was given' };
}

function reasonsIn(details: JsonValue | undefined): readonly (JsonValue | undefined)[] {
  return Array.isArray(details)
    ? (details as readonly JsonValue[]).map((detail) => (isJsonObject(detail) ? detail['reason'] : undefined))
    : [];
}

/** Maps `https://a2a-protocol.org/errors/task-not-found` to `TASK_NOT_FOUND`. */
function typeWord(type: JsonValue | undefined): string | undefined {
  return typeof type === 'string' ? type.split('/').at(-1)?.toUpperCase().replaceAll('-', '_') : undefined;
}

/** Whether the code is of JSON-RPC, or of google.rpc.Status with a status word, which gateways do not send. */
function isErrorCode(error: JsonObject): error is JsonObject & { readonly code: number } {
  const { code, status, message } = error;
  if (typeof code !== 'number' || !Number.isInteger(code)) return false;
  return (code <= -32_000 && code >= -32_768) || (typeof status === 'string' && typeof message === 'string');
}
