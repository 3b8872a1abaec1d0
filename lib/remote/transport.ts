import type { StoredError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { EpochMs } from '../base/time.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { RemoteAnswer, RemoteQuestion } from '../history/remote-question.js';
import type { RemoteRequest } from '../workflow/remote-request.js';
import type { RemoteProtocol } from '../history/remote-protocol.js';

export type { RemoteAnswer, RemoteQuestion, RemoteRequest };

/** Where and how a server may push news of a task. */
export interface PushRegistration {
  /** Id of the registration, the same on every attempt of one call. */
  readonly id: string;
  readonly url: string;
  /** Sent back with each push. Missing: the server proves itself in another way. */
  readonly secret?: string;
}

export interface StartRequest {
  readonly request: RemoteRequest;
  /** Idempotency key, the same on every attempt of one call. */
  readonly idempotencyKey: string;
  /** W3C trace context, sent along as a header, and over MCP in `_meta` too. */
  readonly traceparent?: string;
  /** Marks of the tasks that have led to this call, for agents that limit chains of calls. */
  readonly calls?: readonly string[];
  /** Whether the server is told that its questions will be answered. Default false. */
  readonly answersQuestions?: boolean;
  /** Deadline for the answer. Default: 30 s from now. */
  readonly untilMs?: EpochMs;
  /**
   * Repeats the start with the answers to what the server `asked`; `state` is its opaque state, exactly as received.
   */
  readonly continuation?: { readonly state?: string; readonly answers: Readonly<Record<string, RemoteAnswer>> };
  /** Registered with the start if the server pushes; the handle then names it. */
  readonly push?: PushRegistration;
}

export type { RemoteEnd };

export type StartReply =
  /** A task runs. `pollAfterMs`: the server's hint; 0 if the task has already ended and only its result is missing. */
  | {
      readonly kind: 'started';
      readonly handle: RemoteTaskHandle;
      readonly pollAfterMs?: number;
      /** First state of the task, as in a `PollReply`. */
      readonly state?: string;
      readonly note?: string;
      readonly progress?: number;
      readonly total?: number;
      /** Questions for which the task is already waiting. */
      readonly questions?: readonly RemoteQuestion[];
    }
  /** Nothing runs: the server wants answers first, then the start again with `state` unchanged. */
  | { readonly kind: 'asked'; readonly questions: readonly RemoteQuestion[]; readonly state?: string }
  /** Answered at once, or the task had already ended. */
  | { readonly kind: 'ended'; readonly end: RemoteEnd; readonly handle?: RemoteTaskHandle }
  /** Refused for good by the server; nothing runs (4xx, a JSON-RPC error). */
  | { readonly kind: 'refused'; readonly error: StoredError }
  /** Certainly not processed (DNS, connect, TLS, 408, 425, 429, 503): may be repeated with any server. */
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number }
  /** Sent, but no usable answer came: a task may be running. Repeated only if the server deduplicates. */
  | { readonly kind: 'unknown'; readonly error: StoredError };

export type PollReply =
  /**
   * Still running. `state`: in the protocol's words, for display; `note`: the server's message on its progress;
   * `progress`: a number, of `total` if that is known; `questions`: all that are open.
   */
  | {
      readonly kind: 'working';
      readonly state: string;
      readonly pollAfterMs?: number;
      readonly note?: string;
      readonly progress?: number;
      readonly total?: number;
      readonly questions?: readonly RemoteQuestion[];
      /**
       * MCP: how long the server now keeps the task, counted from its creation; null: for ever. Missing: as in the
       * handle.
       */
      readonly ttlMs?: number | null;
      /** A2A: number of the last change of the task, from 1, if the agent counts them. */
      readonly generation?: number;
    }
  | { readonly kind: 'ended'; readonly end: RemoteEnd }
  /** The server replied to this request that it knows no such task: not yet, no longer, or not for us. */
  | { readonly kind: 'missing'; readonly error: StoredError }
  /**
   * Nothing learned, so the token stays as it is; also for every reply that is not for this request and this task. With
   * `PAYLOAD_TOO_LARGE` the reply exceeds what can be read (bytes, depth, keys) and would do so again.
   */
  | { readonly kind: 'unreadable'; readonly error: StoredError; readonly retryAfterMs?: number };

export type CancelReply =
  /** Cancel requested, or the task has ended: nothing more to do. */
  | { readonly kind: 'done' }
  /** The server replied to this request that it knows no such task: not yet, or no longer. */
  | { readonly kind: 'gone'; readonly error: StoredError }
  /** Refused for good by the server: the task has ended, or cannot be cancelled. */
  | { readonly kind: 'refused'; readonly error: StoredError }
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number };

export type AnswerReply =
  /** Delivered, or the question is no longer open. */
  | { readonly kind: 'done' }
  /** Refused for good by the server. */
  | { readonly kind: 'refused'; readonly error: StoredError }
  | { readonly kind: 'retry'; readonly error: StoredError; readonly retryAfterMs?: number };

/** Report of a server on the task that a start of unknown outcome may have created. */
export type FindReply =
  | { readonly kind: 'found'; readonly handle: RemoteTaskHandle }
  /** No task, or none that certainly belongs to this start; `note` says what the server has. */
  | { readonly kind: 'none'; readonly note?: string }
  /** The server does not list its tasks: asking again is pointless. */
  | { readonly kind: 'unsupported'; readonly error: StoredError }
  | { readonly kind: 'unknown'; readonly error: StoredError };

/** Progress of a task while it is watched: for display only, never a settlement. */
export type WatchEvent =
  | { readonly kind: 'status'; readonly state: string; readonly note?: string }
  | { readonly kind: 'artifact'; readonly artifact: JsonValue; readonly append: boolean; readonly lastChunk: boolean };

export interface AdoptedTask {
  readonly taskId: string;
  readonly contextId?: string;
  /** Same as for a start. Default false. */
  readonly answersQuestions?: boolean;
}

export interface ServerTraits {
  /** Whether the server answers a repeated start that carries the same key with the task it already has. */
  readonly dedupes: boolean;
  /** Whether `find` works; `perhaps`: known only once it is tried. */
  readonly finds: boolean | 'perhaps';
  /** Advice that would help with starts of unknown outcome. */
  readonly helps?: string;
}

/** Server that is left alone for now: it fails, has asked for a pause, or has as many requests as it may have. */
export interface Held {
  readonly kind: 'held';
  readonly untilMs: EpochMs;
  readonly error: StoredError;
  /** Set if it fails or has asked for a pause: requests that do not press can come later. */
  readonly isResting?: true;
}

/**
 * Reason for the call. `handOver`: a worker will make the start as a `longStart`, which runs until `untilMs` at most.
 */
export type AdmissionPurpose = 'start' | 'read' | 'handOver' | 'longStart';

export interface AdmissionTerms {
  /** Latest end of a long start. */
  readonly untilMs?: EpochMs;
  /** Whether the call was held back before, and comes when it was told to. Default false: those come first. */
  readonly hasWaited?: boolean;
  /** Whether the call is dropped if it is held back. Default false: it comes again when it is told to. */
  readonly isExtra?: boolean;
}

export type Admission = { readonly kind: 'admitted'; leave(): Promise<void> } | Held;

/** A remote server. Expected failures are return values, never exceptions. */
export interface RemoteTaskTransport {
  readonly protocol: RemoteProtocol;
  /** Whether the server answers a repeated start that carries the same key with the task it already has. */
  readonly dedupes: boolean;
  /**
   * Traits including what the server says about itself; cached for a while. If not implemented, only `dedupes` counts.
   */
  traits?(): Promise<ServerTraits>;
  /**
   * Returns why this request cannot go to this server (for example a skill for an MCP server), or undefined if it can.
   */
  problemWith(request: RemoteRequest): string | undefined | Promise<string | undefined>;
  /**
   * Whether the server answers this start before the work is done. True: a turn can wait for the answer. False or
   * undefined (unknown): a worker makes the call, unless something else is on record. If not implemented: unknown.
   */
  answersAtOnce?(request: RemoteRequest): Promise<boolean | undefined>;
  /**
   * Asks whether the server may be called now, before a start or a read; each admission must be left. If not
   * implemented: always.
   */
  admit?(purpose: AdmissionPurpose, terms?: AdmissionTerms): Promise<Admission>;
  /**
   * Returns when a read that is wanted at `atMs` will be admitted, and keeps its place: later than `atMs` if more reads
   * wait than the rate of the server allows. If not implemented: at `atMs`.
   */
  whenRead?(atMs: EpochMs): Promise<EpochMs>;
  /**
   * Makes one attempt, for at most 30 s or until its own deadline. Does not wait for a task to end, though a server may
   * answer only then.
   */
  start(request: StartRequest): Promise<StartReply>;
  /** Reads the task once. */
  get(handle: RemoteTaskHandle): Promise<PollReply>;
  /** Asks the server once, best effort, to stop the task. */
  cancel(handle: RemoteTaskHandle): Promise<CancelReply>;
  /** Answers one question of a running task. `idempotencyKey` is the same on every attempt to deliver this answer. */
  answer?(
    handle: RemoteTaskHandle,
    question: RemoteQuestion,
    answer: RemoteAnswer,
    idempotencyKey: string,
  ): Promise<AnswerReply>;
  /** Looks for the task of a start that was sent and not answered. */
  find?(request: StartRequest): Promise<FindReply>;
  /** Takes over a task that was started elsewhere: reads it once. */
  adopt?(task: AdoptedTask): Promise<StartReply>;
  /** Asks the server once, best effort, to delete the push registration of a task, if the handle names one. */
  forgetPush?(handle: RemoteTaskHandle): Promise<void>;
  /** Follows a task until it ends, the stream breaks or `signal` aborts. Never starts anything. */
  watch?(handle: RemoteTaskHandle, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>;
}

export interface RemoteTransports {
  /** @throws EngineError `SERVER_NOT_FOUND` if the app configures no server of that name */
  get(server: string): RemoteTaskTransport;
}
