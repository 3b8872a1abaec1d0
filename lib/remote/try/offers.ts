// The tools or skills that a server declares, from which types are made.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { A2aAgentConfig, McpServerConfig, ServerConfig } from '../../workflow/app.js';
import { preferredInterface } from '../a2a/agent-card.js';
import { callFor } from '../a2a/call.js';
import { agentCardTimeoutMs } from '../a2a/limits.js';
import { RemoteEndpoint, type Send } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { readToolPages } from '../mcp/tool-pages.js';
import { cardOf, type FoundCard } from './find-card.js';
import { openTools } from './open-tools.js';

/** A tool or a skill. All fields are untrusted text of the server. */
export interface Offer {
  readonly name: string;
  readonly description?: JsonValue | undefined;
  readonly inputSchema?: JsonValue | undefined;
  readonly outputSchema?: JsonValue | undefined;
}

export type Offers =
  | { readonly kind: 'tools'; readonly offers: readonly Offer[]; readonly isCut: boolean }
  /** `offers` is undefined if the agent does not list its skills. */
  | { readonly kind: 'skills'; readonly offers: readonly Offer[] | undefined }
  | { readonly kind: 'unknown'; readonly problem: string };

/** Reads the tools of a server, or the skills of an agent's card. Calls none of them. */
export async function readOffers(name: string, config: ServerConfig, deps: TransportDeps): Promise<Offers> {
  return config.protocol === 'mcp' ? readTools(name, config, deps) : readSkills(name, config, deps);
}

async function readTools(name: string, config: McpServerConfig, deps: TransportDeps): Promise<Offers> {
  const opened = await openTools(name, config, deps);
  if (opened.kind === 'unready') return { kind: 'unknown', problem: opened.error.message };
  const { endpoint, listCall, untilMs } = opened;
  const offers: Offer[] = [];
  const onPage = (page: JsonValue): void => void offers.push(...namedIn(page, 'tools', 'name'));
  const read = await endpoint.converse('tools/list', async (send) => readToolPages(listCall, send, onPage), untilMs);
  if (read.kind === 'unready') return { kind: 'unknown', problem: `tools/list: ${read.error.message}` };
  return { kind: 'tools', offers: offers.map((offer) => withoutJob(offer, config)), isCut: read.isCut };
}

/** Removes the output schema of a tool that starts a job: another tool returns the result. */
function withoutJob(offer: Offer, { jobs = {} }: McpServerConfig): Offer {
  return Object.hasOwn(jobs, offer.name) ? { ...offer, outputSchema: undefined } : offer;
}

async function readSkills(name: string, config: A2aAgentConfig, deps: TransportDeps): Promise<Offers> {
  if (config.url !== undefined) return { kind: 'skills', offers: undefined };
  const home = typeof config.card === 'string' ? config.card : 'https://agent.invalid/';
  const endpoint = new RemoteEndpoint(name, { ...config, url: home }, deps);
  return endpoint.converse<Offers>('GetAgentCard', async (send) => {
    const found = await cardOf(config, send);
    if ('problem' in found) return { kind: 'unknown', problem: found.problem };
    const skills = namedIn(await fullCard(config, found, send), 'skills', 'id');
    return { kind: 'skills', offers: skills.length === 0 ? undefined : skills };
  });
}

/** Returns the extended card if the configuration wants it and there is one, otherwise the public card. */
async function fullCard(config: A2aAgentConfig, { raw, card }: FoundCard, send: Send): Promise<JsonValue> {
  const to = preferredInterface(card.interfaces);
  if (config.extendedCard !== true || !card.hasExtended || to === undefined) return raw;
  const call = callFor(to, { kind: 'extended_card' }, config.extensions ?? []);
  const { exchange } = await send(call, { url: to.url, timeoutMs: agentCardTimeoutMs });
  return exchange.kind === 'result' ? exchange.result : raw;
}

/** Returns the members of a list that have a name. */
function namedIn(holder: JsonValue, list: string, nameKey: string): readonly Offer[] {
  const members = isJsonObject(holder) ? holder[list] : undefined;
  if (!Array.isArray(members)) return [];
  return (members as readonly JsonValue[]).filter(isJsonObject).flatMap((member: JsonObject) => {
    const { [nameKey]: name, description, inputSchema, outputSchema } = member;
    return typeof name === 'string' ? [{ name, description, inputSchema, outputSchema }] : [];
  });
}
