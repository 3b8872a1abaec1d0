import { createHmac } from 'node:crypto';

/** What the sender of a webhook (Standard Webhooks) signs. */
export interface SignedWebhook {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly timestamp: string;
  readonly body: string;
}

/** Returns the headers of a webhook, with one signature for each key: the base64 of a secret without `whsec_`. */
export function webhookHeaders(keys: readonly string[], { id, timestamp, body }: SignedWebhook) {
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', Buffer.from(key, 'base64')).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
