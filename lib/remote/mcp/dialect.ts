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

/** Version of MCP, and session if any, over which the `tools/call` for a job was made. */
export interface CalledOver {
  readonly version: string;
  readonly session?: string;
}

/** Start of one tool. */
export type ToolStart = Omit<StartRequest, 'request' | 'untilMs'> & {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** Whether the answer may take all of the time. */
  readonly isPatient?: boolean;
  /** Set if the tool starts a job, which is never a task. */
  readonly job?: JobStart;
};

export interface JobStart {
  /** Interprets the result of the tool. */
  readonly read: (result: JsonObject, over: CalledOver) => StartReply;
  /** Tools without which the job cannot be followed. */
  readonly tools: readonly string[];
  /** Returns the reply to a start on a server that lacks some of these tools. */
  readonly refuse: (missing: readonly string[], has: readonly string[]) => StartReply;
}

/** Calls a tool plainly. A failure before the call, so that it was not made, is `not_sent`. */
export type CallTool = (tool: string, args: JsonObject) => Promise<Exchange>;

/** The server does not speak the revision of the call, and did not process it. */
export interface OtherRevision {
  readonly kind: 'other_revision';
  readonly error: StoredError;
}

/** A prerequisite of a call failed, so the call was not made. */
export interface Unready {
  readonly kind: 'unready';
  /** Whether asking again is pointless. */
  readonly permanent: boolean;
  readonly error: StoredError;
  readonly retryAfterMs?: number;
}

/** Revision of MCP, as far as tasks are concerned. */
export interface McpDialect {
  /** Whether a call of the tool is answered before its work is done; undefined if the server does not say. */
  answersAtOnce(tool: string, untilMs: EpochMs): Promise<boolean | undefined>;
  /** Makes one attempt, which ends by `untilMs`. */
  start(call: ToolStart, untilMs: EpochMs): Promise<StartReply | OtherRevision>;
  /** Reads once, by `untilMs` or within 30 s. */
  get(handle: RemoteTaskHandle, untilMs?: EpochMs): Promise<PollReply>;
  cancel(handle: RemoteTaskHandle): Promise<CancelReply>;
  answer(handle: RemoteTaskHandle, key: string, answer: RemoteAnswer, idempotencyKey: string): Promise<AnswerReply>;
  /** Calls tools on behalf of a job, all of which may be repeated; ends by `untilMs` or within 30 s. */
  callTools<Kind extends Reply>(
    handle: RemoteTaskHandle,
    talk: (call: CallTool) => Promise<Kind>,
    untilMs?: EpochMs,
  ): Promise<Kind>;
  /** Returns a handle for a task that was started elsewhere. */
  handleOf(taskId: string, untilMs: EpochMs): Promise<RemoteTaskHandle | Unready>;
}

export function unready(failure: FailedExchange): Unready {
  // Retries what may pass, since nothing was started.
  if ('status' in failure && isTransient(failure.status))
    return { ...pollReplyOf(failure), kind: 'unready', permanent: false };
  const { kind, error, ...wait } = startReplyOf(failure);
  return { kind: 'unready', permanent: kind === 'refused', error, ...wait };
}

/** Returns the reply for a start that was not made: it may be repeated unless that is pointless. */
export function notStarted(failure: Unready): Extract<StartReply, { kind: 'refused' | 'retry' }> {
  return failure.permanent ? { kind: 'refused', error: failure.error } : { kind: 'retry', ...reasonOf(failure) };
}

export function reasonOf({ error, retryAfterMs }: Unready): Pick<Unready, 'error' | 'retryAfterMs'> {
  return { error, ...defined({ retryAfterMs }) };
}

/** Returns the reply for a tool that answered with a task although none was declared. */
export function taskForJob(tool: string): StartReply {
  return unknown(`the tool "${tool}" answered with a task, which is not followed while jobs lists the tool`);
}

export function notSent(reply: { readonly error: StoredError; readonly retryAfterMs?: number }): Exchange {
  const { error, retryAfterMs } = reply;
  return { kind: 'not_sent', error, ...defined({ retryAfterMs }) };
}

/** Explains a plain start that the tool did not answer in time. */
export function outlasted(reply: StartReply): StartReply {
  if (reply.kind !== 'unknown' || reply.error.code !== 'REMOTE_UNREACHABLE') return reply;
  const message = `${reply.error.message}; the tool does not run as a task and answers only when its work is done, which may still go on`;
  return { ...reply, error: { ...reply.error, message } };
}
