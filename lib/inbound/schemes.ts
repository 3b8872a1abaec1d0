import { isJsonObject, type JsonValue } from '../base/json.js';
import type { HookScheme, SecretScheme } from '../workflow/hook-auth.js';
import { headerOf, type InboundRequest } from './request.js';
import {
  bytesFromBase64,
  type Claim,
  digestFromHex,
  hasCommon,
  hmacOf,
  isFresh,
  isSignedBy,
  sha256,
} from './signature.js';

/** Verification of the deliveries of one kind of sender by a secret. Does no IO and reads no clock. */
export interface Scheme extends Manner {
  /** Returns the claim of a request, before any secret is read; undefined if it cannot be genuine. */
  claim(request: InboundRequest): Claim | undefined;
  /** Whether a holder of this secret made the claim; undefined if no sender can have such a secret. */
  isMadeWith(secret: string, claim: Claim): boolean | undefined;
}

/** How deliveries of one kind of sender are read. */
export interface Manner {
  /** Names, in lower case, of headers that describe a delivery. */
  readonly shown: readonly string[];
  /** Whether the body may be a form. Default false. */
  readonly formAllowed?: boolean;
  /** Returns the id of the delivery that a verified body has; undefined if it has none. */
  idIn?(body: JsonValue): string | undefined;
}

/** Maximum number of signatures of one request: a sender that rotates its secret sends two. */
const signaturesMax = 16;

const github: Scheme = {
  claim({ headers, body }) {
    const [, hex = ''] = /^sha256=(.*)$/.exec(headerOf(headers, 'x-hub-signature-256') ?? '') ?? [];
    const digest = digestFromHex(hex);
    const deliveryId = headerOf(headers, 'x-github-delivery') ?? '';
    if (digest === undefined || !/^[0-9A-Za-z-]{1,100}$/.test(deliveryId)) return undefined;
    return { signed: [body], given: [digest], deliveryId };
  },
  isMadeWith: (secret, { given, signed }) => hasCommon(given, [hmacOf(secret, signed)]),
  shown: ['x-github-event', 'x-github-delivery', 'x-github-hook-id', 'x-github-hook-installation-target-type'],
};

const slack: Scheme = {
  claim({ headers, body, atMs }) {
    const timestamp = headerOf(headers, 'x-slack-request-timestamp') ?? '';
    const [, hex = ''] = /^v0=(.*)$/.exec(headerOf(headers, 'x-slack-signature') ?? '') ?? [];
    const digest = digestFromHex(hex);
    if (digest === undefined || !isFresh(timestamp, atMs)) return undefined;
    // Leaves out the timestamp: a repeated delivery has a new one. The body holds an id of the event, or of the click.
    return { signed: [`v0:${timestamp}:`, body], given: [digest], deliveryId: digestId(body), isTimed: true };
  },
  isMadeWith: (secret, { given, signed }) => hasCommon(given, [hmacOf(secret, signed)]),
  shown: ['x-slack-request-timestamp', 'x-slack-retry-num', 'x-slack-retry-reason'],
  formAllowed: true,
};

const stripe: Scheme = {
  claim({ headers, body, atMs }) {
    const elements = (headerOf(headers, 'stripe-signature') ?? '').split(',');
    // A space is where two headers were joined.
    if (!elements.every((element) => /^\w+=[^=\s]*$/.test(element))) return undefined;
    const valuesOf = (name: string) =>
      elements.flatMap((element) => (element.startsWith(`${name}=`) ? [element.slice(name.length + 1)] : []));
    const [timestamp = '', ...others] = valuesOf('t');
    const given = bytesFrom(valuesOf('v1'), digestFromHex);
    if (others.length > 0 || given === undefined || !isFresh(timestamp, atMs)) return undefined;
    return { signed: [`${timestamp}.`, body], given, deliveryId: digestId(body), isTimed: true };
  },
  // The secret is used as it is written, prefix and all.
  isMadeWith: (secret, { given, signed }) => hasCommon(given, [hmacOf(secret, signed)]),
  shown: [],
  idIn(body) {
    const id = isJsonObject(body) ? body['id'] : undefined;
    return typeof id === 'string' && /^[0-9A-Za-z_-]{1,100}$/.test(id) ? id : undefined;
  },
};

const standardWebhooks: Scheme = {
  claim({ headers, body, atMs }) {
    const id = headerOf(headers, 'webhook-id') ?? '';
    const timestamp = headerOf(headers, 'webhook-timestamp') ?? '';
    const signatures = (headerOf(headers, 'webhook-signature') ?? '').split(' ');
    // A comma at an end is where two headers were joined.
    if (!signatures.every((text) => /^v\w+,[\w+/=-]+$/.test(text))) return undefined;
    const of = (version: string) =>
      signatures.flatMap((text) => (text.startsWith(version) ? [text.slice(version.length)] : []));
    const given = bytesFrom(of('v1,'), (text) => bytesFromBase64(text, 32));
    const asymmetric = bytesFrom(of('v1a,'), (text) => bytesFromBase64(text, 64));
    if (signatures.length > signaturesMax || (given ?? asymmetric) === undefined) return undefined;
    // Id and time are joined with a dot: with one in it, a signature would fit two ids.
    if (!/^[\x21-\x2d\x2f-\x7e]{1,200}$/.test(id) || !isFresh(timestamp, atMs)) return undefined;
    return {
      signed: [`${id}.${timestamp}.`, body],
      given: given ?? [],
      signatures: asymmetric ?? [],
      deliveryId: id,
      isTimed: true,
    };
  },
  isMadeWith(secret, { given, signed, signatures = [] }) {
    const [, kind = 'whsec_', text = ''] = /^(whsec_|whpk_)?(.*)$/s.exec(secret) ?? [];
    const key = Buffer.from(text, 'base64');
    const isBase64 = key.length > 0 && key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
    if (!isBase64) return undefined;
    return kind === 'whpk_' ? isSignedBy(key, signed, signatures) : hasCommon(given, [hmacOf(key, signed)]);
  },
  shown: ['webhook-id', 'webhook-timestamp'],
};

const bearer: Scheme = {
  claim({ headers, body }) {
    const [, token] = /^Bearer +([\x21-\x2b\x2d-\x7e]+)$/i.exec(headerOf(headers, 'authorization') ?? '') ?? [];
    if (token === undefined) return undefined;
    const named = headerOf(headers, 'idempotency-key');
    const isNamed = named !== undefined && /^[\x21-\x2b\x2d-\x7e]{1,200}$/.test(named);
    return { signed: [], given: [sha256(token)], deliveryId: isNamed ? named : digestId(body) };
  },
  // Digests have one length, and comparing them reveals nothing about the token.
  isMadeWith: (secret, { given }) => hasCommon(given, [sha256(secret)]),
  shown: ['idempotency-key'],
};

/** The kinds of senders that have a secret, by name. */
export const schemes: Readonly<Record<SecretScheme, Scheme>> = { github, slack, stripe, standardWebhooks, bearer };

/** How deliveries are read, by the kind of their sender. */
export const manners: Readonly<Record<HookScheme, Manner>> = { ...schemes, jwt: { shown: [] } };

/** Returns undefined if there is none, or too many. */
function bytesFrom(
  texts: readonly string[],
  read: (text: string) => Uint8Array | undefined,
): readonly Uint8Array[] | undefined {
  if (texts.length > signaturesMax) return undefined;
  const found = texts.map(read).filter((bytes) => bytes !== undefined);
  return found.length === 0 ? undefined : found;
}

/** Returns the id of a delivery whose sender gives none: equal bodies count as one. */
export function digestId(body: Uint8Array): string {
  return `sha256:${sha256(body).toString('hex')}`;
}
