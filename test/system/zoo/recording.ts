// Requests to a foreign server and its replies, as files keep them.

import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/base/json.js';
import type { HttpClient, HttpReply, HttpRequest } from '../../../lib/remote/http/http.js';
import type { RemoteRequest } from '../../../lib/remote/transport.js';

export interface RecordedExchange {
  /** `path` includes the query; `body` is kept byte for byte. */
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  /**
   * Headers are only those that matter. `body` is kept byte for byte, as far as it was read. Missing: no answer came in
   * time, or the connection broke.
   */
  readonly reply?: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  /** There may have been more: the client had read enough, and hung up. */
  readonly cut?: true;
  /** Milliseconds from the request to the end of the reply. */
  readonly ms: number;
}

export interface RecordedScene {
  readonly request: RemoteRequest;
  /** The task is cancelled after its first read. */
  readonly cancels?: true;
  /** A start without an answer is looked for by its context. */
  readonly finds?: true;
  /** The answer to the question of the task. */
  readonly answers?: string;
  /** The idempotency key of the start, from which the context is made. */
  readonly key?: string;
  readonly exchanges: readonly RecordedExchange[];
}

export interface Recording {
  readonly server: string;
  readonly version: string;
  /** Date such as `2026-11-30`. */
  readonly recordedOn: string;
  /** Origin at which it listened, which its bodies may contain. */
  readonly origin: string;
  readonly scenes: Readonly<Record<string, RecordedScene>>;
  /** Exchanges of `outwait try` with the server. */
  readonly look: readonly RecordedExchange[];
  /** A start over a stream, read to its end; only of agents that say that they stream. */
  readonly streams?: readonly RecordedExchange[];
  /** The scenes with starts over a stream, as far as the client read it; only of agents that say that they stream. */
  readonly overStream?: Readonly<Record<string, RecordedScene>>;
}

/** Headers of a reply that a client uses. */
const telling = [
  'content-type',
  'mcp-session-id',
  'mcp-protocol-version',
  'a2a-version',
  'etag',
  'cache-control',
  'location',
  'retry-after',
  'www-authenticate',
];

/** Returns a client that sends with `http`, and adds each exchange to `into`. */
export function recordingClient(http: HttpClient, into: RecordedExchange[], nowMs: () => number): HttpClient {
  return {
    async send(request: HttpRequest): Promise<HttpReply> {
      const startMs = nowMs();
      const { enough } = request;
      const told: boolean[] = [];
      const look: HttpRequest['enough'] = (head, piece) => {
        told.push(enough?.(head, piece) === true);
        return told.at(-1) === true;
      };
      const reply = await http.send(enough === undefined ? request : { ...request, enough: look });
      const { pathname, search } = new URL(request.url);
      into.push({
        request: {
          method: request.method ?? 'POST',
          path: pathname + search,
          headers: request.headers,
          body: request.body ?? '',
        },
        ...(reply.kind === 'reply'
          ? { reply: { status: reply.status, headers: kept(reply.headers), body: reply.text } }
          : {}),
        ...(told.at(-1) === true ? { cut: true as const } : {}),
        ms: nowMs() - startMs,
      });
      return reply;
    },
  };
}

/**
 * Returns a client that sends with `http`, and makes every agent card say that its agent does not stream, so that
 * starts are plain.
 */
export function withoutStreams(http: HttpClient): HttpClient {
  return {
    async send(request: HttpRequest): Promise<HttpReply> {
      const reply = await http.send(request);
      if (request.method !== 'GET' || reply.kind !== 'reply') return reply;
      return { ...reply, text: reply.text.replace(/("streaming":\s*)true/, '$1false') };
    },
  };
}

function kept(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => telling.includes(name)));
}

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

const overStream: Readonly<Record<string, string>> = {
  SendStreamingMessage: 'SendMessage',
  'message/stream': 'message/send',
};

/** Returns whether an exchange is a start whose answer is a stream of events. */
export function isOverStream({ path, body }: { readonly path: string; readonly body: string }): boolean {
  const { method } = parsed(body);
  return path.endsWith('/message:stream') || (typeof method === 'string' && Object.hasOwn(overStream, method));
}

/** Returns what a request does, the same for each read of a task: its JSON-RPC method, or its method and path. */
export function operationOf({ method, path, body }: { method: string; path: string; body: string }): string {
  const { method: rpc, params } = parsed(body);
  if (typeof rpc !== 'string')
    return `${method} ${path.replace(uuids, '{id}').replace(/message:stream$/, 'message:send')}`;
  const rpcMethod = overStream[rpc] ?? rpc;
  // A read with history differs from a read without.
  const length = isJsonObject(params) ? params['historyLength'] : undefined;
  return length === undefined || length === 0 ? rpcMethod : `${rpcMethod} historyLength=${JSON.stringify(length)}`;
}

/** Returns the ids that a client makes, which a server returns. */
export function clientIds(body: string): readonly string[] {
  const { id, params, message } = parsed(body);
  const sent = isJsonObject(params) ? params['message'] : message;
  const messageId = isJsonObject(sent) ? sent['messageId'] : undefined;
  return [id, messageId].map((value) => (typeof value === 'string' ? value : ''));
}

/** Returns the body as a JSON object, or an empty object. */
export function parsed(body: string): JsonObject {
  try {
    const value = JSON.parse(body) as JsonValue;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
