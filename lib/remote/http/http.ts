import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { lazy } from '../../base/lazy.js';
import { storedError, type StoredError } from '../../base/errors.js';
import { remoteReplyMaxBytes, requestTimeoutMs } from '../../base/limits.js';
import { isAllowedAddress, type AddressRule } from './address-rule.js';
import { AddressRefused, codeOf, guardedLookup, NotConnected, tellingConnector } from './guarded-connector.js';

const connectTimeoutMs = 3_000;
const headersTimeoutMs = 20_000;

export interface HttpRequest {
  /** Default POST. */
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Absolute http or https URL. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Allows private networks and plain http too. */
  readonly allowPrivateAddresses?: boolean;
  /**
   * Uses a new connection: the server may be closing a kept one, and then it is unknown whether the request was read.
   */
  readonly freshConnection?: boolean;
  /** Time for the whole exchange, if less than the client's limit. */
  readonly timeoutMs?: number;
  /** Looks at each piece of the body as it comes; true: the rest is not needed and the connection is closed. */
  readonly enough?: (head: HttpHead, piece: string) => boolean;
  /** Whether status and headers are all that is read of the answer: the connection is then closed. Default false. */
  readonly headOnly?: boolean;
  readonly signal?: AbortSignal;
  /** Overrides of the client's limits. */
  readonly limits?: Partial<Pick<HttpLimits, 'headersMs' | 'totalMs' | 'replyMaxBytes'>>;
}

export interface HttpHead {
  readonly status: number;
  /** Names in lower case; values of a repeated header are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
}

export type HttpReply =
  /** Any status, 3xx included. `text` is empty under an error status if the body could not be read. */
  | ({ readonly kind: 'reply'; readonly text: string } & HttpHead)
  /** Not a byte reached the server. `CONFIG_INVALID` if our own rules forbid the request, else `REMOTE_UNREACHABLE`. */
  | { readonly kind: 'not_sent'; readonly error: StoredError }
  /**
   * The server may have read the request: timeout, reset, a truncated or compressed body. `REMOTE_UNREACHABLE`, or
   * `PAYLOAD_TOO_LARGE` for a body beyond the limit.
   */
  | { readonly kind: 'no_answer'; readonly error: StoredError };

/** Sends requests to third-party servers. Never throws; no error text contains the URL, a header or a body. */
export interface HttpClient {
  send(request: HttpRequest): Promise<HttpReply>;
}

export interface HttpLimits {
  /** DNS, TCP and TLS. */
  readonly connectMs: number;
  /** Limit from the request to the headers, and between two pieces of the body. */
  readonly headersMs: number;
  /** Limit of the whole exchange. A server that drips its body byte by byte meets no other limit. */
  readonly totalMs: number;
  readonly replyMaxBytes: number;
}

export interface HttpClientOptions {
  /** Allows this machine too, also over plain http: local mode. Default false. */
  readonly allowLoopback?: boolean;
  readonly limits?: Partial<HttpLimits>;
  /** Default: the system's resolver. */
  readonly lookup?: LookupFunction;
}

const defaultLimits: HttpLimits = {
  connectMs: connectTimeoutMs,
  headersMs: headersTimeoutMs,
  totalMs: requestTimeoutMs,
  replyMaxBytes: remoteReplyMaxBytes,
};

/**
 * `HttpClient` over undici. Follows no redirects, accepts no compression, and connects to public addresses only unless
 * configured otherwise; names are checked at the moment of dialling. Connections are kept for the next request.
 */
export class GuardedHttpClient implements HttpClient {
  readonly #allowLoopback: boolean;
  readonly #limits: HttpLimits;
  readonly #lookup: LookupFunction | undefined;
  /** Agents by rule and kind of connection. */
  readonly #agents = new Map<string, Agent>();

  constructor(options: HttpClientOptions = {}) {
    this.#allowLoopback = options.allowLoopback ?? false;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#lookup = options.lookup;
  }

  async send(request: HttpRequest): Promise<HttpReply> {
    const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
    const rule = url === undefined ? undefined : this.#ruleFor(url, request.allowPrivateAddresses ?? false);
    if (url === undefined || rule === undefined)
      return refusedHere('the URL must be https, or http to an allowed private address');
    // Checks literal addresses here: undici calls `lookup` for names only.
    if (!isNameOrAllowed(url.hostname, rule)) return refusedHere('the address of the server is not allowed');
    const badHeader = Object.entries(request.headers).find(
      ([name, value]) => !headerName.test(name) || !headerValue.test(value),
    );
    if (badHeader !== undefined)
      return refusedHere(`the header ${JSON.stringify(badHeader[0])} has a character that is not allowed in headers`);

    const limits = { ...this.#limits, ...request.limits };
    const deadline = startDeadline(Math.min(request.timeoutMs ?? Infinity, limits.totalMs), request.signal);
    try {
      return await this.#send(request, { url, rule }, limits, deadline.signal);
    } catch (thrown) {
      return failure(thrown, deadline.passed());
    } finally {
      deadline.clear();
    }
  }

  /**
   * Returns false for a URL to which no request would be sent, as far as that can be told now. A name that cannot be
   * resolved now may be.
   */
  async allows(given: string, allowPrivateAddresses = false): Promise<boolean> {
    const url = URL.canParse(given) ? new URL(given) : undefined;
    const rule = url === undefined ? undefined : this.#ruleFor(url, allowPrivateAddresses);
    if (url === undefined || rule === undefined || !isNameOrAllowed(url.hostname, rule)) return false;
    if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return true;
    return new Promise((resolve) => {
      guardedLookup(rule, this.#lookup)(url.hostname, {}, (error) => {
        resolve(!(error instanceof AddressRefused));
      });
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  #ruleFor(url: URL, allowPrivateAddresses: boolean): AddressRule | undefined {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
    if (allowPrivateAddresses) return 'private';
    if (url.protocol === 'https:') return this.#allowLoopback ? 'public_or_loopback' : 'public';
    return this.#allowLoopback ? 'loopback' : undefined;
  }

  async #send(
    request: HttpRequest,
    { url, rule }: { readonly url: URL; readonly rule: AddressRule },
    limits: HttpLimits,
    signal: AbortSignal,
  ): Promise<HttpReply> {
    const undici = await loadUndici();
    const fresh = request.freshConnection ?? false;
    const response = await undici.request(url, {
      method: request.method ?? 'POST',
      headers: { ...request.headers, 'accept-encoding': 'identity' },
      body: request.body ?? null,
      dispatcher: await this.#agent(rule, fresh),
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.headersMs,
      reset: fresh,
      signal,
    });
    const head: HttpHead = { status: response.statusCode, headers: flat(response.headers) };
    if (request.headOnly === true) {
      response.body.on('error', () => undefined).destroy();
      return { kind: 'reply', ...head, text: '' };
    }
    try {
      return {
        kind: 'reply',
        ...head,
        text: await readText(response.body, head, request.enough, limits.replyMaxBytes),
      };
    } catch (thrown) {
      // Keeps an error status even if its body could not be read.
      if (head.status >= 300) return { kind: 'reply', ...head, text: '' };
      throw thrown;
    }
  }

  async #agent(rule: AddressRule, fresh: boolean): Promise<Agent> {
    const { Agent, buildConnector } = await loadUndici();
    const key = `${rule} ${fresh ? 'fresh' : 'kept'}`;
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      const connector = buildConnector({ timeout: this.#limits.connectMs, lookup: guardedLookup(rule, this.#lookup) });
      agent = new Agent({ connect: tellingConnector(connector) });
      this.#agents.set(key, agent);
    }
    return agent;
  }
}

/** @throws UnreadableBody, or what undici throws when the connection breaks */
async function readText(
  body: Dispatcher.ResponseData['body'],
  head: HttpHead,
  enough: HttpRequest['enough'],
  maxBytes: number,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  // Leaving the loop in any way closes the connection.
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    if (!/^(identity)?$/.test(head.headers['content-encoding'] ?? ''))
      throw new UnreadableBody('the answer is compressed, which was not requested');
    bytes += piece.length;
    if (Math.max(bytes, declaredBytes(head)) > maxBytes) {
      throw new BodyTooLarge(`the answer is larger than ${maxBytes} bytes`);
    }
    const decoded = decoder.decode(piece, { stream: true });
    text += decoded;
    if (enough?.(head, decoded) === true) return text;
  }
  return text + decoder.decode();
}

/**
 * Loads undici at first use, once: under a loader such as tsx, each `import()` waits for another thread. Takes the
 * default export: in a bundle, a CommonJS package loaded late has no other.
 */
const loadUndici = lazy(async () => (await import('undici')).default);

// RFC 9110 sections 5.1 and 5.5, without bytes above ASCII, whose meaning is undefined.
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\x20-\x7e]*$/;

function isNameOrAllowed(hostname: string, rule: AddressRule): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isAllowedAddress(host, rule);
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function declaredBytes(head: HttpHead): number {
  const length = Number(head.headers['content-length'] ?? '0');
  return Number.isFinite(length) ? length : 0;
}

class UnreadableBody extends Error {}
class BodyTooLarge extends UnreadableBody {}

function failure(thrown: unknown, deadlinePassed: boolean): HttpReply {
  if (thrown instanceof NotConnected) {
    if (thrown.addressRefused) return refusedHere('the host name of the server has no allowed address');
    return { kind: 'not_sent', error: unreachable('no connection to the server', thrown.code) };
  }
  // Rethrows our own mistakes: they must not pass for network failures.
  if (thrown instanceof TypeError || thrown instanceof ReferenceError) throw thrown;
  const code = codeOf(thrown);
  // Nothing was sent: undici checks its arguments before it writes anything.
  if (code === 'UND_ERR_INVALID_ARG') return refusedHere('the request has a header that cannot be sent');
  if (thrown instanceof BodyTooLarge)
    return { kind: 'no_answer', error: storedError('PAYLOAD_TOO_LARGE', thrown.message) };
  if (thrown instanceof UnreadableBody) return { kind: 'no_answer', error: unreachable(thrown.message) };
  if (deadlinePassed || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return { kind: 'no_answer', error: unreachable('no answer came in time') };
  }
  return { kind: 'no_answer', error: unreachable('the connection broke before the answer was complete', code) };
}

function refusedHere(problem: string): HttpReply {
  return { kind: 'not_sent', error: storedError('CONFIG_INVALID', `the request was not sent: ${problem}`) };
}

function unreachable(problem: string, code?: string): StoredError {
  return storedError('REMOTE_UNREACHABLE', code === undefined ? problem : `${problem} (${code})`);
}

/** Returns a signal that aborts when the time is up or `outer` aborts. */
function startDeadline(totalMs: number, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  let passed = false;
  const timer = setTimeout(() => {
    passed = true;
    controller.abort();
  }, totalMs);
  const abort = (): void => {
    controller.abort();
  };
  if (outer?.aborted === true) abort();
  outer?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    passed: () => passed,
    clear: (): void => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}
