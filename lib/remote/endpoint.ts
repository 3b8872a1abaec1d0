import type { Random } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { Log } from '../base/log.js';
import type { Clock } from '../base/time.js';
import type { SecretReference, ServerConfig } from '../workflow/app.js';
import { exchangeOf, untilResponse, type Exchange } from './exchange.js';
import type { HttpClient } from './http.js';
import { rpcRequest } from './json-rpc.js';
import { remoteError } from './remote-error.js';
import { scrubbed, type Reply } from './scrub.js';

export interface TransportDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Value of a secret by its name, read for every request so that a rotated one is used; undefined when there is none. */
  readonly readSecret: (name: string) => string | undefined | Promise<string | undefined>;
  readonly log: Log;
}

/** One JSON-RPC call, made by a wire. Header names are in lower case. */
export interface WireCall {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

interface CallOptions {
  /** Where to, if not the configured URL. */
  readonly url?: string;
  readonly freshConnection?: boolean;
}

/** One configured server as something that answers JSON-RPC calls. Adds credentials, and takes them out of every error. */
export class RemoteEndpoint {
  readonly server: string;
  readonly #config: ServerConfig;
  readonly #deps: TransportDeps;

  constructor(server: string, config: ServerConfig, deps: TransportDeps) {
    this.server = server;
    this.#config = config;
    this.#deps = deps;
  }

  /** Makes one call and hands what came of it to `read`. */
  async ask<Kind extends Reply>(
    call: WireCall,
    options: CallOptions,
    read: (exchange: Exchange) => Kind,
  ): Promise<Kind> {
    const credentials = await this.#credentials();
    const exchange =
      typeof credentials === 'string' ? notConfigured(credentials) : await this.#exchange(call, credentials, options);
    const secrets = typeof credentials === 'string' ? [] : secretsIn(credentials);
    const reply = scrubbed(read(exchange), [...addressesIn(this.#config.url), ...secrets]);
    if ('error' in reply) {
      const { code, message } = reply.error;
      this.#deps.log.warn('remote_call_failed', {
        server: this.server,
        method: call.method,
        reply: reply.kind,
        code,
        problem: message,
      });
    }
    return reply;
  }

  async #exchange(call: WireCall, credentials: Headers, options: CallOptions): Promise<Exchange> {
    const { http, clock, random } = this.#deps;
    const id = random.hex(16);
    const reply = await http.send({
      url: options.url ?? this.#config.url,
      headers: { ...credentials, ...call.headers },
      body: rpcRequest(id, call.method, call.params),
      allowPrivateAddresses: this.#config.allowPrivateAddresses ?? false,
      freshConnection: options.freshConnection ?? false,
      enough: untilResponse(id),
    });
    return exchangeOf(reply, id, clock.nowMs());
  }

  /** The author's headers and bearer token, or which secret is missing. */
  async #credentials(): Promise<Headers | string> {
    const { headers = {}, bearer } = this.#config.auth ?? {};
    const result: Record<string, string> = {};
    for (const [name, reference] of Object.entries(headers)) {
      const value = await this.#valueOf(reference);
      if (value === undefined) return missing(reference);
      if (!transportHeaders.includes(name.toLowerCase())) result[name.toLowerCase()] = value;
    }
    if (bearer === undefined) return result;
    const token = await this.#valueOf(bearer);
    return token === undefined ? missing(bearer) : { ...result, authorization: `Bearer ${token}` };
  }

  async #valueOf(reference: SecretReference | string): Promise<string | undefined> {
    return typeof reference === 'string' ? reference : this.#deps.readSecret(reference.secret);
  }
}

type Headers = Readonly<Record<string, string>>;

/** Headers of the connection itself: an author's value would break the framing or the address check. */
const transportHeaders: readonly string[] = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'accept-encoding',
  'content-encoding',
];

function notConfigured(problem: string): Exchange {
  return { kind: 'not_sent', error: remoteError('CONFIG_INVALID', problem) };
}

function missing(reference: SecretReference | string): string {
  return typeof reference === 'string' ? 'a secret is missing' : `the secret "${reference.secret}" has no value`;
}

/** Each value, and for `Bearer x` also the `x`. */
function secretsIn(credentials: Headers): string[] {
  return Object.values(credentials).flatMap((value) => [value, value.replace(/^\S+\s+/, '')]);
}

/** The forms in which the URL, or a key inside it, may come back in a text. */
function addressesIn(url: string): string[] {
  const { href, origin, host, pathname, search, searchParams } = new URL(url);
  const keys = pathname.split('/').filter((segment) => segment.length >= 16);
  return [url, href, `${origin}${pathname}`, origin, host, search, ...searchParams.values(), ...keys];
}
