/** A push, ready to be sent. */
export interface Push {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Signs the body at each attempt, with an id that is the same in all of them: Standard Webhooks. */
  readonly signing?: { readonly id: string; readonly secret: string };
  /** Whether plain http and addresses that are not public are allowed. Default false. */
  readonly allowPrivateAddresses?: boolean;
}

/** What became of a push. `failed`: no answer came, or our own rules forbid the address as it is now. */
export type PushAnswer =
  { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs?: number } | { readonly kind: 'failed' };

/** Sends news of served tasks, and ends of runs, to where their callers want them. Follows no redirects. */
export interface PushSender {
  /** Makes one attempt of at most `pushTimeoutMs`. Never throws. */
  send(push: Push): Promise<PushAnswer>;
  /** Returns false for a URL that may not be pushed to: not https, or at an address that is not public. */
  allows(url: string, options?: Pick<Push, 'allowPrivateAddresses'>): Promise<boolean>;
}

/** Limit of one attempt: much shorter than the claim under which it is made. */
export const pushTimeoutMs = 10_000;
