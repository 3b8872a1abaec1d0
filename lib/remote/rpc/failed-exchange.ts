import type { StoredError } from '../../base/errors.js';
import { cutUtf8 } from '../../base/json.js';
import type { Exchange } from './exchange.js';
import { remoteError } from './remote-error.js';
import { isTransient } from './transient.js';
import type { AnswerReply, CancelReply, PollReply, StartReply } from '../transport.js';

/** Every exchange that brought no result. */
export type FailedExchange = Exclude<Exchange, { kind: 'result' }>;

/** A start that brought no task and no result. */
export type FailedStart = Extract<StartReply, { readonly error: StoredError }>;

/**
 * What a start without a result means for repeating it:
 *
 * | what came | executed? | reply |
 * |---|---|---|
 * | no connection | no | retry |
 * | forbidden by our own rules | no | refused, `CONFIG_INVALID` |
 * | 408, 425, 429, 503 | no | retry, after `Retry-After` |
 * | any other 5xx with an error of the application for this request | perhaps, and it has ended | refused |
 * | any other 5xx, from whoever it is | perhaps | unknown |
 * | 3xx, other 4xx, a JSON-RPC error | no | refused |
 * | 2xx that is no response to this request | perhaps | unknown |
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
 * The end of a call whose start was answered, and with more than can be read: the tool or agent has done what it does, and
 * another start would bring no other answer. Undefined for every other trouble.
 */
export function beyondLimits(exchange: Exchange): StartReply | undefined {
  if (exchange.kind !== 'unusable' || exchange.isBeyondLimits !== true) return undefined;
  return { kind: 'ended', end: { kind: 'failed', error: exchange.error } };
}

/**
 * A read without a result says nothing about the task, but for the JSON-RPC errors in `missingCodes`: they say that the
 * server knows no such task.
 */
export function pollReplyOf(
  failure: FailedExchange,
  missingCodes: readonly number[] = [],
): Extract<PollReply, { kind: 'missing' | 'unreadable' }> {
  if (isErrorOf(failure, missingCodes)) return { kind: 'missing', error: reasonOf(failure).error };
  return { kind: 'unreadable', ...reasonOf(failure) };
}

/**
 * `goneCodes`: JSON-RPC errors that say that there is no such task, or none left to stop; `refusedCodes`: that the task cannot be
 * stopped, now or later.
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
 * What an answer to a question without a result means for delivering it again. It carries its key, and whoever delivers it
 * looks first if the question still stands, so what may have arrived is sent again.
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

/** Where a server wants to be asked instead, for whoever is to correct the URL. */
export function redirectSaid({ status, location }: { readonly status: number; readonly location?: string }): string {
  if (status < 300 || status >= 400) return '';
  const to = location === undefined ? '' : ` to ${cutUtf8(location, locationShownBytes)}`;
  return `, a redirect${to}, which is never followed`;
}

const locationShownBytes = 200;

/**
 * One of these JSON-RPC errors, under a status with which it counts: gateways use the same codes for a refused credential
 * (-32001 under 401) and for trouble of their own, which say nothing of a task, a method or a revision.
 */
export function isErrorOf(
  exchange: Exchange,
  codes: readonly number[],
): exchange is Extract<Exchange, { kind: 'rpc_error' }> {
  return exchange.kind === 'rpc_error' && codes.includes(exchange.code) && !saysNothing(exchange.status);
}

/** Not of what was asked, but of who asked, of another address, or of a server in trouble. */
export function saysNothing(status: number): boolean {
  return (status >= 300 && status < 400) || status === 401 || status === 403 || isTransient(status);
}

/** Whoever answers so has not begun with the request (RFC 9110 sections 15.5.9 and 15.6.4, RFC 8470, RFC 6585). */
function isUnprocessed(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status === 503;
}
