import type { StoredError } from '../../base/errors.js';
import { cutUtf8 } from '../../base/json.js';
import type { Exchange } from './exchange.js';
import { remoteError } from './remote-error.js';
import { isTransient } from './transient.js';
import type { AnswerReply, CancelReply, PollReply, StartReply } from '../transport.js';

/** Every exchange without a result. */
export type FailedExchange = Exclude<Exchange, { kind: 'result' }>;

/** Reply to a start that yielded neither a task nor a result. */
export type FailedStart = Extract<StartReply, { readonly error: StoredError }>;

/**
 * Maps a start without a result to whether it may be repeated:
 *
 * | what came | executed? | reply |
 * |---|---|---|
 * | no connection | no | retry |
 * | forbidden by our own rules | no | refused, `CONFIG_INVALID` |
 * | 408, 425, 429, 503 | no | retry, after `Retry-After` |
 * | other 5xx with an application error for this request | perhaps, and it has ended | refused |
 * | every remaining 5xx | perhaps | unknown |
 * | 3xx, other 4xx, a JSON-RPC error | no | refused |
 * | 2xx that is not a response to this request | perhaps | unknown |
 * | timeout, reset, cut or oversized body | perhaps | unknown |
 */
export function startReplyOf(failure: FailedExchange): FailedStart {
  switch (failure.kind) {
    case 'not_sent':
      return { kind: failure.error.code === 'CONFIG_INVALID' ? 'refused' : 'retry', ...reasonOf(failure) };
    case 'no_answer':
    case 'unusable':
      return { kind: 'unknown', error: failure.error };
    case 'rpc_error':
    case 'http_error':
      if (isUnprocessed(failure.status)) return { kind: 'retry', ...answered(failure, 'REMOTE_UNREACHABLE') };
      if (failure.status >= 500 && !(failure.kind === 'rpc_error' && failure.unaddressed !== true))
        return { kind: 'unknown', error: answered(failure, 'REMOTE_UNREACHABLE').error };
      return { kind: 'refused', error: answered(failure, 'REMOTE_START_REFUSED').error };
  }
}

/**
 * Returns the end of a call whose start was answered with more than can be read: the tool or agent has done its work,
 * and another start would not bring another answer. Returns undefined for every other failure.
 */
export function beyondLimits(exchange: Exchange): StartReply | undefined {
  if (exchange.kind !== 'unusable' || exchange.isBeyondLimits !== true) return undefined;
  return { kind: 'ended', end: { kind: 'failed', error: exchange.error } };
}

/**
 * Maps a read without a result. Such a read says nothing about the task, except for the JSON-RPC errors in
 * `missingCodes`, with which the server says that it knows no such task.
 */
export function pollReplyOf(
  failure: FailedExchange,
  missingCodes: readonly number[] = [],
): Extract<PollReply, { kind: 'missing' | 'unreadable' }> {
  if (isErrorOf(failure, missingCodes)) return { kind: 'missing', error: reasonOf(failure).error };
  return { kind: 'unreadable', ...reasonOf(failure) };
}

/**
 * Maps a cancel without a result. `goneCodes`: JSON-RPC errors that mean there is no such task, or none left to stop;
 * `refusedCodes`: errors that mean the task cannot be stopped, now or later.
 */
export function cancelReplyOf(
  failure: FailedExchange,
  goneCodes: readonly number[],
  refusedCodes: readonly number[] = [],
): CancelReply {
  if (isErrorOf(failure, goneCodes)) return { kind: 'gone', error: reasonOf(failure).error };
  if (isErrorOf(failure, refusedCodes)) return { kind: 'refused', error: reasonOf(failure).error };
  return { kind: 'retry', ...reasonOf(failure) };
}

/**
 * Maps an answer to a question without a result to whether it may be delivered again. It carries its key, and the
 * caller checks first that the question is still open, so an answer that may have arrived is sent again.
 */
export function answerReplyOf(failure: FailedExchange): Exclude<AnswerReply, { kind: 'done' }> {
  switch (failure.kind) {
    case 'not_sent':
      return { kind: failure.error.code === 'CONFIG_INVALID' ? 'refused' : 'retry', ...reasonOf(failure) };
    case 'no_answer':
    case 'unusable':
      return { kind: 'retry', error: failure.error };
    case 'rpc_error':
    case 'http_error':
      if (isTransient(failure.status)) return { kind: 'retry', ...answered(failure, 'REMOTE_UNREACHABLE') };
      return { kind: 'refused', error: answered(failure, 'REMOTE_ANSWER_REFUSED').error };
  }
}

interface Reason {
  readonly error: StoredError;
  readonly retryAfterMs?: number;
}

function reasonOf(failure: FailedExchange): Reason {
  if (failure.kind === 'rpc_error' || failure.kind === 'http_error') return answered(failure, 'REMOTE_UNREACHABLE');
  const { error } = failure;
  if (failure.kind !== 'not_sent' || failure.retryAfterMs === undefined) return { error };
  return { error, retryAfterMs: failure.retryAfterMs };
}

type Answered = Extract<FailedExchange, { kind: 'rpc_error' | 'http_error' }>;

function answered(
  failure: Answered,
  code: 'REMOTE_UNREACHABLE' | 'REMOTE_START_REFUSED' | 'REMOTE_ANSWER_REFUSED',
): Reason {
  const wait = failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs };
  if (failure.kind === 'rpc_error') {
    const details = { status: failure.status, code: failure.code };
    return {
      error: remoteError(code, `the server answered with error ${failure.code}: ${failure.message}`, details),
      ...wait,
    };
  }
  const redirect = redirectSaid(failure);
  return {
    error: remoteError(code, `the server answered with status ${failure.status}${redirect}`, {
      status: failure.status,
    }),
    ...wait,
  };
}

/** Says where a server redirects to, so that the operator can correct the URL. */
export function redirectSaid({ status, location }: { readonly status: number; readonly location?: string }): string {
  if (status < 300 || status >= 400) return '';
  const to = location === undefined ? '' : ` to ${cutUtf8(location, locationShownBytes)}`;
  return `, a redirect${to}, which is never followed`;
}

const locationShownBytes = 200;

/**
 * Whether the exchange is one of these JSON-RPC errors, under a status with which it counts: gateways use the same
 * codes for a refused credential (-32001 under 401) and for failures of their own, which say nothing about a task, a
 * method or a revision.
 */
export function isErrorOf(
  exchange: Exchange,
  codes: readonly number[],
): exchange is Extract<Exchange, { kind: 'rpc_error' }> {
  return exchange.kind === 'rpc_error' && codes.includes(exchange.code) && !saysNothing(exchange.status);
}

/** Whether a status says nothing about what was asked: only about the caller, another address, or a failing server. */
export function saysNothing(status: number): boolean {
  return (status >= 300 && status < 400) || status === 401 || status === 403 || isTransient(status);
}

/**
 * Whether the server has not begun to process the request (RFC 9110 sections 15.5.9 and 15.6.4, RFC 8470, RFC 6585).
 */
function isUnprocessed(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status === 503;
}
