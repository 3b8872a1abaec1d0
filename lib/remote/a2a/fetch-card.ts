import { defined } from '../../base/defined.js';
import { parseBoundedJson } from '../../base/bounded-json.js';
import type { StoredError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { agentCardAgeMaxMs, agentCardAgeMinMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { HttpCall, Send } from '../endpoint/endpoint.js';
import { httpError, notJson, type Exchange } from '../rpc/exchange.js';
import type { HttpReply } from '../http/http.js';
import { remoteError, violationError } from '../rpc/remote-error.js';
import { redirectSaid, type FailedExchange } from '../rpc/failed-exchange.js';
import { isTransient } from '../rpc/transient.js';
import { agentCardTimeoutMs } from './limits.js';

const agentCardMaxBytes = 256 * 1024;

/** Outcome of a request for a card. `ageMs`: how long it may be used without asking again. */
export type CardRead =
  | { readonly kind: 'card'; readonly card: JsonValue; readonly etag: string | undefined; readonly ageMs: number }
  | { readonly kind: 'same'; readonly ageMs: number }
  | { readonly kind: 'failure'; readonly failure: FailedExchange };

/** Reads a card, or learns that the one with `etag` is unchanged. Follows no redirects, like all our requests. */
export async function fetchCard(url: string, etag: string | undefined, send: Send): Promise<CardRead> {
  const call: HttpCall = {
    httpMethod: 'GET',
    url,
    headers: {
      accept: 'application/json',
      'a2a-version': '1.0',
      ...defined({ 'if-none-match': etag }),
    },
    limits: { replyMaxBytes: agentCardMaxBytes },
    toExchange: cardExchange,
  };
  const { exchange, headers } = await send(call, { timeoutMs: agentCardTimeoutMs });
  const ageMs = ageOf(headers['cache-control']);
  switch (exchange.kind) {
    case 'result':
      return { kind: 'card', card: exchange.result, etag: usableEtag(headers['etag']), ageMs };
    case 'no_answer': {
      const { error } = exchange;
      // Replaces a code that would mean, for a read, that the task itself is too large.
      const isLarge = error.code === 'PAYLOAD_TOO_LARGE';
      return { kind: 'failure', failure: notSent(isLarge ? violationError('the agent card is too large') : error) };
    }
    case 'unusable':
      return { kind: 'failure', failure: notSent(exchange.error) };
    case 'http_error': {
      const { status } = exchange;
      if (status === 304 && etag !== undefined) return { kind: 'same', ageMs };
      const { retryAfterMs } = exchange;
      return {
        kind: 'failure',
        failure: isTransient(status) ? cardAway(status, retryAfterMs) : notSent(noCard(exchange)),
      };
    }
    case 'rpc_error':
    case 'not_sent':
      return { kind: 'failure', failure: exchange };
  }
}

/** Returns the failure for a card that cannot be read at the moment. */
function cardAway(status: number, retryAfterMs?: number): FailedExchange {
  const error = remoteError('REMOTE_UNREACHABLE', `the agent card cannot be read now: status ${status}`, { status });
  return { kind: 'not_sent', error, ...defined({ retryAfterMs }) };
}

function noCard({ status, location }: { readonly status: number; readonly location?: string }): StoredError {
  return remoteError(
    'CONFIG_INVALID',
    `no agent card at the expected address: status ${status}${redirectSaid({ status, ...defined({ location }) })}`,
  );
}

/** Returns an ETag if it can be sent back in a header (RFC 9110 section 8.8.3). */
function usableEtag(etag: string | undefined): string | undefined {
  return etag !== undefined && /^(W\/)?"[\x21\x23-\x7e]{0,256}"$/.test(etag) ? etag : undefined;
}

function cardExchange(reply: HttpReply, nowMs: EpochMs): Exchange {
  if (reply.kind !== 'reply') return reply;
  const { status, text } = reply;
  if (status !== 200) return httpError(reply, nowMs);
  try {
    return { kind: 'result', result: parseBoundedJson(text) };
  } catch {
    return { kind: 'unusable', error: violationError(`the agent card cannot be read: ${notJson(reply)}`) };
  }
}

/** Returns how long a card may be used without asking again (RFC 9111 section 5.2.2.1), within our bounds. */
function ageOf(cacheControl: string | undefined): number {
  const seconds = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl ?? '')?.[1];
  const ageMs = seconds === undefined ? agentCardAgeMinMs : Number(seconds) * 1_000;
  return Math.min(Math.max(ageMs, agentCardAgeMinMs), agentCardAgeMaxMs);
}

/** Returns a failure of the card: nothing was asked of the agent itself, so a start may be repeated. */
export function notSent(error: StoredError): FailedExchange {
  return { kind: 'not_sent', error };
}
