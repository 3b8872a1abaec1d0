import { defined } from '../../base/defined.js';
import type { Clock } from '../../base/time.js';
import type { GuardedHttpClient } from '../http/http.js';
import { signingKeyOf } from '../../workflow/people.js';
import { webhookHeaders } from '../http/sign-webhook.js';
import { retryAfterMs } from '../http/retry-after.js';
import { type Push, type PushAnswer, type PushSender, pushTimeoutMs } from '../push-sender.js';

/** `PushSender` over the guarded client. */
export class HttpPushSender implements PushSender {
  readonly #http: Pick<GuardedHttpClient, 'send' | 'allows'>;
  readonly #clock: Clock;

  constructor(http: Pick<GuardedHttpClient, 'send' | 'allows'>, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  async send({ url, headers, body, signing, allowPrivateAddresses }: Push): Promise<PushAnswer> {
    const signed = signing === undefined ? {} : this.#signatureOf(signing, body);
    const request = { url, headers: { ...headers, ...signed }, body, ...defined({ allowPrivateAddresses }) };
    // A receiver has nothing to say but its status; its body may be huge or endless.
    const reply = await this.#http.send({ ...request, timeoutMs: pushTimeoutMs, headOnly: true });
    if (reply.kind !== 'reply') return { kind: 'failed' };
    const { status } = reply;
    const after = retryAfterMs(reply.headers['retry-after'], this.#clock.nowMs());
    return { kind: 'answered', status, ...defined({ retryAfterMs: after }) };
  }

  async allows(url: string, { allowPrivateAddresses }: Pick<Push, 'allowPrivateAddresses'> = {}): Promise<boolean> {
    return this.#http.allows(url, allowPrivateAddresses);
  }

  #signatureOf({ id, secret }: NonNullable<Push['signing']>, body: string): Readonly<Record<string, string>> {
    const key = signingKeyOf(secret);
    if (key === undefined) throw new Error('unreachable: the secret was checked when it was saved');
    return webhookHeaders([key], { id, timestamp: String(Math.floor(this.#clock.nowMs() / 1_000)), body });
  }
}
