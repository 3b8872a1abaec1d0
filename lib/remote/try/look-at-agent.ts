import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { A2aAgentConfig } from '../../workflow/app.js';
import { anyHost, preferredInterface, readAgentCard, type AgentCard } from '../a2a/agent-card.js';
import { callFor } from '../a2a/call.js';
import type { A2aInterface } from '../a2a/interface.js';
import { contextIdOf } from '../a2a/message-id.js';
import type { A2aOperation } from '../a2a/operation.js';
import { RemoteEndpoint, type Send } from '../endpoint/endpoint.js';
import type { Exchange } from '../rpc/exchange.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import { startReplyOf } from '../rpc/failed-exchange.js';
import {
  authOption,
  authSet,
  isAddressProblem,
  listed,
  privateOption,
  noDedupes,
  type Fact,
  type Option,
  type ServerLook,
} from './findings.js';
import { cardOf, type FoundCard, type NoCard } from './find-card.js';

/** Reads the card of an agent, and asks the agent for a task and a list that do not exist. Starts nothing. */
export async function lookAtAgent(name: string, config: A2aAgentConfig, deps: TransportDeps): Promise<ServerLook> {
  const home = config.url ?? (typeof config.card === 'string' ? config.card : 'https://agent.invalid/');
  const endpoint = new RemoteEndpoint(name, { ...config, url: home }, deps);
  const { look } = await endpoint.converse('GetAgentCard', async (send) => {
    const found = await cardOf(config, send);
    return {
      kind: 'looked',
      look: 'problem' in found ? withoutCard(config, found) : await lookBehind(config, found, send, deps),
    };
  });
  return look;
}

function withoutCard(config: A2aAgentConfig, { problem, status }: NoCard): ServerLook {
  const options = [
    ...(status === 401 || status === 403 ? [authOption] : []),
    ...(isAddressProblem(problem) ? [privateOption] : []),
  ];
  return {
    callable: false,
    config,
    facts: [{ name: 'auth', text: authSet(config) }],
    missing: [problem],
    options,
  };
}

async function lookBehind(
  config: A2aAgentConfig,
  { raw, card }: FoundCard,
  send: Send,
  deps: TransportDeps,
): Promise<ServerLook> {
  const to = preferredInterface(card.interfaces);
  const probes = to === undefined ? undefined : await probe(to, config, send, deps);
  const schemes = schemesIn(raw);
  const asksAuth = probes?.refusesStrangers === true;
  const capabilities = objectIn(raw['capabilities']);
  const foreign = to === undefined ? foreignHosts(config, raw) : [];
  const facts: Fact[] = [
    { name: 'speaks', text: spoken(config, raw, to, card) },
    { name: 'auth', text: `${authSet(config)}; requested: ${authAsked(raw, schemes, asksAuth)}` },
    { name: 'streams', text: yes(card.streams) },
    { name: 'pushes', text: `${yes(capabilities['pushNotifications'] === true)}; outwait polls and needs none` },
    { name: 'tasks', text: 'decided by the agent for each message: a task, or a message at once' },
    {
      name: 'dedupes',
      text: card.dedupes
        ? 'yes, the card says so'
        : config.dedupes === true
          ? 'yes, the entry says so'
          : 'the card does not say so',
    },
    { name: 'lists tasks', text: listText(to, probes) },
    { name: 'skills', text: listed(skillsIn(raw)) },
  ];
  const missing = [
    ...(card.problem === undefined ? [] : [card.problem]),
    ...(card.dedupes || config.dedupes === true ? [] : [noDedupes]),
    ...(probes?.problem === undefined ? [] : [probes.problem]),
  ];
  const options: Option[] = [
    ...((asksAuth || requiresAuth(raw)) && config.auth === undefined ? [authOption] : []),
    ...(foreign.length === 0
      ? []
      : [
          {
            line: `allowedHosts: ${JSON.stringify([...(config.allowedHosts ?? []), ...foreign])}`,
            why: 'the card points to this host; if that is right, credentials are sent there too',
          },
        ]),
    ...(card.hasExtended && config.extendedCard !== true
      ? [{ line: 'extendedCard: true', why: 'the agent shows a fuller card to authenticated clients' }]
      : []),
    ...(probes?.problem !== undefined && isAddressProblem(probes.problem) ? [privateOption] : []),
  ];
  return { callable: to !== undefined && probes?.problem === undefined, config, facts, missing, options };
}

interface Probes {
  /** Whether ListTasks is answered for a context. */
  readonly lists: boolean;
  readonly refusesStrangers: boolean;
  /** Why the agent cannot be called at all. */
  readonly problem?: string;
}

/** Reads a task that was never started, and lists a context that was never used. */
async function probe(to: A2aInterface, config: A2aAgentConfig, send: Send, { random }: TransportDeps): Promise<Probes> {
  const unused = contextIdOf(random.hex(16));
  const ask = async (operation: A2aOperation): Promise<Exchange> =>
    (await send(callFor(to, operation, config.extensions ?? []), { url: to.url })).exchange;
  const task = await ask({ kind: 'get', taskId: unused });
  const list = to.wire === '1.0' ? await ask({ kind: 'list', contextId: unused }) : undefined;
  const status = 'status' in task ? task.status : undefined;
  const isAnswer = task.kind === 'result' || task.kind === 'rpc_error';
  return {
    lists: list?.kind === 'result',
    refusesStrangers: status === 401 || status === 403,
    ...defined({
      problem: isAnswer ? undefined : `a read of a task did not return a response of the protocol: ${problemIn(task)}`,
    }),
  };
}

function problemIn(exchange: Exchange): string {
  return exchange.kind === 'result' ? 'a result' : startReplyOf(exchange).error.message;
}

function spoken(config: A2aAgentConfig, raw: JsonObject, to: A2aInterface | undefined, card: AgentCard): string {
  if (to === undefined) return 'nothing that can be called';
  const named = typeof raw['name'] === 'string' ? `, "${raw['name']}"` : '';
  const version = typeof raw['version'] === 'string' ? ` ${raw['version']}` : '';
  const others = card.interfaces.filter((other) => other !== to).map(({ wire, binding }) => `${wire} ${binding}`);
  const more = others.length === 0 ? '' : `; also ${others.join(', ')}`;
  const source = config.url === undefined ? '' : ' (from the entry, which has no card)';
  return `A2A ${to.wire} over ${to.binding}${source}${named}${version}${more}`;
}

function listText(to: A2aInterface | undefined, probes: Probes | undefined): string {
  if (to?.wire === '0.3') return 'no, A2A 0.3 cannot list tasks';
  return probes?.lists === true ? 'yes, used to find the task of a start without a reply' : 'no';
}

function authAsked(raw: JsonObject, schemes: readonly string[], refusesStrangers: boolean): string {
  const inCard = schemes.length === 0 ? '' : schemes.join(', ');
  if (refusesStrangers) return inCard === '' ? 'yes, but the card does not say which kind' : `${inCard}, not satisfied`;
  if (inCard === '') return 'nothing';
  return requiresAuth(raw) ? inCard : `${inCard} (declared, not required)`;
}

/** Returns the schemes, such as `bearer (http bearer)`, from a card of either version. */
function schemesIn(raw: JsonObject): readonly string[] {
  return Object.entries(objectIn(raw['securitySchemes'])).map(([name, scheme]) => {
    const said = objectIn(scheme);
    if (typeof said['type'] === 'string')
      return `${name} (${[said['type'], said['scheme']].filter((part) => typeof part === 'string').join(' ')})`;
    return `${name} (${Object.keys(said).join(', ').replaceAll('SecurityScheme', '')})`;
  });
}

function requiresAuth(raw: JsonObject): boolean {
  return [raw['security'], raw['securityRequirements'], raw['security_requirements']].some(
    (list) => Array.isArray(list) && list.length > 0,
  );
}

function skillsIn(raw: JsonObject): readonly string[] {
  const { skills } = raw;
  if (!Array.isArray(skills)) return [];
  return (skills as readonly JsonValue[]).map((skill) => objectIn(skill)['id']).filter((id) => typeof id === 'string');
}

function foreignHosts(config: A2aAgentConfig, raw: JsonObject): readonly string[] {
  const known = [
    ...(typeof config.card === 'string' ? [new URL(config.card).host] : []),
    ...(config.allowedHosts ?? []),
  ];
  const any = readAgentCard(raw, anyHost);
  const hosts = any?.interfaces.map(({ url }) => new URL(url).host) ?? [];
  return [...new Set(hosts)].filter((host) => !known.includes(host));
}

function yes(value: boolean): string {
  return value ? 'yes' : 'no';
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
