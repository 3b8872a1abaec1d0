import type { JsonObject } from '../base/json.js';
import type { Clock, EpochMs } from '../base/time.js';
import type { Delivery, Messenger, NoticeMessage } from '../remote/messenger.js';
import type { Receiver } from '../workflow/people.js';

/** A notice to a person, as its receiver got it. */
export interface SentNotice {
  /** The same for each repetition of one notice. */
  readonly id: string;
  readonly type: 'question.asked' | 'question.escalated' | 'question.reminder';
  readonly data: JsonObject;
  readonly atMs: EpochMs;
}

/** `Messenger` that keeps what it is given. */
export class MemoryMessenger implements Messenger {
  readonly sent: SentNotice[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async send(_receiver: Receiver, { id, body }: NoticeMessage): Promise<Delivery> {
    const { type, data } = JSON.parse(body) as Pick<SentNotice, 'type' | 'data'>;
    this.sent.push({ id, type, data, atMs: this.#clock.nowMs() });
    return { kind: 'taken' };
  }
}
