import { cutUtf8 } from '../../base/json.js';
import type { Clock } from '../../base/time.js';
import { keysIn } from '../endpoint/endpoint.js';
import { mediaTypeOf } from '../rpc/exchange.js';
import type { HttpClient, HttpReply, HttpRequest } from '../http/http.js';
import { redactText } from '../endpoint/redact.js';

/** A request and what came of it, for the eyes of a person. Headers are never among it: they hold credentials. */
export interface WireEvent {
  readonly method: string;
  readonly url: string;
  /** The first 2 KB. */
  readonly body: string;
  /** Missing where no reply came. */
  readonly status?: number;
  readonly mediaType?: string;
  /** The first 2 KB. */
  readonly reply?: string;
  /** Why there is no reply. */
  readonly problem?: string;
  readonly ms: number;
}

const bodyShownBytes = 2_048;
const notShown = '[not shown: it holds credentials]';

/**
 * An `HttpClient` that tells of each exchange. Takes out what credentials have put into any request so far, and the keys in
 * `urls`, which the configuration names; bodies of requests for tokens are not told at all.
 */
export class WireTap implements HttpClient {
  readonly #http: HttpClient;
  readonly #clock: Clock;
  readonly #onEvent: (event: WireEvent) => void;
  readonly #secrets: Set<string>;

  constructor(http: HttpClient, clock: Clock, urls: readonly string[], onEvent: (event: WireEvent) => void) {
    this.#http = http;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#secrets = new Set(urls.filter((url) => URL.canParse(url)).flatMap(keysIn));
  }

  async send(request: HttpRequest): Promise<HttpReply> {
    for (const secret of secretsIn(request)) this.#secrets.add(secret);
    const startMs = this.#clock.nowMs();
    const reply = await this.#http.send(request);
    const isPrivate = holdsCredentials(request);
    this.#onEvent({
      method: request.method ?? 'POST',
      url: this.#shown(request.url),
      body: isPrivate ? notShown : this.#shown(request.body ?? ''),
      ...(reply.kind === 'reply'
        ? {
            status: reply.status,
            mediaType: this.#shown(mediaTypeOf(reply)),
            reply: isPrivate ? notShown : this.#shown(reply.text),
          }
        : { problem: this.#shown(reply.error.message) }),
      ms: this.#clock.nowMs() - startMs,
    });
    return reply;
  }

  /** `text` without what was sent as a credential so far: a server may give it back wherever it likes. */
  clean(text: string): string {
    return redactText(text, [...this.#secrets]);
  }

  /** First clean, then cut: half of a secret would not be found. */
  #shown(text: string): string {
    return cutUtf8(this.clean(text), bodyShownBytes);
  }
}

/** Headers that a transport writes; what any other one holds came from the configuration, and may be a credential. */
const ownHeaders =
  /^(accept|accept-encoding|content-type|idempotency-key|if-none-match|x-?a2a-.*|a2a-.*|mcp-(protocol-version|method|name))$/;

const schemes = /^(bearer|basic|aws4-hmac-sha256)$/i;

function secretsIn({ headers }: HttpRequest): readonly string[] {
  return Object.entries(headers)
    .filter(([name]) => !ownHeaders.test(name.toLowerCase()))
    .flatMap(([, value]) => [value, ...value.split(/[\s,]+/)])
    .filter((value) => !schemes.test(value))
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]);
}

/** A request to an authorization server. */
function holdsCredentials({ headers }: HttpRequest): boolean {
  return /x-www-form-urlencoded/i.test(headers['content-type'] ?? '');
}
