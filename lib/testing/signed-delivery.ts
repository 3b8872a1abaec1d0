import { createHash, createHmac } from 'node:crypto';
import type { EpochMs } from '../base/time.js';
import { webhookHeaders } from '../remote/http/sign-webhook.js';
import type { SecretScheme } from '../workflow/hook-auth.js';

/** A request of a sender, as it comes. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>;
  /** Body exactly as signed. */
  readonly body: string;
}

/** What a sender signs. */
export interface DeliveryToSign {
  readonly secret: string;
  /** Body: JSON, as text. */
  readonly body: string;
  /** Time of the signature, such as `app.clock.nowMs()`. */
  readonly atMs: EpochMs;
  /** Id of the delivery where the sender gives one. Default: a digest of the body. */
  readonly deliveryId?: string;
  /** Further headers, such as `x-github-event`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Signs a delivery as one kind of sender does, for `TestApp.receive`.
 * @example
 * ```ts
 * import { bearerWebhook, defineApp, defineWorkflow, secret } from 'outwait';
 * import { createTestApp, signedDelivery } from 'outwait/testing';
 *
 * const order = defineWorkflow({ name: 'order', run: () => Promise.resolve('done') });
 * const auth = bearerWebhook({ secret: secret('SHOP_TOKEN') });
 * const config = defineApp({ workflows: [order], hooks: { shop: { auth, workflow: order, start: () => ({}) } } });
 *
 * const app = createTestApp(config, { secrets: { SHOP_TOKEN: 'a-token' } });
 * const delivery = signedDelivery('bearer', { secret: 'a-token', body: '{}', atMs: app.clock.nowMs() });
 * console.log((await app.receive('shop', delivery)).outcome);
 * ```
 */
export function signedDelivery(scheme: SecretScheme, delivery: DeliveryToSign): SignedDelivery {
  const { body, headers } = delivery;
  return { headers: { 'content-type': 'application/json', ...proofs[scheme](delivery), ...headers }, body };
}

type Proof = (delivery: DeliveryToSign) => Readonly<Record<string, string>>;

const proofs: Readonly<Record<SecretScheme, Proof>> = {
  github: (delivery) => ({
    'x-github-delivery': idOf(delivery),
    'x-hub-signature-256': `sha256=${hexOf(delivery.secret, delivery.body)}`,
  }),
  slack: ({ secret, body, atMs }) => ({
    'x-slack-request-timestamp': secondsOf(atMs),
    'x-slack-signature': `v0=${hexOf(secret, `v0:${secondsOf(atMs)}:${body}`)}`,
  }),
  stripe: ({ secret, body, atMs }) => ({
    'stripe-signature': `t=${secondsOf(atMs)},v1=${hexOf(secret, `${secondsOf(atMs)}.${body}`)}`,
  }),
  standardWebhooks: (delivery) => {
    const { secret, body, atMs } = delivery;
    const key = secret.replace(/^whsec_/, '');
    return webhookHeaders([key], { id: idOf(delivery), timestamp: secondsOf(atMs), body });
  },
  bearer: (delivery) => ({ authorization: `Bearer ${delivery.secret}`, 'idempotency-key': idOf(delivery) }),
};

const secondsOf = (atMs: EpochMs): string => String(Math.floor(atMs / 1_000));
const hexOf = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

function idOf({ deliveryId, body }: DeliveryToSign): string {
  return deliveryId ?? createHash('sha256').update(body).digest('hex');
}
