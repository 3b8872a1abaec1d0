import type { StoredError } from '../base/errors.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { RemoteRequest } from '../workflow/remote-request.js';

export type { RemoteRequest };

export interface StartRequest {
  readonly request: RemoteRequest;
  /** The same on every attempt of one call. */
  readonly idempotencyKey: string;
}

export type { RemoteEnd };

export type StartReply =
  /** A task runs. `pollAfterMs`: the server's hint; 0 when the task had already ended and only its result is missing. */
  | { readonly kind: 'started'; readonly handle: RemoteTaskHandle; readonly pollAfterMs?: number }
  /** Answered at once, or the task had ended already. */
  | { readonly kind: 'ended'; readonly end: RemoteEnd; readonly handle?: RemoteTaskHandle }
  /** The server said no for good; nothing runs (4xx, a JSON-RPC error). */
  | { readonly kind: 'refused'; readonly error: StoredError }
  /** Surely not processed (DNS, connect, TLS, 429, 503), or answered 5xx: may be repeated towards any server. */
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number }
  /** Sent, and no usable answer came: a task may be running. Repeated only where the server dedupes. */
  | { readonly kind: 'unknown'; readonly error: StoredError };

export type PollReply =
  /** `state` in the words of the protocol, for display. */
  | { readonly kind: 'working'; readonly state: string; readonly pollAfterMs?: number }
  | { readonly kind: 'ended'; readonly end: RemoteEnd }
  /** Nothing learned: the token stays as it is. Also every reply that is not for this request and this task. */
  | { readonly kind: 'unreadable'; readonly error: StoredError; readonly retryAfterMs?: number };

export type CancelReply =
  /** Asked, or it had ended, or it is gone: nothing more to do. */
  { readonly kind: 'done' } | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number };

/** One remote server. Expected failures are answers, never exceptions. */
export interface RemoteTaskTransport {
  readonly protocol: 'mcp' | 'a2a';
  /** The server answers a repeated start that carries the same key with the task that it already has. */
  readonly dedupes: boolean;
  /** Why this request cannot go to this server (a skill for an MCP server), if so. */
  problemWith(request: RemoteRequest): string | undefined;
  /** One attempt, at most 30 s. Never waits for the task to end. */
  start(request: StartRequest): Promise<StartReply>;
  /** One read. */
  get(handle: RemoteTaskHandle): Promise<PollReply>;
  /** One best-effort request to stop the task. */
  cancel(handle: RemoteTaskHandle): Promise<CancelReply>;
}

export interface RemoteTransports {
  /** Throws EngineError `SERVER_NOT_FOUND` for a name that the app does not configure. */
  get(server: string): RemoteTaskTransport;
}
