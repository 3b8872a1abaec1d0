import { defined } from '../../base/defined.js';
import type { NumberOverflow } from '../../base/bounded-json.js';
import type { JsonObject } from '../../base/json.js';
import { requestTimeoutMs } from '../../base/limits.js';
import { withoutTaskId } from '../../base/log.js';
import type { EpochMs } from '../../base/time.js';
import { AuthenticatedSender, type Sent } from '../auth/authenticated-sender.js';
import { createCredentials } from '../auth/create-credentials.js';
import { exchangeOf, notificationExchange, untilResponse, type Exchange } from '../rpc/exchange.js';
import { finiteOrRefused } from './overflow.js';
import type { HttpReply, HttpRequest } from '../http/http.js';
import { EventStreamSearch, rpcNotification, rpcRequest } from '../rpc/json-rpc.js';
import { remoteError } from '../rpc/remote-error.js';
import { redacted, type Reply } from './redact.js';
import type { EndpointConfig, TransportDeps } from './transport-deps.js';

/** JSON-RPC call, built by a wire codec. Header names are in lower case. */
export interface WireCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  /** Set for a notification: it has no id, and its answer only says that it arrived. */
  readonly notification?: true;
}

/** Request that is not JSON-RPC: a REST call, a document, an event stream. Header names are in lower case. */
export interface HttpCall extends Pick<HttpRequest, 'body' | 'enough' | 'signal' | 'limits'> {
  readonly httpMethod: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Maps the reply to an exchange. */
  readonly toExchange: (reply: HttpReply, nowMs: EpochMs) => Exchange;
}

export interface CallOptions {
  /** Target, if not the configured URL. */
  readonly url?: string;
  readonly freshConnection?: boolean;
  /** Limit, if less than what is left of the 30 s. */
  readonly timeoutMs?: number;
  /** Whether all of that time may pass before the first byte of the answer. */
  readonly patient?: boolean;
  /** Texts in the request that must not appear in errors and logs, besides the credentials. */
  readonly secrets?: readonly string[];
}

export interface Answered {
  readonly exchange: Exchange;
  /** Names in lower case; empty if no answer came. */
  readonly headers: Headers;
}

/** What a conversation is about: the method that it serves, and the id of the task, which the log does not show. */
export type Subject = string | { readonly method: string; readonly taskId: string };

/** Makes one call of a conversation. */
export type Send = (call: WireCall | HttpCall, options?: CallOptions) => Promise<Answered>;

/** Calls one configured server. Adds credentials, and redacts them in every error. */
export class RemoteEndpoint {
  readonly server: string;
  readonly #config: EndpointConfig;
  readonly #deps: TransportDeps;
  readonly #sender: AuthenticatedSender;

  constructor(server: string, config: EndpointConfig, deps: TransportDeps) {
    this.server = server;
    this.#config = config;
    this.#deps = deps;
    this.#sender = new AuthenticatedSender(createCredentials(config, deps), deps.http, deps.clock);
  }

  /** Makes one call and passes its outcome to `read`. */
  async ask<Kind extends Reply>(
    call: WireCall,
    options: CallOptions,
    read: (exchange: Exchange) => Kind,
  ): Promise<Kind> {
    return this.converse(call.method, async (send) => read((await send(call, options)).exchange));
  }

  /** Runs `talk`, whose calls serve one subject; all of them end by `untilMs`, or within 30 s. */
  async converse<Kind extends Reply>(
    subject: Subject,
    talk: (send: Send) => Promise<Kind>,
    untilMs = this.#deps.clock.nowMs() + requestTimeoutMs,
  ): Promise<Kind> {
    const secrets: string[] = [...keysIn(this.#config.url)];
    const addresses: string[] = [...addressesIn(this.#config.url)];
    let overflow: NumberOverflow | undefined;
    const reply = await talk(async (call, options = {}) => {
      const url = 'url' in call ? call.url : options.url;
      if (url !== undefined) {
        secrets.push(...keysIn(url));
        addresses.push(...addressesIn(url));
      }
      secrets.push(...(options.secrets ?? []));
      const leftMs = untilMs - this.#deps.clock.nowMs();
      if (leftMs <= 0) return { exchange: outOfTime, headers: {} };
      const { answered, sent } = await this.#exchange(call, {
        ...options,
        timeoutMs: Math.min(options.timeoutMs ?? leftMs, leftMs),
      });
      secrets.push(...sent.secrets);
      if (answered.exchange.kind === 'result') overflow = answered.exchange.overflow ?? overflow;
      return answered;
    });
    const told = this.#withAdvice(finiteOrRefused(reply, overflow, this.server));
    // Keeps addresses in our own configuration errors: they name what must be corrected.
    const clean = redacted(told, secrets, told.error?.code === 'CONFIG_INVALID' ? [] : addresses);
    if (clean.error !== undefined) {
      const { code, message } = clean.error;
      const { method, taskId } = typeof subject === 'string' ? { method: subject, taskId: undefined } : subject;
      const problem = withoutTaskId(message, taskId);
      this.#deps.log.warn('remote call failed', { server: this.server, method, reply: clean.kind, code, problem });
    }
    return clean;
  }

  /** Adds advice to a 401 of a server for which no auth is configured. */
  #withAdvice<Kind extends Reply>(reply: Kind): Kind {
    const { error } = reply;
    if (error?.details?.['status'] !== 401 || this.#config.auth !== undefined) return reply;
    const message = `${error.message}; the entry of "${this.server}" has no auth`;
    return { ...reply, error: { ...error, message } };
  }

  /**
   * Follows an event stream for at most `maxMs`; its pieces go to `enough` of the call. Parts of it that are shown must
   * go through `redact`. Nothing is repeated, and how the stream ended is not reported.
   */
  async follow(callWith: (redact: (note: string) => string) => HttpCall, maxMs: number): Promise<void> {
    await this.#sender.send((secrets) => {
      const call = callWith((note) => redacted({ note }, [...secrets, ...keysIn(url)], addressesIn(url)).note);
      const { httpMethod, url, headers, body, enough, signal, limits = {} } = call;
      return {
        method: httpMethod,
        url,
        headers,
        allowPrivateAddresses: this.#config.allowPrivateAddresses ?? false,
        timeoutMs: maxMs,
        limits: { ...limits, totalMs: maxMs },
        ...defined({ body, enough, signal }),
      };
    });
  }

  async #httpExchange(call: HttpCall, options: CallOptions): Promise<Exchanged> {
    const { httpMethod, toExchange, ...request } = call;
    const sent = await this.#sender.send(() => ({
      ...request,
      method: httpMethod,
      allowPrivateAddresses: this.#config.allowPrivateAddresses ?? false,
      freshConnection: options.freshConnection ?? false,
      ...timesOf(options),
    }));
    return answeredBy(sent, toExchange(sent.reply, this.#deps.clock.nowMs()));
  }

  async #exchange(call: WireCall | HttpCall, options: CallOptions): Promise<Exchanged> {
    if ('url' in call) return this.#httpExchange(call, options);
    const { clock, random } = this.#deps;
    const { method, params, headers, notification = false } = call;
    let id = '';
    let search: EventStreamSearch | undefined;
    const sent = await this.#sender.send(() => {
      id = random.hex(16);
      search = new EventStreamSearch(id);
      return {
        url: options.url ?? this.#config.url,
        headers,
        body: notification ? rpcNotification(method, params) : rpcRequest(id, method, params),
        allowPrivateAddresses: this.#config.allowPrivateAddresses ?? false,
        freshConnection: options.freshConnection ?? false,
        ...timesOf(options),
        enough: untilResponse(search),
      };
    });
    const nowMs = clock.nowMs();
    return answeredBy(
      sent,
      notification ? notificationExchange(sent.reply, nowMs) : exchangeOf(sent.reply, id, nowMs, search),
    );
  }
}

function timesOf({ timeoutMs, patient }: CallOptions): Pick<HttpRequest, 'timeoutMs' | 'limits'> {
  if (timeoutMs === undefined) return {};
  return {
    timeoutMs,
    ...defined({ limits: patient === true ? { headersMs: timeoutMs, totalMs: timeoutMs } : undefined }),
  };
}

interface Exchanged {
  readonly answered: Answered;
  readonly sent: Sent;
}

function answeredBy(sent: Sent, exchange: Exchange): Exchanged {
  return { sent, answered: { exchange, headers: sent.reply.kind === 'reply' ? sent.reply.headers : {} } };
}

type Headers = Readonly<Record<string, string>>;

const outOfTime: Exchange = {
  kind: 'not_sent',
  error: remoteError('REMOTE_UNREACHABLE', 'the time for the attempt was over before the request was sent'),
};

/** Returns the forms in which the URL may appear in a text. */
function addressesIn(url: string): string[] {
  const { href, origin, host, pathname } = new URL(url);
  return [url, href, `${origin}${pathname}`, origin, host];
}

/** Returns the parts of a URL that may be keys: its query, and long segments of its path. */
export function keysIn(url: string): string[] {
  const { pathname, search, searchParams } = new URL(url);
  const segments = pathname.split('/').filter((segment) => segment.length >= 16);
  return [search, ...searchParams.values(), ...segments];
}
