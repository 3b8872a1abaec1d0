import { cutUtf8 } from '../../base/json.js';
import type { Clock } from '../../base/time.js';
import { keysIn } from '../endpoint/endpoint.js';
import { mediaTypeOf } from '../rpc/exchange.js';
import type { HttpClient, HttpReply, HttpRequest } from '../http/http.js';
import { redactText } from '../endpoint/redact.js';

/** A request and its result, to show to a person. Headers are left out, since they hold credentials. */
export interface WireEvent {
  readonly method: string;
  readonly url: string;
  /** First 2 KB of the request. */
  readonly body: string;
  /** Missing if there is no reply. */
  readonly status?: number;
  readonly mediaType?: string;
  /** First 2 KB of the reply. */
  readonly reply?: string;
  /** Why there is no reply. */
  readonly problem?: string;
  readonly ms: number;
}

const bodyShownBytes = 2_048;
const notShown = '[not shown: it holds credentials]';

/**
 * Reports each exchange of an `HttpClient`. Removes every credential that was sent in any request so far, and the keys
 * in `urls` of the configuration; bodies of token requests are not reported at all.
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

  /** Removes every credential sent so far from `text`: a server may echo it anywhere. */
  clean(text: string): string {
    return redactText(text, [...this.#secrets]);
  }

  /** Cleans before cutting: half of a secret would not be found. */
  #shown(text: string): string {
    return cutUtf8(this.clean(text), bodyShownBytes);
  }
}

/**
 * Headers that a transport writes; the value of any other header comes from the configuration, and may be a credential.
 */
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

/** Returns true for a request to an authorization server. */
function holdsCredentials({ headers }: HttpRequest): boolean {
  return /x-www-form-urlencoded/i.test(headers['content-type'] ?? '');
}
