import { defined } from '../../base/defined.js';
import { JsonBeyondLimits, parseReplyJson, type NumberOverflow, type ReplyJson } from '../../base/bounded-json.js';
import { isEngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { eventStream } from '../http/event-stream.js';

/**
 * Returns the body of a request. `id` is random: with a counter, the answer to an older request could pass for this
 * one's.
 */
export function rpcRequest(id: string, method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** Returns the body of a notification, which has no id and gets no response. */
export function rpcNotification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** Meaning of a text as the answer to the request with a given id. */
export type RpcReply =
  | { readonly kind: 'result'; readonly result: JsonValue; readonly overflow?: NumberOverflow }
  | { readonly kind: 'error'; readonly error: RpcError }
  /**
   * Not JSON, not JSON-RPC 2.0, or not for this request. `unaddressed`: an error that names no request, as sent by
   * servers that reject a request before reading its id. It counts only under an HTTP error status, which ties it to
   * this request.
   */
  | { readonly kind: 'violation'; readonly problem: string; readonly unaddressed?: RpcError }
  /** More than is parsed: too deep or too many parts. `holdsId`: whether it contains the id of the request. */
  | { readonly kind: 'beyond_limits'; readonly problem: string; readonly holdsId: boolean };

/** Reads one response (JSON-RPC 2.0 section 5). Depth and parts are bounded before it is parsed. */
export function readRpcReply(text: string, id: string): RpcReply {
  const read = readJson(text, JSON.stringify(id), parseReplyJson);
  return read.kind === 'json' ? matchReply(read, id) : read;
}

function readJson(
  text: string,
  quotedId: string,
  parse: typeof parseReplyJson,
): ({ readonly kind: 'json' } & ReplyJson) | RpcReply {
  try {
    const { value, overflow } = parse(text);
    return overflow === undefined ? { kind: 'json', value } : { kind: 'json', value, overflow };
  } catch (thrown) {
    if (thrown instanceof JsonBeyondLimits)
      return { kind: 'beyond_limits', problem: thrown.message, holdsId: text.includes(quotedId) };
    return violation(isEngineError(thrown) ? thrown.message : 'not valid JSON');
  }
}

// Codes of errors for a request whose id could not be read: "id" is then null or missing.
const unreadRequestCodes: readonly number[] = [-32700, -32600];

function matchReply({ value, overflow }: ReplyJson, id: string): RpcReply {
  if (!isJsonObject(value)) return violation('not a JSON object');
  if (value['jsonrpc'] !== '2.0') return violation('"jsonrpc" is not "2.0"');
  if (value['method'] !== undefined) return violation('a request came instead of a response');
  const hasResult = value['result'] !== undefined;
  const hasError = value['error'] !== undefined;
  if (hasResult === hasError)
    return violation(hasResult ? 'both "result" and "error"' : 'neither "result" nor "error"');
  if (hasResult) {
    return value['id'] === id
      ? { kind: 'result', result: value['result'] ?? null, ...defined({ overflow }) }
      : violation('"id" is not the id of the request');
  }
  const error = rpcError(value['error']);
  if (error === undefined) return violation('"error" has no integer code and text message');
  const unread = (value['id'] ?? null) === null && unreadRequestCodes.includes(error.code);
  if (value['id'] === id || unread) return { kind: 'error', error };
  return {
    ...violation('"id" is not the id of the request'),
    ...defined({ unaddressed: (value['id'] ?? null) === null ? error : undefined }),
  };
}

function rpcError(value: JsonValue | undefined): RpcError | undefined {
  if (!isJsonObject(value)) return undefined;
  const { code, message, data } = value;
  if (typeof code !== 'number' || !Number.isInteger(code) || typeof message !== 'string') return undefined;
  return { code, message, ...defined({ data }) };
}

/**
 * Finds the response in an event stream that is fed piece by piece. Skips notifications, responses to other requests,
 * and everything that is not an object or does not contain the id of the request; what does is parsed once. An event
 * that cannot be read may be the response, so it ends the search. `parse` parses one event.
 */
export class EventStreamSearch {
  readonly #id: string;
  /** The id as quoted in JSON: looked for in each event. */
  readonly #quotedId: string;
  readonly #parse: typeof parseReplyJson;
  readonly #feed;
  #found: RpcReply | undefined;
  /** First event that may be an error from a server that could not read the id: parsed only if no response comes. */
  #nameless: string | undefined;
  #isFed = false;

  constructor(id: string, parse = parseReplyJson) {
    this.#id = id;
    this.#quotedId = JSON.stringify(id);
    this.#parse = parse;
    this.#feed = eventStream((data) => {
      if (this.#found === undefined) this.#take(data);
    });
  }

  /** Whether anything was pushed. */
  get isFed(): boolean {
    return this.#isFed;
  }

  /** Returns true once the response has been seen; what follows it does not matter. */
  push(piece: string): boolean {
    this.#isFed = true;
    if (this.#found === undefined) this.#feed(piece);
    return this.#found !== undefined;
  }

  /** Returns the response at the end of the stream; the last event needs no blank line after it. */
  finish(): RpcReply | undefined {
    this.push('\n\n');
    if (this.#found !== undefined || this.#nameless === undefined) return this.#found;
    const read = readJson(this.#nameless, this.#quotedId, this.#parse);
    const reply = read.kind === 'json' ? matchReply(read, this.#id) : read;
    return reply.kind === 'error' ? reply : undefined;
  }

  #take(data: string): void {
    // Skips events shorter than the id: most of a stream that is meant to keep us busy.
    if (data.length < this.#quotedId.length || !beginsLikeObject.test(data)) return;
    if (!data.includes(this.#quotedId)) {
      if (this.#nameless === undefined && data.includes('"error"')) this.#nameless = data;
      return;
    }
    const read = readJson(data, this.#quotedId, this.#parse);
    if (read.kind !== 'json') this.#found = read;
    else if (isJsonObject(read.value) && read.value['method'] === undefined && read.value['id'] === this.#id)
      this.#found = matchReply(read, this.#id);
  }
}

const beginsLikeObject = /^\s*\{/;

function violation(problem: string): RpcReply {
  return { kind: 'violation', problem };
}
