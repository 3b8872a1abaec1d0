import { requestTimeoutMs } from '../../base/limits.js';
import type { Clock } from '../../base/time.js';
import type { HttpClient, HttpReply, HttpRequest } from '../http/http.js';
import { remoteError } from '../rpc/remote-error.js';
import type { Credentials } from './credentials.js';

export interface Sent {
  readonly reply: HttpReply;
  /** Secrets that no text shown from the reply may contain. */
  readonly secrets: readonly string[];
}

/**
 * Sends requests with the credentials of one server. A request refused for its credentials (401, or 403 for its scope)
 * was not executed; if new credentials are available it is sent again, once per status, all within the time of one
 * request.
 */
export class AuthenticatedSender {
  readonly #credentials: Credentials;
  readonly #http: HttpClient;
  readonly #clock: Clock;

  constructor(credentials: Credentials, http: HttpClient, clock: Clock) {
    this.#credentials = credentials;
    this.#http = http;
    this.#clock = clock;
  }

  /**
   * Sends the request that `make` returns, which is called for each attempt; the secrets it gets grow as they are sent.
   */
  async send(make: (secrets: ReadonlySet<string>) => HttpRequest): Promise<Sent> {
    const startMs = this.#clock.nowMs();
    const renewedFor = new Set<number>();
    const secrets = new Set<string>();
    const ending = (reply: HttpReply): Sent => ({ reply, secrets: [...secrets] });
    for (;;) {
      const request = make(secrets);
      const presented = await this.#credentials.present(request);
      if (presented.kind === 'failed') return ending({ kind: 'not_sent', error: presented.error });
      for (const secret of presented.secrets) secrets.add(secret);
      const leftMs = (request.timeoutMs ?? requestTimeoutMs) - (this.#clock.nowMs() - startMs);
      if (leftMs <= 0) return ending({ kind: 'not_sent', error: tooLate });
      const reply = await this.#http.send({
        ...request,
        headers: { ...presented.headers, ...request.headers },
        timeoutMs: leftMs,
      });
      const isRefused = reply.kind === 'reply' && (reply.status === 401 || reply.status === 403);
      if (!isRefused || renewedFor.has(reply.status)) return ending(reply);
      renewedFor.add(reply.status);
      const renewed = await this.#credentials.renew(reply, presented);
      if (renewed.kind === 'failed') return ending({ kind: 'not_sent', error: renewed.error });
      if (renewed.kind === 'unchanged') return ending(reply);
    }
  }
}

const tooLate = remoteError('REMOTE_UNREACHABLE', 'it took too long to get credentials for the request');
