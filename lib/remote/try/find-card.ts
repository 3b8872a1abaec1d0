import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { A2aAgentConfig } from '../../workflow/app.js';
import {
  anyHost,
  cardOfUrl,
  cardRuleOf,
  cardUrlOf,
  readAgentCard,
  type AgentCard,
  type CardRule,
} from '../a2a/agent-card.js';
import { fetchCard } from '../a2a/fetch-card.js';
import type { Send } from '../endpoint/endpoint.js';
import { startReplyOf } from '../rpc/failed-exchange.js';

export interface FoundCard {
  readonly raw: JsonObject;
  readonly card: AgentCard;
}

export interface NoCard {
  readonly problem: string;
  readonly status?: number;
}

/** Returns the card of an agent, raw and parsed; for an agent without a card, the one made from its configuration. */
export async function cardOf(config: A2aAgentConfig, send: Send): Promise<FoundCard | NoCard> {
  if (config.url !== undefined) return { raw: {}, card: cardOfUrl(config.url, config.tenant) };
  if (typeof config.card !== 'string') return readable(config.card, anyHost);
  const url = cardUrlOf(config.card);
  const read = await fetchCard(url, undefined, send);
  if (read.kind === 'card') return readable(read.card, cardRuleOf(url, config.allowedHosts));
  if (read.kind === 'same') return { problem: 'the agent answered "not modified" to the first read of its card' };
  const { error } = startReplyOf(read.failure);
  const status = error.details?.['status'] ?? /status (\d{3})/.exec(error.message)?.[1];
  return { problem: error.message, ...defined({ status: status === undefined ? undefined : Number(status) }) };
}

function readable(raw: JsonValue, rule: CardRule): FoundCard | NoCard {
  const card = readAgentCard(raw, rule);
  if (card === undefined || !isJsonObject(raw)) return { problem: 'the agent card has no interfaces' };
  return { raw, card };
}
