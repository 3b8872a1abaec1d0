import type { StoredError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { agentCardAgeMaxMs, agentCardAgeMinMs } from '../../base/limits.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { A2aAgentConfig } from '../../workflow/app.js';
import type { Send } from '../endpoint/endpoint.js';
import { handleProblem } from '../endpoint/handle.js';
import { remoteError, violationError } from '../rpc/remote-error.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { FailedExchange } from '../rpc/failed-exchange.js';
import {
  anyHost,
  cardOfUrl,
  cardRuleOf,
  cardUrlOf,
  preferredInterface,
  readAgentCard,
  type AgentCard,
  type CardRule,
} from './agent-card.js';
import { callFor } from './call.js';
import { fetchCard, notSent, type CardRead } from './fetch-card.js';
import type { A2aInterface } from './interface.js';
import { agentCardTimeoutMs } from './limits.js';

/** Interface on which to call an agent, or why none is known; in that case nothing was sent to the agent. */
export type FoundInterface =
  | { readonly kind: 'interface'; readonly to: A2aInterface; readonly card: AgentCard }
  | { readonly kind: 'none'; readonly failure: FailedExchange };

/** Finds the interface on which to call an agent. */
export interface AgentInterfaces {
  /** Returns the interface for a new task. */
  forStart(send: Send): Promise<FoundInterface>;
  /** Returns the interface for an existing task: that of its handle, as long as the card has it. */
  forTask(handle: RemoteTaskHandle, send: Send): Promise<FoundInterface>;
  /** Returns another interface, if any, after the agent no longer knew the methods or the version of `refused`. */
  insteadOf(refused: A2aInterface, send: Send): Promise<FoundInterface>;
}

/** An agent without a card, which has one interface. */
export class FixedInterface implements AgentInterfaces {
  readonly #to: A2aInterface;
  readonly #card: ReturnType<typeof cardOfUrl>;

  constructor(url: string, tenant?: string) {
    this.#card = cardOfUrl(url, tenant);
    [this.#to] = this.#card.interfaces;
  }

  async forStart(): Promise<FoundInterface> {
    return { kind: 'interface', to: this.#to, card: this.#card };
  }

  async forTask(handle: RemoteTaskHandle): Promise<FoundInterface> {
    const { binding, wire } = this.#to;
    const problem = handleProblem(handle, 'a2a', wire);
    if (problem !== undefined) return none(problem);
    const to = handle.tenant === undefined ? this.#to : { ...this.#to, tenant: handle.tenant };
    if ((handle.binding ?? 'JSONRPC') === binding) return { kind: 'interface', to, card: this.#card };
    const text = `the task was started over ${handle.binding}, but the agent is now called over ${binding}`;
    return none(remoteError('CONFIG_INVALID', text));
  }

  async insteadOf(): Promise<FoundInterface> {
    return none(remoteError('CONFIG_INVALID', 'the agent has only one interface'));
  }
}

interface Known {
  readonly card: AgentCard;
  readonly etag: string | undefined;
  readonly askedAtMs: EpochMs;
  readonly freshUntilMs: EpochMs;
  /** Interfaces of this card whose methods or version the agent has refused since. */
  readonly refused: Set<A2aInterface>;
}

/**
 * An agent with a card, which is read at first use and cached in memory: a start looks for a newer one when the
 * server's time for it is over, a read of a task after an hour. One cached card suffices, since a configured
 * server has one set of credentials. A card that cannot be read again stays in use.
 */
export class CardInterfaces implements AgentInterfaces {
  readonly #config: A2aAgentConfig;
  readonly #clock: Clock;
  readonly #source:
    { readonly kind: 'url'; readonly url: string } | { readonly kind: 'inline'; readonly card: JsonValue };
  readonly #reading = new SingleFlight<Known | FailedExchange>();
  #known: Known | undefined;

  constructor(config: A2aAgentConfig, card: NonNullable<A2aAgentConfig['card']>, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
    this.#source = typeof card === 'string' ? { kind: 'url', url: cardUrlOf(card) } : { kind: 'inline', card };
  }

  async forStart(send: Send): Promise<FoundInterface> {
    return choose(await this.#read(send, ({ freshUntilMs }) => this.#clock.nowMs() < freshUntilMs));
  }

  async forTask(handle: RemoteTaskHandle, send: Send): Promise<FoundInterface> {
    const { wire, binding = 'JSONRPC', tenant } = handle;
    const problem = handleProblem(handle, 'a2a', wire === '0.3' ? wire : '1.0');
    if (problem !== undefined) return none(problem);
    const known = await this.#read(send, ({ askedAtMs }) => this.#clock.nowMs() - askedAtMs < agentCardAgeMaxMs);
    const isSameWay = (to: A2aInterface): boolean => to.wire === wire && to.binding === binding;
    return choose(known, {
      wantedOf: (left) => left.find((to) => isSameWay(to) && to.tenant === tenant) ?? left.find(isSameWay),
    });
  }

  async insteadOf(refused: A2aInterface, send: Send): Promise<FoundInterface> {
    this.#known?.refused.add(refused);
    // Limits reads of the card: an agent that refuses everything must not have it read with every poll.
    const known = await this.#read(send, ({ askedAtMs }) => this.#clock.nowMs() - askedAtMs < agentCardAgeMinMs);
    return choose(known, { unwanted: (to) => isSame(to, refused) });
  }

  async #read(send: Send, isFresh: (known: Known) => boolean): Promise<Known | FailedExchange> {
    if (this.#known !== undefined && isFresh(this.#known)) return this.#known;
    return this.#reading.run(() => this.#readAnew(send, this.#known));
  }

  async #readAnew(send: Send, before: Known | undefined): Promise<Known | FailedExchange> {
    const askedAtMs = this.#clock.nowMs();
    const read = await this.#card(send, before);
    if (read.kind === 'failure') {
      if (before === undefined) return read.failure;
      this.#known = { ...before, askedAtMs, freshUntilMs: askedAtMs + agentCardAgeMinMs };
    } else {
      const { card, etag, ageMs } = read;
      this.#known = { card, etag, askedAtMs, freshUntilMs: askedAtMs + ageMs, refused: new Set() };
    }
    return this.#known;
  }

  async #card(send: Send, before: Known | undefined) {
    const read =
      this.#source.kind === 'url' ? await fetchCard(this.#source.url, before?.etag, send) : inline(this.#source.card);
    switch (read.kind) {
      case 'failure':
        return read;
      case 'same': {
        const { card, etag } = before ?? {};
        if (card !== undefined) return { ...read, card, etag };
        return {
          kind: 'failure',
          failure: notSent(violationError('the agent reports an unchanged card, but none was read before')),
        } as const;
      }
      case 'card': {
        const rule = this.#rule();
        const card = readAgentCard(read.card, rule);
        if (card !== undefined) return { ...read, card: await this.#extended(card, rule, send) };
        return { kind: 'failure', failure: notSent(violationError('the agent card has no interfaces')) } as const;
      }
    }
  }

  #rule(): CardRule {
    return this.#source.kind === 'inline' ? anyHost : cardRuleOf(this.#source.url, this.#config.allowedHosts);
  }

  /** Returns the card for authenticated callers, or `card` if there is none (section 3.1.11). */
  async #extended(card: AgentCard, rule: CardRule, send: Send): Promise<AgentCard> {
    const to = preferredInterface(card.interfaces);
    if (this.#config.extendedCard !== true || !card.hasExtended || to === undefined) return card;
    const call = callFor(to, { kind: 'extended_card' }, this.#config.extensions ?? []);
    const { exchange } = await send(call, { url: to.url, timeoutMs: agentCardTimeoutMs });
    if (exchange.kind !== 'result') return card;
    // Allows the hosts of a card written by the author, and no others.
    const hosts =
      rule.hosts === 'any'
        ? [...card.interfaces.map(({ url }) => new URL(url).host), ...(this.#config.allowedHosts ?? [])]
        : rule.hosts;
    const extended = readAgentCard(exchange.result, { ...rule, hosts });
    return extended === undefined || extended.interfaces.length === 0 ? card : extended;
  }
}

/**
 * Returns the interface that `wantedOf` picks, or else the preferred one. Refused ones come last, `unwanted` ones
 * never.
 */
function choose(
  known: Known | FailedExchange,
  {
    wantedOf = () => undefined,
    unwanted = () => false,
  }: {
    readonly wantedOf?: (interfaces: readonly A2aInterface[]) => A2aInterface | undefined;
    readonly unwanted?: (to: A2aInterface) => boolean;
  } = {},
): FoundInterface {
  if (!('card' in known)) return { kind: 'none', failure: known };
  const { card, refused } = known;
  const possible = card.interfaces.filter((to) => !unwanted(to));
  const left = possible.filter((to) => !refused.has(to));
  const to = wantedOf(left) ?? preferredInterface(left) ?? preferredInterface(possible);
  if (to !== undefined) return { kind: 'interface', to, card };
  return none(remoteError('CONFIG_INVALID', card.problem ?? 'the agent card has no other interface'));
}

function isSame(one: A2aInterface, other: A2aInterface): boolean {
  return (
    one.url === other.url && one.binding === other.binding && one.wire === other.wire && one.tenant === other.tenant
  );
}

function inline(card: JsonValue): CardRead {
  return { kind: 'card', card, etag: undefined, ageMs: agentCardAgeMaxMs };
}

function none(error: StoredError): FoundInterface {
  return { kind: 'none', failure: notSent(error) };
}

/** Returns the interfaces of an agent: the one at a fixed URL, or those of its card. */
export function interfacesOf(config: A2aAgentConfig, clock: Clock): AgentInterfaces {
  const { url, card, tenant } = config;
  if (url === undefined) return new CardInterfaces(config, card, clock);
  return new FixedInterface(url, tenant);
}

/** Returns the agent's address before its interface is known, for error texts and as the resource of tokens. */
export function homeOf({ url, card }: A2aAgentConfig): string {
  if (url !== undefined) return url;
  if (typeof card === 'string') return card;
  return readAgentCard(card, { hosts: 'any', httpsOnly: false })?.interfaces[0]?.url ?? 'https://agent.invalid/';
}
