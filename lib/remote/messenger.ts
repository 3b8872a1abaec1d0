import type { StoredError } from '../base/errors.js';
import type { Receiver } from '../workflow/people.js';

/** A notice to a person, ready to be sent. */
export interface NoticeMessage {
  /** The same for each attempt to send this notice. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
  /** The same as plain text, for e-mail and SMS, and its first line. */
  readonly text: string;
  readonly subject: string;
}

/** `gone`: the receiver wants no more of these. `failed`: it may be sent again, after `retryAfterMs` if that is given. */
export type Delivery =
  | { readonly kind: 'taken' | 'gone' }
  | { readonly kind: 'failed'; readonly error: StoredError; readonly retryAfterMs?: number };

/** Sends notices to their receivers. */
export interface Messenger {
  /** Makes one attempt of at most `noticeTimeoutMs`. Never throws; no error text contains an address or a secret. */
  send(receiver: Receiver, message: NoticeMessage): Promise<Delivery>;
}

/** Limit of one attempt: shorter than the claim under which it is made. */
export const noticeTimeoutMs = 10_000;
