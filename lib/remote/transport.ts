import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type { RemoteRequest } from '../workflow/remote-request.js';
import type { RemoteProtocol } from '../history/remote-protocol.js';

export type { RemoteAnswer, RemoteQuestion, RemoteRequest };

export interface StartRequest {
  readonly request: RemoteRequest;
  /** The same on every attempt of one call. */
  readonly idempotencyKey: string;
  /** Somebody will answer the server's questions: it is told so. Default false. */
  readonly answersQuestions?: boolean;
  /** The answer may take until then. Default: 30 s from now. */
  readonly untilMs?: EpochMs;
  /** The start is repeated with the answers to what the server `asked`, and its opaque state exactly as it came. */
  readonly continuation?: { readonly state?: string; readonly answers: Readonly<Record<string, RemoteAnswer>> };
}

export type { RemoteEnd };

export type StartReply =
  /** A task runs. `pollAfterMs`: the server's hint; 0 when the task had already ended and only its result is missing. */
  | {
      readonly kind: 'started';
      readonly handle: RemoteTaskHandle;
      readonly pollAfterMs?: number;
      /** The task is there and waits for answers already. */
      readonly questions?: readonly RemoteQuestion[];
    }
  /** Nothing runs: the server wants answers first, and then the start again, with `state` as it came. */
  | { readonly kind: 'asked'; readonly questions: readonly RemoteQuestion[]; readonly state?: string }
  /** Answered at once, or the task had ended already. */
  | { readonly kind: 'ended'; readonly end: RemoteEnd; readonly handle?: RemoteTaskHandle }
  /** The server said no for good; nothing runs (4xx, a JSON-RPC error). */
  | { readonly kind: 'refused'; readonly error: StoredError }
  /** Surely not processed (DNS, connect, TLS, 408, 425, 429, 503): may be repeated towards any server. */
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number }
  /** Sent, and no usable answer came: a task may be running. Repeated only where the server dedupes. */
  | { readonly kind: 'unknown'; readonly error: StoredError };

export type PollReply =
  /** `state` in the words of the protocol, for display; `note`: what the server says of its progress; all open `questions`. */
  | {
      readonly kind: 'working';
      readonly state: string;
      readonly pollAfterMs?: number;
      readonly note?: string;
      readonly questions?: readonly RemoteQuestion[];
      /** MCP: for how long from its creation the server now keeps the task; null: for ever. Missing: as the handle says. */
      readonly ttlMs?: number | null;
    }
  | { readonly kind: 'ended'; readonly end: RemoteEnd }
  /** A reply for this request that says that the server knows no such task: not yet, no longer, or not for us. */
  | { readonly kind: 'missing'; readonly error: StoredError }
  /**
   * Nothing learned: the token stays as it is. Also every reply that is not for this request and this task. With
   * `PAYLOAD_TOO_LARGE` the reply is beyond what can be read (bytes, depth, keys), and would be again.
   */
  | { readonly kind: 'unreadable'; readonly error: StoredError; readonly retryAfterMs?: number };

export type CancelReply =
  /** Asked, or it has ended: nothing more to do. */
  | { readonly kind: 'done' }
  /** A reply for this request that says that the server knows no such task: not yet, or no longer. */
  | { readonly kind: 'gone'; readonly error: StoredError }
  /** The server will not, now or later: the task has ended, or cannot be cancelled. */
  | { readonly kind: 'refused'; readonly error: StoredError }
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number };

export type AnswerReply =
  /** Delivered, or the question is no longer open. */
  | { readonly kind: 'done' }
  /** The server will not take it, now or later. */
  | { readonly kind: 'refused'; readonly error: StoredError }
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number };

/** What a server says of the task that a start of unknown fate may have made. */
export type FindReply =
  | { readonly kind: 'found'; readonly handle: RemoteTaskHandle }
  /** It has none, or none that is surely of this start: what it has is in `note`. */
  | { readonly kind: 'none'; readonly note?: string }
  /** It tells nobody what it has: to ask again brings nothing. */
  | { readonly kind: 'unsupported'; readonly error: StoredError }
  | { readonly kind: 'unknown'; readonly error: StoredError };

/** What happens to a task while somebody watches: for the eyes of the reader, never a settlement. */
export type WatchEvent =
  | { readonly kind: 'status'; readonly state: string; readonly note?: string }
  | { readonly kind: 'artifact'; readonly artifact: JsonValue; readonly append: boolean; readonly lastChunk: boolean };

export interface AdoptedTask {
  readonly taskId: string;
  readonly contextId?: string;
  /** As of a start. Default false. */
  readonly answersQuestions?: boolean;
}

export interface ServerTraits {
  /** The server answers a repeated start that carries the same key with the task that it already has. */
  readonly dedupes: boolean;
  /** `find` can tell; `perhaps`: that shows when it is asked. */
  readonly finds: boolean | 'perhaps';
  /** What would help a start of unknown fate. */
  readonly helps?: string;
}

/** The server is left alone for now: it fails, has asked for that, or has as many requests as it may have. */
export interface Held {
  readonly kind: 'held';
  readonly untilMs: EpochMs;
  readonly error: StoredError;
}

/** `handOver`: of a start that a worker will make as a `longStart`, which is under way until `untilMs` at most. */
export type AdmissionPurpose = 'start' | 'read' | 'handOver' | 'longStart';

export type Admission = { readonly kind: 'admitted'; leave(): Promise<void> } | Held;

/** One remote server. Expected failures are answers, never exceptions. */
export interface RemoteTaskTransport {
  readonly protocol: RemoteProtocol;
  /** The server answers a repeated start that carries the same key with the task that it already has. */
  readonly dedupes: boolean;
  /** The same, with what the server says of itself; asked once in a while. Without it, `dedupes` is all there is. */
  traits?(): Promise<ServerTraits>;
  /** Why this request cannot go to this server (a skill for an MCP server), if so. */
  problemWith(request: RemoteRequest): string | undefined | Promise<string | undefined>;
  /**
   * Whether the server answers this start before the work is done: true, and a turn can wait for the answer; false or
   * undefined (it is not known), and a worker makes the call, as far as nothing else is remembered. Without it, true.
   */
  answersAtOnce?(request: RemoteRequest): Promise<boolean | undefined>;
  /** May the server be called now? To be asked before a start or a read; whoever is admitted leaves. Without it, always. */
  admit?(purpose: AdmissionPurpose, untilMs?: EpochMs): Promise<Admission>;
  /** One attempt, at most 30 s, or until the instant that it names. Wants no task to end, though a server may answer only then. */
  start(request: StartRequest): Promise<StartReply>;
  /** One read. */
  get(handle: RemoteTaskHandle): Promise<PollReply>;
  /** One best-effort request to stop the task. */
  cancel(handle: RemoteTaskHandle): Promise<CancelReply>;
  /** Answers one question of a running task. `idempotencyKey`: the same on every attempt to deliver this answer. */
  answer?(
    handle: RemoteTaskHandle,
    question: RemoteQuestion,
    answer: RemoteAnswer,
    idempotencyKey: string,
  ): Promise<AnswerReply>;
  /** Looks for the task of a start that was sent and not answered. */
  find?(request: StartRequest): Promise<FindReply>;
  /** Takes over a task that somebody else has started: one read of it. */
  adopt?(task: AdoptedTask): Promise<StartReply>;
  /** Follows a task until it ends, the stream breaks or `signal` aborts. Never starts anything. */
  watch?(handle: RemoteTaskHandle, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
}

export interface RemoteTransports {
  /** Throws EngineError `SERVER_NOT_FOUND` for a name that the app does not configure. */
  get(server: string): RemoteTaskTransport;
}
