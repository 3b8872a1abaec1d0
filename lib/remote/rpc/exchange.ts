import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import { cutUtf8, type JsonValue } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { HttpHead, HttpReply } from '../http/http.js';
import type { NumberOverflow } from '../../base/bounded-json.js';
import { EventStreamSearch, readRpcReply, type RpcReply } from './json-rpc.js';
import { remoteError, violationError } from './remote-error.js';
import { waitIn } from '../http/retry-after.js';

const mediaTypeShownBytes = 100;

/** Outcome of one JSON-RPC request over HTTP, before a protocol looks at it. */
export type Exchange =
  /** A well-formed response to this request under a 2xx status. */
  | {
      readonly kind: 'result';
      readonly result: JsonValue;
      /** A number in or beside the result that JavaScript cannot represent. */
      readonly overflow?: NumberOverflow;
    }
  /** A well-formed error for this request, under any status. */
  | {
      readonly kind: 'rpc_error';
      readonly status: number;
      readonly code: number;
      readonly message: string;
      readonly data?: JsonValue;
      readonly retryAfterMs?: number;
      /** Set if the error names no request: the server sent it before it had read the request's id. */
      readonly unaddressed?: true;
    }
  /** A status other than 2xx without a well-formed JSON-RPC error. */
  | {
      readonly kind: 'http_error';
      readonly status: number;
      readonly retryAfterMs?: number;
      /** Target of a redirect. */
      readonly location?: string;
    }
  /** A 2xx reply, or a result under another status, that is not a response to this request. */
  | {
      readonly kind: 'unusable';
      readonly error: StoredError;
      /** Set if it is nevertheless the response to this request, and exceeds the limits. */
      readonly isBeyondLimits?: true;
    }
  | { readonly kind: 'not_sent'; readonly error: StoredError; readonly retryAfterMs?: number }
  | { readonly kind: 'no_answer'; readonly error: StoredError };

/**
 * Reads the reply to the request `id`: the body first, then the status. `search` has already seen an event stream as it
 * arrived.
 */
export function exchangeOf(
  reply: HttpReply,
  id: string,
  nowMs: EpochMs,
  search: EventStreamSearch = new EventStreamSearch(id),
): Exchange {
  if (reply.kind !== 'reply') return reply;
  const { status } = reply;
  const succeeded = status >= 200 && status < 300;
  const wait = waitIn(reply, nowMs);
  const answer = rpcReplyIn(reply, reply.text, id, search);
  switch (answer.kind) {
    case 'result':
      return succeeded ? answer : unusable(`a result under the HTTP status ${status}`);
    case 'error':
      return { kind: 'rpc_error', status, ...answer.error, ...wait };
    case 'beyond_limits':
      if (!succeeded) return httpError(reply, nowMs);
      return {
        kind: 'unusable',
        error: remoteError('PAYLOAD_TOO_LARGE', `the answer cannot be read: ${answer.problem}`),
        ...defined({ isBeyondLimits: answer.holdsId ? true : undefined }),
      };
    case 'violation': {
      if (succeeded) return unusable(answer.problem);
      const error = answer.unaddressed;
      return error === undefined
        ? httpError(reply, nowMs)
        : { kind: 'rpc_error', status, ...error, ...wait, unaddressed: true };
    }
    case 'none':
      return succeeded
        ? { kind: 'no_answer', error: remoteError('REMOTE_UNREACHABLE', 'the event stream ended without an answer') }
        : httpError(reply, nowMs);
  }
}

/** Returns the exchange for an answer of which only the status counts. */
export function httpError(head: HttpHead, nowMs: EpochMs): Extract<Exchange, { kind: 'http_error' }> {
  const location = head.headers['location'];
  return {
    kind: 'http_error',
    status: head.status,
    ...waitIn(head, nowMs),
    ...defined({ location }),
  };
}

/** Reads the reply to a notification, whose body does not matter (202). */
export function notificationExchange(reply: HttpReply, nowMs: EpochMs): Exchange {
  if (reply.kind !== 'reply') return reply;
  const { status } = reply;
  if (status >= 200 && status < 300) return { kind: 'result', result: null };
  return httpError(reply, nowMs);
}

/**
 * Accepts a body that is the response to the request whatever its media type: some servers label JSON as plain text.
 */
function rpcReplyIn(
  head: HttpHead,
  text: string,
  id: string,
  search: EventStreamSearch,
): RpcReply | { readonly kind: 'none' } {
  const isStream = mediaTypeOf(head) === 'text/event-stream';
  if (isStream || looksLikeEvents.test(text)) {
    if (!search.isFed) search.push(text);
    const found = search.finish();
    if (found !== undefined) return found;
  }
  if (text === '' && !isStream) return { kind: 'violation', problem: 'the body is empty' };
  const read = readRpcReply(text, id);
  if (isStream) return isReply(read) ? read : { kind: 'none' };
  return isReply(read) || isJsonReply(head) ? read : { kind: 'violation', problem: notJson(head) };
}

function isReply(read: RpcReply): boolean {
  return read.kind === 'result' || read.kind === 'error' || (read.kind === 'beyond_limits' && read.holdsId);
}

const looksLikeEvents = /^\ufeff?(?:data|event|id|retry)?:/;

/** Says why a body is not JSON, with the media type that came instead. */
export function notJson(head: HttpHead): string {
  const type = mediaTypeOf(head);
  return isJsonReply(head) ? 'the body is not JSON' : `the body is not JSON, but ${cutUtf8(type, mediaTypeShownBytes)}`;
}

/**
 * Returns an `HttpRequest.enough` that is true once the response is in the event stream, so that a stream kept open is
 * left.
 */
export function untilResponse(search: EventStreamSearch): (head: HttpHead, piece: string) => boolean {
  return (head, piece) => mediaTypeOf(head) === 'text/event-stream' && search.push(piece);
}

/** Whether the body is labelled as JSON, or not labelled at all. */
export function isJsonReply(head: HttpHead): boolean {
  return /^$|^application\/([a-z0-9.-]+\+)?json$/.test(mediaTypeOf(head));
}

export function mediaTypeOf({ headers }: HttpHead): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function unusable(problem: string): Exchange {
  return { kind: 'unusable', error: violationError(problem) };
}
