import { defined } from '../../base/defined.js';
import type { Clock } from '../../base/time.js';
import type { GuardedHttpClient } from '../http/http.js';
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

  async send(push: Push): Promise<PushAnswer> {
    // A receiver has nothing to say but its status; its body may be huge or endless.
    const reply = await this.#http.send({ ...push, timeoutMs: pushTimeoutMs, headOnly: true });
    if (reply.kind !== 'reply') return { kind: 'failed' };
    const { status } = reply;
    const after = retryAfterMs(reply.headers['retry-after'], this.#clock.nowMs());
    return { kind: 'answered', status, ...defined({ retryAfterMs: after }) };
  }

  async allows(url: string): Promise<boolean> {
    return this.#http.allows(url);
  }
}
