// Agent cards of 1.0 and 0.3, and of versions in between. Pure.

import { idempotentSendExtension, sequenceExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { cutUtf8, isJsonObject, utf8Bytes, type JsonObject, type JsonValue } from '../../base/json.js';
import { remoteIdMaxBytes } from '../../base/limits.js';
import type { A2aInterface, A2aWire } from './interface.js';

/** Maximum number of interfaces of a card that are considered. */
const agentInterfacesMax = 32;

/** Parts of an agent card that a caller uses. */
export interface AgentCard {
  /** Interfaces that we speak and may call, in the order of the card. */
  readonly interfaces: readonly A2aInterface[];
  /** Reason why there is no interface, if there is none. */
  readonly problem: string | undefined;
  /** Whether the agent deduplicates repeated starts. */
  readonly dedupes: boolean;
  /** Whether the agent shows the generations of its tasks to clients that activate our extension. */
  readonly sequences: boolean;
  readonly streams: boolean;
  /** Whether the card declares streaming, so that a start may be sent over a stream. */
  readonly startsOverStream: boolean;
  /** Whether the card declares push notifications. */
  readonly pushes: boolean;
  /** Whether there is an extended card for authenticated callers. */
  readonly hasExtended: boolean;
}

/** Rule for where the interfaces of a card may point: credentials are sent there. */
export interface CardRule {
  /** Hosts as in a URL, with the port if it is not the default. `any`: the author has written the card. */
  readonly hosts: readonly string[] | 'any';
  /** Whether interfaces must be on https, because the card was read over https. */
  readonly httpsOnly: boolean;
}

/** Returns the rule for the card at `cardUrl`: it may point to its own host and to those that the author allows. */
export function cardRuleOf(cardUrl: string, allowedHosts: readonly string[] = []): CardRule {
  const { host, protocol } = new URL(cardUrl);
  return { hosts: [host, ...allowedHosts], httpsOnly: protocol === 'https:' };
}

/** Rule for a card that the author has written. */
export const anyHost: CardRule = { hosts: 'any', httpsOnly: false };

/** Returns the card of an agent called at `url` that has none. Whether it streams shows when it is watched. */
export function cardOfUrl(url: string, tenant?: string): AgentCard & { readonly interfaces: readonly [A2aInterface] } {
  const to = { url, binding: 'JSONRPC', wire: '1.0', ...defined({ tenant }) } as const;
  return {
    interfaces: [to],
    problem: undefined,
    dedupes: false,
    sequences: false,
    streams: true,
    startsOverStream: false,
    pushes: false,
    hasExtended: false,
  };
}

/**
 * Returns the URL of an agent's card, from the card's own URL or the one under which it is well known (section 8.2).
 */
export function cardUrlOf(configured: string): string {
  const url = new URL(configured);
  if (url.pathname.endsWith('.json')) return url.href;
  url.pathname = `${url.pathname.replace(/\/$/, '')}/.well-known/agent-card.json`;
  return url.href;
}

/** Reads an agent card. Returns undefined if it is not one. */
export function readAgentCard(card: JsonValue, rule: CardRule): AgentCard | undefined {
  if (!isJsonObject(card)) return undefined;
  const offered = offersIn(card);
  if (offered === undefined) return undefined;
  const spoken = offered.slice(0, agentInterfacesMax).flatMap(spokenIn);
  const interfaces = spoken.filter(({ url }) => mayCall(new URL(url), rule));
  const capabilities = isJsonObject(card['capabilities']) ? card['capabilities'] : {};
  const declares = (extension: string) => objectsIn(capabilities['extensions']).some(({ uri }) => uri === extension);
  return {
    interfaces,
    problem: interfaces.length > 0 ? undefined : problemWith(offered, spoken, rule),
    dedupes: declares(idempotentSendExtension),
    sequences: declares(sequenceExtension),
    streams: capabilities['streaming'] === true,
    startsOverStream: capabilities['streaming'] === true,
    pushes: capabilities['pushNotifications'] === true,
    hasExtended: capabilities['extendedAgentCard'] === true || card['supportsAuthenticatedExtendedCard'] === true,
  };
}

/**
 * Returns the interface for new tasks: the first of 1.0 in the order of the card, else the first of 0.3. Not simply the
 * first: a card that lists 0.3 before 1.0 must not cause an unnoticed downgrade (section 3.6.3).
 */
export function preferredInterface(interfaces: readonly A2aInterface[]): A2aInterface | undefined {
  return interfaces.find(({ wire }) => wire === '1.0') ?? interfaces[0];
}

interface Offer {
  readonly url: JsonValue | undefined;
  readonly binding: JsonValue | undefined;
  readonly version: JsonValue | undefined;
  readonly tenant?: JsonValue | undefined;
}

/** Returns the offers of a card. A list of 1.0 wins, even if the card also has the fields of 0.3. */
function offersIn(card: JsonObject): readonly Offer[] | undefined {
  const supported = objectsIn(card['supportedInterfaces']);
  if (supported.length > 0) {
    return supported.map(({ url, protocolBinding, protocolVersion, tenant }) => ({
      url,
      binding: protocolBinding,
      version: given(protocolVersion, '1.0'),
      tenant,
    }));
  }
  const { url } = card;
  if (typeof url !== 'string') return undefined;
  const version = given(card['protocolVersion'], '0.3');
  const additional = objectsIn(card['additionalInterfaces']);
  return [
    { url, binding: given(card['preferredTransport'], 'JSONRPC'), version },
    ...additional.map((other) => ({ url: other['url'], binding: other['transport'], version })),
  ];
}

/** Returns a field or its default. Empty counts as missing: ProtoJSON writes both for an unset field. */
function given(value: JsonValue | undefined, otherwise: string): JsonValue {
  return value === undefined || value === null || value === '' ? otherwise : value;
}

/** Returns no interface if we do not speak the offered one. */
function spokenIn({ url, binding, version, tenant }: Offer): readonly A2aInterface[] {
  const wire = wireOf(version);
  if (wire === undefined || !isUsableUrl(url)) return [];
  if (binding !== 'JSONRPC' && (binding !== 'HTTP+JSON' || wire === '0.3')) return [];
  const named = typeof tenant === 'string' && tenant !== '' && utf8Bytes(tenant) <= remoteIdMaxBytes;
  return [{ url, binding, wire, ...defined({ tenant: named ? tenant : undefined }) }];
}

/** Ignores patch numbers (section 3.6.1), and minor ones after 1; cards of 0.2 describe what 0.3 still speaks. */
function wireOf(version: JsonValue | undefined): A2aWire | undefined {
  if (typeof version !== 'string') return undefined;
  if (/^1(\.|$)/.test(version)) return '1.0';
  return /^0\.[23](\.|$)/.test(version) ? '0.3' : undefined;
}

function isUsableUrl(url: JsonValue | undefined): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function mayCall({ host, protocol }: URL, { hosts, httpsOnly }: CardRule): boolean {
  if (httpsOnly && protocol !== 'https:') return false;
  return hosts === 'any' || hosts.includes(host);
}

/** Returns why no interface can be used, with the remedy: what the card offers, or the line that allows its host. */
function problemWith(offered: readonly Offer[], spoken: readonly A2aInterface[], rule: CardRule): string {
  if (spoken.length === 0) {
    const offers = offered.slice(0, offersShown).map(({ binding, version }) => `${shown(binding)} ${shown(version)}`);
    return `the agent card offers no supported interface (JSON-RPC 1.0, HTTP+JSON 1.0 or JSON-RPC 0.3), only ${offers.join(', ')}`;
  }
  const { hosts } = rule;
  const foreign = spoken.map(({ url }) => new URL(url).host).find((host) => hosts !== 'any' && !hosts.includes(host));
  if (foreign === undefined) return 'the agent card was read over https but points to an interface over http';
  const own = hosts === 'any' ? [] : hosts;
  return `the agent card of ${own.join(', ')} points to the host ${foreign}, which is not its own; if that is intended, add allowedHosts: [${JSON.stringify(foreign)}]`;
}

const offersShown = 5;

function shown(value: JsonValue | undefined): string {
  return cutUtf8(typeof value === 'string' ? value : JSON.stringify(value ?? null), 40);
}

function objectsIn(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}
