// Whom questions to people are sent to.

import { EngineError } from '../base/errors.js';
import { isList } from '../base/list.js';
import { toCaller, type AddressedQuestion } from '../history/question.js';
import { configName } from './config-name.js';
import { problemWithSource, type SecretReference, type SecretSource } from './server-auth.js';

/** Where the notices for an addressee are sent. Created by `webhookTo()` and `snsTopic()`. */
export type Receiver = WebhookReceiver | SnsReceiver;

export interface WebhookReceiver {
  readonly kind: 'webhook';
  readonly url: string | SecretReference;
  /** Secrets, each of which signs. */
  readonly secrets: readonly SecretSource[];
  readonly allowPrivateAddresses: boolean;
}

export interface SnsReceiver {
  readonly kind: 'sns';
  readonly topicArn: string;
}

/** Options of `webhookTo`. */
export interface WebhookOptions {
  /** Address of the receiver, or the secret that holds it: for many chat systems the address is itself a credential. */
  readonly url: string | SecretReference;
  /**
   * Secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. During its rotation a list of at most 4, each
   * of which signs.
   */
  readonly secret: SecretSource | readonly SecretSource[];
  /**
   * Whether to allow plain http and non-public addresses (loopback, private ranges). Default false; local mode allows
   * loopback.
   */
  readonly allowPrivateAddresses?: boolean;
}

/** Whom questions are sent to, and with which link. */
export interface People {
  /** Receivers of notices, by the name under which `ctx.ask` addresses them. */
  readonly receivers: Readonly<Record<string, Receiver>>;
  /** Addressee of questions that name none. Default: nobody is told of those. */
  readonly default?: string;
  /**
   * Address of the page where a question is answered; `{inputId}` stands for its id. Default: the address of the question
   * in the API, if the deployment knows its public URL; otherwise notices have no link.
   */
  readonly link?: string;
}

const secretsMax = 4;
const placeholder = '{inputId}';

/**
 * Sends notices as signed webhooks (Standard Webhooks): `webhook-id` is the same for each repetition of one notice.
 * @example
 * ```ts
 * import { defineApp, defineWorkflow, secret, webhookTo } from 'outwait';
 *
 * const refund = defineWorkflow<{ amount: number }>({
 *   name: 'refund',
 *   run: async (ctx, { amount }) => {
 *     const { action } = await ctx.ask({
 *       message: `Refund ${amount} €?`,
 *       to: 'finance',
 *       remindAfter: { hours: 4 },
 *       escalate: { after: { hours: 24 }, to: 'cfo' },
 *     });
 *     return action;
 *   },
 * });
 *
 * export default defineApp({
 *   workflows: [refund],
 *   people: {
 *     receivers: {
 *       finance: webhookTo({ url: 'https://chat.example.com/finance', secret: secret('FINANCE_WEBHOOK_SECRET') }),
 *       cfo: webhookTo({ url: secret('CFO_WEBHOOK_URL'), secret: secret('CFO_WEBHOOK_SECRET') }),
 *     },
 *     link: 'https://desk.example.com/questions/{inputId}',
 *   },
 * });
 * ```
 */
export function webhookTo({ url, secret, allowPrivateAddresses = false }: WebhookOptions): Receiver {
  if (typeof url === 'string' ? !isHttpUrl(url) : problemWithSource(url) !== undefined)
    throw invalid('webhookTo: url must be an http(s) URL without user info, or come from secret() or the like');
  if (typeof allowPrivateAddresses !== 'boolean')
    throw invalid('webhookTo: allowPrivateAddresses must be true or false');
  const secrets = isList(secret) ? secret : [secret];
  if (secrets.length === 0 || secrets.length > secretsMax)
    throw invalid(`webhookTo: secret must be one, or a list of at most ${secretsMax}`);
  for (const source of secrets) {
    const problem = typeof source === 'string' ? problemWithSecret(source) : problemWithSource(source);
    if (problem !== undefined) throw invalid(`webhookTo: secret: ${problem}`);
  }
  return { kind: 'webhook', url, secrets, allowPrivateAddresses };
}

/**
 * Publishes notices to an SNS topic, with the credentials of the process: as JSON and, for subscribers by e-mail and SMS,
 * as plain text.
 * @example
 * ```ts
 * import { snsTopic } from 'outwait';
 *
 * export const finance = snsTopic({ topicArn: 'arn:aws:sns:eu-central-1:123456789012:finance-questions' });
 * ```
 */
export function snsTopic({ topicArn }: { readonly topicArn: string }): Receiver {
  if (typeof topicArn !== 'string' || !topicArnPattern.test(topicArn))
    throw invalid('snsTopic: topicArn must be the ARN of an SNS topic');
  return { kind: 'sns', topicArn };
}

/** Returns every secret to which receivers refer. */
export function secretsOfPeople(people: People | undefined): readonly SecretSource[] {
  return Object.values(people?.receivers ?? {}).flatMap((receiver) =>
    receiver.kind === 'webhook'
      ? [...receiver.secrets, ...(typeof receiver.url === 'string' ? [] : [receiver.url])]
      : [],
  );
}

/** Returns the address where a question is answered, if one is configured or the API's own is known. */
export function linkTo({ link }: People, inputId: string, publicUrl: string | undefined): string | undefined {
  if (link === undefined) return publicUrl === undefined ? undefined : `${publicUrl}/inputs/${inputId}`;
  return link.replace(placeholder, inputId);
}

/** Returns what is wrong with the addressees of a question, if anything: a name that no receiver has. */
export function problemWithAddressees(
  people: People | undefined,
  { to, escalate }: Pick<AddressedQuestion, 'to' | 'escalate'>,
): string | undefined {
  const receivers = people?.receivers ?? {};
  for (const [field, name] of Object.entries({ to: to === toCaller ? undefined : to, 'escalate.to': escalate?.to }))
    if (name !== undefined && !Object.hasOwn(receivers, name)) {
      const known = Object.keys(receivers).join(', ') || 'none';
      return `${field} of a question: people.receivers of the app has no "${name}"; known receivers: ${known}`;
    }
  return undefined;
}

/**
 * Checks whom questions are sent to; the receivers have been checked by the functions that create them.
 * @throws EngineError `CONFIG_INVALID` that names the field, and no value
 */
export function toPeople(people: People | undefined): People | undefined {
  if (people === undefined) return undefined;
  const { receivers, default: byDefault, link } = people;
  for (const [name, receiver] of Object.entries(receivers)) {
    if (name === toCaller) throw invalid(`people.receivers: "${name}" is the caller of a served task`);
    if (!configName.test(name))
      throw invalid(`people.receivers: "${name}" must be letters, digits, ".", "_" or "-", at most 64`);
    if (!['webhook', 'sns'].includes((receiver as Partial<Receiver> | undefined)?.kind ?? ''))
      throw invalid(`people.receivers.${name} must come from webhookTo() or snsTopic()`);
  }
  if (byDefault !== undefined && !Object.hasOwn(receivers, byDefault))
    throw invalid('people.default must be the name of one of the receivers');
  if (link !== undefined && (!isHttpUrl(link) || link.split(placeholder).length !== 2))
    throw invalid(`people.link must be an http(s) URL that has ${placeholder} once`);
  return people;
}

function invalid(message: string): EngineError {
  return new EngineError('CONFIG_INVALID', message);
}

// Partition, region, account and name, as `arn:aws:sns:eu-central-1:123456789012:questions`.
const topicArnPattern = /^arn:aws(-[a-z-]+)?:sns:[a-z0-9-]{1,32}:\d{12}:[A-Za-z0-9_-]{1,256}(\.fifo)?$/;

/** Returns what is wrong with a secret of Standard Webhooks, if anything; never its value. */
function problemWithSecret(secret: string): string | undefined {
  return signingKeyOf(secret) === undefined ? 'a secret must be whsec_ and the base64 of 24 to 64 bytes' : undefined;
}

/** Returns the base64 of the key in a secret of Standard Webhooks; undefined if it is none. */
export function signingKeyOf(secret: string): string | undefined {
  const [, key] = /^whsec_([A-Za-z0-9+/]{32,86}={0,2})$/.exec(secret) ?? [];
  return key;
}

function isHttpUrl(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
