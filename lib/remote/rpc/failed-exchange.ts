import type { StoredError } from '../../base/errors.js';
import { cutUtf8 } from '../../base/json.js';
import type { Exchange } from './exchange.js';
import { remoteError } from './remote-error.js';
import { isTransient } from './transient.js';
import type { AnswerReply, CancelReply, PollReply, StartReply } from '../transport.js';

/** Every exchange that brought no result. */
export type Trouble = Exclude<Exchange, { kind: 'result' }>;

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
export function startTrouble(trouble: Trouble): FailedStart {
  switch (trouble.kind) {
    case 'not_sent':
      return { kind: trouble.error.code === 'CONFIG_INVALID' ? 'refused' : 'retry', ...reasonOf(trouble) };
    case 'no_answer':
    case 'unusable':
      return { kind: 'unknown', error: trouble.error };
    case 'rpc_error':
    case 'http_error':
      if (isUnprocessed(trouble.status)) return { kind: 'retry', ...answered(trouble, 'REMOTE_UNREACHABLE') };
      if (trouble.status >= 500 && !(trouble.kind === 'rpc_error' && trouble.unaddressed !== true))
        return { kind: 'unknown', error: answered(trouble, 'REMOTE_UNREACHABLE').error };
      return { kind: 'refused', error: answered(trouble, 'REMOTE_START_REFUSED').error };
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
export function pollTrouble(
  trouble: Trouble,
  missingCodes: readonly number[] = [],
): Extract<PollReply, { kind: 'missing' | 'unreadable' }> {
  if (isErrorOf(trouble, missingCodes)) return { kind: 'missing', error: reasonOf(trouble).error };
  return { kind: 'unreadable', ...reasonOf(trouble) };
}

/**
 * `goneCodes`: JSON-RPC errors that say that there is no such task, or none left to stop; `refusedCodes`: that the task cannot be
 * stopped, now or later.
 */
export function cancelTrouble(
  trouble: Trouble,
  goneCodes: readonly number[],
  refusedCodes: readonly number[] = [],
): CancelReply {
  if (isErrorOf(trouble, goneCodes)) return { kind: 'gone', error: reasonOf(trouble).error };
  if (isErrorOf(trouble, refusedCodes)) return { kind: 'refused', error: reasonOf(trouble).error };
  return { kind: 'retry', ...reasonOf(trouble) };
}

/**
 * What an answer to a question without a result means for delivering it again. It carries its key, and whoever delivers it
 * looks first if the question still stands, so what may have arrived is sent again.
 */
export function answerTrouble(trouble: Trouble): Exclude<AnswerReply, { kind: 'done' }> {
  switch (trouble.kind) {
    case 'not_sent':
      return { kind: trouble.error.code === 'CONFIG_INVALID' ? 'refused' : 'retry', ...reasonOf(trouble) };
    case 'no_answer':
    case 'unusable':
      return { kind: 'retry', error: trouble.error };
    case 'rpc_error':
    case 'http_error':
      if (isTransient(trouble.status)) return { kind: 'retry', ...answered(trouble, 'REMOTE_UNREACHABLE') };
      return { kind: 'refused', error: answered(trouble, 'REMOTE_ANSWER_REFUSED').error };
  }
}

interface Reason {
  readonly error: StoredError;
  readonly retryAfterMs?: number;
}

function reasonOf(trouble: Trouble): Reason {
  if (trouble.kind === 'rpc_error' || trouble.kind === 'http_error') return answered(trouble, 'REMOTE_UNREACHABLE');
  const { error } = trouble;
  if (trouble.kind !== 'not_sent' || trouble.retryAfterMs === undefined) return { error };
  return { error, retryAfterMs: trouble.retryAfterMs };
}

type Answered = Extract<Trouble, { kind: 'rpc_error' | 'http_error' }>;

function answered(
  trouble: Answered,
  code: 'REMOTE_UNREACHABLE' | 'REMOTE_START_REFUSED' | 'REMOTE_ANSWER_REFUSED',
): Reason {
  const wait = trouble.retryAfterMs === undefined ? {} : { retryAfterMs: trouble.retryAfterMs };
  if (trouble.kind === 'rpc_error') {
    const details = { status: trouble.status, code: trouble.code };
    return {
      error: remoteError(code, `the server answered with error ${trouble.code}: ${trouble.message}`, details),
      ...wait,
    };
  }
  const redirect = redirectSaid(trouble);
  return {
    error: remoteError(code, `the server answered with status ${trouble.status}${redirect}`, {
      status: trouble.status,
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
