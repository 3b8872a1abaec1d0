import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { Exchange } from '../rpc/exchange.js';
import type { Reply } from '../endpoint/redact.js';
import type { AnswerReply, CancelReply, PollReply, RemoteAnswer, StartReply, StartRequest } from '../transport.js';
import { unknown } from '../rpc/remote-error.js';
import { pollReplyOf, startReplyOf, type FailedExchange } from '../rpc/failed-exchange.js';
import { isTransient } from '../rpc/transient.js';

/** How a `tools/call` for a job was made: the version of MCP, and the session where there is one. */
export interface CalledOver {
  readonly version: string;
  readonly session?: string;
}

/** A start of one tool. */
export type ToolStart = Omit<StartRequest, 'request' | 'untilMs'> & {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** The answer may take all of the time. */
  readonly isPatient?: boolean;
  /** The tool starts a job, which is never a task. */
  readonly job?: JobStart;
};

export interface JobStart {
  /** What the result of the tool means. */
  readonly read: (result: JsonObject, over: CalledOver) => StartReply;
  /** The tools without which the job cannot be followed. */
  readonly tools: readonly string[];
  /** What a start comes to on a server that has all its tools but some of these. */
  readonly refuse: (missing: readonly string[], has: readonly string[]) => StartReply;
}

/** Calls a tool plainly. What came before the call, and kept it from being made, is `not_sent`. */
export type CallTool = (tool: string, args: JsonObject) => Promise<Exchange>;

/** The server does not speak the revision of the call, and did not process it. */
export interface OtherRevision {
  readonly kind: 'other_revision';
  readonly error: StoredError;
}

/** What a call needs beforehand could not be had, so the call was not made. */
export interface Unready {
  readonly kind: 'unready';
  /** Asking again is of no use. */
  readonly permanent: boolean;
  readonly error: StoredError;
  readonly retryAfterMs?: number;
}

/** One revision of MCP as far as tasks go. */
export interface McpDialect {
  /** Whether a call of the tool is answered before its work is done; undefined when the server does not say. */
  answersAtOnce(tool: string, untilMs: EpochMs): Promise<boolean | undefined>;
  /** One attempt, over at `untilMs`. */
  start(call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision>;
  /** One read, over at `untilMs` or within 30 s. */
  get(handle: RemoteTaskHandle, untilMs?: EpochMs): Promise<PollReply>;
  cancel(handle: RemoteTaskHandle): Promise<CancelReply>;
  answer(handle: RemoteTaskHandle, key: string, answer: RemoteAnswer, idempotencyKey: string): Promise<AnswerReply>;
  /** Calls of tools for the sake of a job, which may all be repeated; over at `untilMs` or within 30 s. */
  callTools<Kind extends Reply>(
    handle: RemoteTaskHandle,
    talk: (call: CallTool) => Promise<Kind>,
    untilMs?: EpochMs,
  ): Promise<Kind>;
  /** A handle for a task that somebody else started. */
  handleOf(taskId: string, untilMs: EpochMs): Promise<RemoteTaskHandle | Unready>;
}

export function unready(failure: FailedExchange): Unready {
  // Nothing was started, so what may pass is waited for.
  if ('status' in failure && isTransient(failure.status))
    return { ...pollReplyOf(failure), kind: 'unready', permanent: false };
  const { kind, error, ...wait } = startReplyOf(failure);
  return { kind: 'unready', permanent: kind === 'refused', error, ...wait };
}

/** Nothing was started, so the start may be repeated unless that is of no use. */
export function notStarted(failure: Unready): Extract<StartReply, { kind: 'refused' | 'retry' }> {
  return failure.permanent ? { kind: 'refused', error: failure.error } : { kind: 'retry', ...reasonOf(failure) };
}

export function reasonOf({ error, retryAfterMs }: Unready): Pick<Unready, 'error' | 'retryAfterMs'> {
  return { error, ...defined({ retryAfterMs }) };
}

/** The tool answered with a task although it was told that none is followed here. */
export function taskForJob(tool: string): StartReply {
  return unknown(`the tool "${tool}" answered with a task, which is not followed as long as jobs has the tool`);
}

export function notSent(reply: { readonly error: StoredError; readonly retryAfterMs?: number }): Exchange {
  const { error, retryAfterMs } = reply;
  return { kind: 'not_sent', error, ...defined({ retryAfterMs }) };
}

/** A start that the tool did not answer in time, and that is not a task. */
export function outlasted(reply: StartReply): StartReply {
  if (reply.kind !== 'unknown' || reply.error.code !== 'REMOTE_UNREACHABLE') return reply;
  const message = `${reply.error.message}; the tool does not run as a task and answers only when its work is done, which may still go on`;
  return { ...reply, error: { ...reply.error, message } };
}
