import { JsonBeyondLimits, parseBoundedJson } from '../base/bounded-json.js';
import { isEngineError } from '../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.js';
import { eventStream } from './event-stream.js';

/** Body of one request. `id` is a random string: a counter would let the answer to an older request pass for this one's. */
export function rpcRequest(id: string, method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** Body of one notification, which has no id and gets no response. */
export function rpcNotification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** What a text says to the request with a given id. */
export type RpcReply =
  | { readonly kind: 'result'; readonly result: JsonValue }
  | { readonly kind: 'error'; readonly error: RpcError }
  /** Not JSON, not JSON-RPC 2.0, or not for this request. */
  | { readonly kind: 'violation'; readonly problem: string }
  /** More than is parsed: too deep, too many keys. */
  | { readonly kind: 'beyond_limits'; readonly problem: string };

/** Reads one response (JSON-RPC 2.0 section 5). Depth and number of keys are bounded before it is parsed. */
export function readRpcReply(text: string, id: string): RpcReply {
  let value: JsonValue;
  try {
    value = parseBoundedJson(text);
  } catch (thrown) {
    if (thrown instanceof JsonBeyondLimits) return { kind: 'beyond_limits', problem: thrown.message };
    return violation(isEngineError(thrown) ? thrown.message : 'not valid JSON');
  }
  return matchReply(value, id);
}

// A server that could not read the id answers with null or leaves it out.
const unreadRequestCodes: readonly number[] = [-32700, -32600];

function matchReply(value: JsonValue, id: string): RpcReply {
  if (!isJsonObject(value)) return violation('not a JSON object');
  if (value['jsonrpc'] !== '2.0') return violation('"jsonrpc" is not "2.0"');
  if (value['method'] !== undefined) return violation('a request came in place of a response');
  const hasResult = value['result'] !== undefined;
  const hasError = value['error'] !== undefined;
  if (hasResult === hasError)
    return violation(hasResult ? 'both "result" and "error"' : 'neither "result" nor "error"');
  if (hasResult) {
    return value['id'] === id
      ? { kind: 'result', result: value['result'] ?? null }
      : violation('"id" is not that of the request');
  }
  const error = rpcError(value['error']);
  if (error === undefined) return violation('"error" has no integer code and text message');
  const unread = (value['id'] ?? null) === null && unreadRequestCodes.includes(error.code);
  return value['id'] === id || unread ? { kind: 'error', error } : violation('"id" is not that of the request');
}

function rpcError(value: JsonValue | undefined): RpcError | undefined {
  if (!isJsonObject(value)) return undefined;
  const { code, message, data } = value;
  if (typeof code !== 'number' || !Number.isInteger(code) || typeof message !== 'string') return undefined;
  return { code, message, ...(data === undefined ? {} : { data }) };
}

/**
 * The error in a reply that names no request, as servers send it that reject a request before they read its id. Only for
 * a reply under an HTTP error status, which says for which request it is.
 */
export function readUnaddressedError(text: string): RpcError | undefined {
  let value: JsonValue;
  try {
    value = parseBoundedJson(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || value['jsonrpc'] !== '2.0') return undefined;
  const { id = null, result, error } = value;
  return id === null && result === undefined ? rpcError(error) : undefined;
}

/**
 * Finds the response in an event stream that is fed piece by piece. Skips notifications, responses to other requests and
 * events without data; what the found text is worth is for `readRpcReply`.
 */
export class EventStreamSearch {
  readonly #id: string;
  readonly #feed;
  #found: string | undefined;

  constructor(id: string) {
    this.#id = id;
    this.#feed = eventStream((data) => {
      if (this.#found === undefined && isResponseTo(data, this.#id)) this.#found = data;
    });
  }

  /** True once the response has been seen; what follows it is of no interest. */
  push(piece: string): boolean {
    this.#feed(piece);
    return this.#found !== undefined;
  }

  /** The response, at the end of the stream; a last event needs no blank line after it. */
  finish(): string | undefined {
    this.push('\n\n');
    return this.#found;
  }
}

function isResponseTo(data: string, id: string): boolean {
  let value: JsonValue;
  try {
    value = parseBoundedJson(data);
  } catch {
    // No data or clear text is a keep-alive of some kind. An object that cannot be read may be the response, so the search ends.
    return data.trimStart().startsWith('{');
  }
  if (!isJsonObject(value) || value['method'] !== undefined) return false;
  return value['id'] === id || matchReply(value, id).kind === 'error';
}

function violation(problem: string): RpcReply {
  return { kind: 'violation', problem };
}
