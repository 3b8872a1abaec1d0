import { defined } from '../../base/defined.js';
import type { StoredError } from '../../base/errors.js';
import type {
  RemoteEnd,
  RemoteQuestion,
  RemoteRequest,
  RemoteTaskTransport,
  StartReply,
  StartRequest,
} from '../transport.js';

/** Result of a tried call. */
export type TriedCall =
  | { readonly kind: 'ended'; readonly taskId?: string; readonly end: RemoteEnd }
  /** Nothing was started or, with `mayRun`, that is not known. */
  | { readonly kind: 'not_started'; readonly error: StoredError; readonly mayRun: boolean }
  /** The server asks questions before it starts. */
  | { readonly kind: 'asked'; readonly questions: readonly RemoteQuestion[] }
  /** The server does not know the task any more. */
  | { readonly kind: 'lost'; readonly taskId: string; readonly error: StoredError }
  /** The wait was given up, and the server asked to cancel the task. */
  | {
      readonly kind: 'given_up';
      readonly taskId: string;
      readonly why: 'interrupted' | 'timeout';
      readonly cancel: string;
    }
  /** The wait for the reply to the start was given up: a task with an unknown id may be running. */
  | { readonly kind: 'start_given_up' };

export type CallNews =
  /** The start has been unanswered for `ms`. */
  | { readonly kind: 'waiting'; readonly ms: number }
  | { readonly kind: 'started'; readonly taskId: string; readonly contextId?: string }
  | { readonly kind: 'working'; readonly state: string; readonly note?: string; readonly questions: readonly string[] }
  | { readonly kind: 'unreadable'; readonly error: StoredError };

export interface CallOptions {
  readonly idempotencyKey: string;
  /** Timeout of the whole call, including the reply to its start. */
  readonly timeoutMs: number;
  /** Aborts when the person gives up. */
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  /** Resolves after `ms`, or when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onNews: (news: CallNews) => void;
}

const waitingEachMs = 10_000;
const pauseMinMs = 1_000;
const pauseMaxMs = 10_000;

/** Makes one call and reads its task until it ends, times out, or the person gives up. Repeats only reads. */
export async function tryCall(
  transport: RemoteTaskTransport,
  request: RemoteRequest,
  options: CallOptions,
): Promise<TriedCall> {
  const { nowMs, pause, signal, onNews } = options;
  const untilMs = nowMs() + options.timeoutMs;
  const start = await startWith(transport, { request, idempotencyKey: options.idempotencyKey, untilMs }, options);
  switch (start.kind) {
    case 'start_given_up':
      return start;
    case 'ended': {
      const taskId = start.handle?.taskId;
      return { kind: 'ended', end: start.end, ...defined({ taskId }) };
    }
    case 'asked':
      return { kind: 'asked', questions: start.questions };
    case 'refused':
    case 'retry':
      return { kind: 'not_started', error: start.error, mayRun: false };
    case 'unknown':
      return { kind: 'not_started', error: start.error, mayRun: true };
    case 'started':
      break;
  }
  const { handle } = start;
  const { taskId, contextId } = handle;
  onNews({ kind: 'started', taskId, ...defined({ contextId }) });
  // The first read is immediate: many tasks have already ended.
  for (let waitMs = 0; ; waitMs = Math.min(Math.max(waitMs * 2, pauseMinMs), pauseMaxMs)) {
    if (waitMs > 0) await pause(Math.min(waitMs, Math.max(untilMs - nowMs(), 0)), signal);
    if (signal.aborted || nowMs() >= untilMs) {
      const { kind } = await transport.cancel(handle);
      return { kind: 'given_up', taskId, why: signal.aborted ? 'interrupted' : 'timeout', cancel: kind };
    }
    const read = await transport.get(handle);
    switch (read.kind) {
      case 'ended':
        return { kind: 'ended', end: read.end, taskId };
      case 'missing':
        return { kind: 'lost', taskId, error: read.error };
      case 'unreadable':
        onNews({ kind: 'unreadable', error: read.error });
        break;
      case 'working': {
        const questions = (read.questions ?? []).map(({ message }) => message);
        onNews({
          kind: 'working',
          state: read.state,
          questions,
          ...defined({ note: read.note }),
        });
      }
    }
  }
}

/** Starts the call, reports how long that has taken so far, and returns when the person gives up. */
async function startWith(
  transport: RemoteTaskTransport,
  start: StartRequest,
  { nowMs, pause, signal, onNews }: CallOptions,
): Promise<StartReply | { readonly kind: 'start_given_up' }> {
  const startMs = nowMs();
  const answered = new AbortController();
  const until = AbortSignal.any([answered.signal, signal]);
  const reply = transport.start(start).finally(() => {
    answered.abort();
  });
  const watched = async (): Promise<StartReply | { readonly kind: 'start_given_up' }> => {
    for (;;) {
      await pause(waitingEachMs, until);
      if (answered.signal.aborted) return reply;
      if (signal.aborted) return { kind: 'start_given_up' };
      onNews({ kind: 'waiting', ms: nowMs() - startMs });
    }
  };
  return Promise.race([reply, watched()]);
}

/** Returns true if the call completed without an error, for the exit code. */
export function wentWell(call: TriedCall): boolean {
  return call.kind === 'ended' && call.end.kind === 'completed' && !call.end.isError;
}
