import type { StoredError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { AnswerReply, CancelReply, PollReply, RemoteAnswer, StartReply, StartRequest } from '../transport.js';
import { startTrouble, type Trouble } from '../trouble.js';

/** A start of one tool. */
export type ToolStart = Omit<StartRequest, 'request' | 'untilMs'> & {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** The answer may take all of the time. */
  readonly isPatient?: boolean;
};

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
  /** A handle for a task that somebody else started. */
  handleOf(taskId: string, untilMs: EpochMs): Promise<RemoteTaskHandle | Unready>;
}

export function unready(trouble: Trouble): Unready {
  const { kind, error, ...wait } = startTrouble(trouble);
  return { kind: 'unready', permanent: kind === 'refused', error, ...wait };
}

/** Nothing was started, so the start may be repeated unless that is of no use. */
export function notStarted(trouble: Unready): StartReply {
  return trouble.permanent ? { kind: 'refused', error: trouble.error } : { kind: 'retry', ...reasonOf(trouble) };
}

export function reasonOf({ error, retryAfterMs }: Unready): Pick<Unready, 'error' | 'retryAfterMs'> {
  return { error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** A start that the tool did not answer in time, and that is not a task. */
export function outlasted(reply: StartReply): StartReply {
  if (reply.kind !== 'unknown' || reply.error.code !== 'REMOTE_UNREACHABLE') return reply;
  const message = `${reply.error.message}; the tool does not run as a task and answers only when its work is done, which may still go on`;
  return { ...reply, error: { ...reply.error, message } };
}
