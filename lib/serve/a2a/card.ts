// Agent cards of what an app serves, for 1.0 and for clients that send no version. Pure.

import {
  callChainExtension,
  idempotentSendExtension,
  sequenceExtension,
  skillSchemasExtension,
} from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { type JsonObject, utf8Bytes } from '../../base/json.js';
import type { AnyWorkflow } from '../../workflow/context.js';
import type { AgentSecurity, ServeConfig, SkillConfig } from '../../workflow/serve.js';
import { skillSchemaOf } from '../../workflow/skill-schema.js';
import type { A2aVersion } from './call.js';
import { toldSchemaMaxBytes } from './limits.js';

/** What a card is made of. */
export interface CardOf {
  readonly serve: ServeConfig;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  /** URL under which the doors are, without a slash at the end. */
  readonly baseUrl: string;
  /** Whether news of tasks are pushed. */
  readonly pushes: boolean;
  /** The only skill of the agent. Default: all skills. */
  readonly skill?: string | undefined;
  /** Who sees the card. */
  readonly reader: 'public' | 'callers';
}

/** URIs of the extensions of every served agent. */
export function extensionsOf({ agent }: ServeConfig): readonly string[] {
  const own = agent.extensions ?? [];
  return [
    idempotentSendExtension,
    sequenceExtension,
    callChainExtension,
    skillSchemasExtension,
    ...own.map(({ uri }) => uri),
  ];
}

/** Whether callers see more in the extended card than others in the public one. */
export function hasExtendedCard({ skills = {} }: ServeConfig, skill?: string): boolean {
  const shown = skill === undefined ? Object.values(skills) : [skills[skill]];
  return shown.some((config) => config?.listed === 'callers');
}

/**
 * Returns the agent card. For a client of 0.3, or one that does not say: a card of 0.3 that also names the interfaces of
 * 1.0. The members differ, but for the security schemes, which are those of 0.3 then.
 */
export function agentCard(of: CardOf, version: A2aVersion): JsonObject {
  const { serve, skill } = of;
  const { agent } = serve;
  const config = skill === undefined ? undefined : serve.skills?.[skill];
  const common = {
    name: skill === undefined ? agent.name : (config?.title ?? skill),
    description: config?.description ?? agent.description,
    version: agent.version ?? '1',
    supportedInterfaces: interfacesOf(of),
    capabilities: capabilitiesOf(of),
    defaultInputModes: ['application/json', 'text/plain'],
    defaultOutputModes: ['application/json', 'text/plain'],
    skills: skillsOf(of),
    ...defined({ provider: agent.provider && { ...agent.provider } }),
    ...defined({ documentationUrl: agent.documentationUrl, iconUrl: agent.iconUrl }),
  };
  const security = agent.security ?? [];
  return version === '1.0'
    ? { ...common, ...securityOf10(security) }
    : { ...common, ...membersOf03(of), ...securityOf03(security) };
}

/** Returns the URL of the JSON-RPC door; that of HTTP+JSON is below it. */
function doorOf({ baseUrl, skill }: CardOf): string {
  return skill === undefined ? `${baseUrl}/a2a` : `${baseUrl}/agents/${encodeURIComponent(skill)}/a2a`;
}

function interfacesOf(of: CardOf): readonly JsonObject[] {
  const url = doorOf(of);
  return [
    { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ];
}

function capabilitiesOf(of: CardOf): JsonObject {
  const { serve, skill, pushes } = of;
  const schemas = schemasOf(of);
  return {
    streaming: true,
    pushNotifications: pushes,
    extensions: [
      { uri: idempotentSendExtension, description: 'A repeated message is answered with the task that it started.' },
      { uri: sequenceExtension, description: 'Tasks and events carry their generation; streams go on after one.' },
      {
        uri: callChainExtension,
        description: 'Messages carry the calls that have led to them, and their depth is limited.',
      },
      {
        uri: skillSchemasExtension,
        description: 'JSON Schemas of the arguments of skills.',
        params: { skills: schemas },
      },
      ...(serve.agent.extensions ?? []).map(({ uri, description, required, params }) => ({
        uri,
        ...defined({ description, required: required === true ? true : undefined, params }),
      })),
    ],
    ...defined({ extendedAgentCard: hasExtendedCard(serve, skill) || undefined }),
  };
}

/** Returns the skills that the card shows. An agent for messages alone has one skill that says so. */
function shownSkills({ serve, skill, reader }: CardOf): readonly (readonly [string, SkillConfig])[] {
  const all = Object.entries(serve.skills ?? {});
  if (all.length === 0 && serve.onMessage !== undefined)
    return [[serve.onMessage, { description: serve.agent.description, tags: ['messages'] }]];
  return all.filter(
    ([name, { listed }]) => (skill === undefined || name === skill) && (listed !== 'callers' || reader === 'callers'),
  );
}

function schemasOf(of: CardOf): JsonObject {
  const schemas = shownSkills(of).map(([name]) => [name, inputOf(of, name)] as const);
  return Object.fromEntries(schemas.flatMap(([name, input]) => (input === undefined ? [] : [[name, { input }]])));
}

/** A workflow for messages takes these, not arguments by name. */
function inputOf({ serve, workflows }: CardOf, name: string): JsonObject | undefined {
  const workflow = workflows.get(name);
  return workflow === undefined || name === serve.onMessage ? undefined : skillSchemaOf(workflow);
}

function skillsOf(of: CardOf): readonly JsonObject[] {
  return shownSkills(of).map(([id, { description, title, tags, examples }]) => {
    const input = inputOf(of, id);
    return {
      id,
      name: title ?? id,
      description: `${description}${input === undefined ? '' : schemaText(id, input)}`,
      tags: tags === undefined || tags.length === 0 ? ['workflow'] : tags,
      ...defined({
        examples: examples === undefined || examples.length === 0 ? undefined : examples,
        inputModes: input === undefined ? undefined : ['application/json'],
      }),
    };
  });
}

/** Tells people and models how to call a skill: A2A has no field for that. */
function schemaText(skill: string, input: JsonObject): string {
  const how = `\n\nSend one data part {"skill":${JSON.stringify(skill)},"arguments":…}`;
  const text = JSON.stringify(input);
  return utf8Bytes(text) <= toldSchemaMaxBytes
    ? `${how} with arguments of this JSON Schema: ${text}`
    : `${how}; the extension ${skillSchemasExtension} of this card has the JSON Schema of the arguments.`;
}

function securityOf10(security: readonly AgentSecurity[]): JsonObject {
  if (security.length === 0) return {};
  return {
    securitySchemes: Object.fromEntries(security.map((scheme) => [scheme.name, schemeOf10(scheme)])),
    securityRequirements: security.map(({ name, scopes = [] }) => ({
      schemes: { [name]: scopes.length === 0 ? {} : { list: scopes } },
    })),
  };
}

function schemeOf10(given: AgentSecurity): JsonObject {
  const description = defined({ description: given.description });
  switch (given.type) {
    case 'http': {
      const { scheme, bearerFormat } = given;
      return { httpAuthSecurityScheme: { ...description, scheme, ...defined({ bearerFormat }) } };
    }
    case 'apiKey':
      return { apiKeySecurityScheme: { ...description, location: given.in, name: given.parameter } };
    case 'openIdConnect':
      return { openIdConnectSecurityScheme: { ...description, openIdConnectUrl: given.openIdConnectUrl } };
  }
}

function membersOf03(of: CardOf): JsonObject {
  const url = doorOf(of);
  const extended = hasExtendedCard(of.serve, of.skill);
  return {
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    ...defined({ supportsAuthenticatedExtendedCard: extended || undefined }),
  };
}

function securityOf03(security: readonly AgentSecurity[]): JsonObject {
  if (security.length === 0) return {};
  return {
    securitySchemes: Object.fromEntries(security.map((scheme) => [scheme.name, schemeOf03(scheme)])),
    security: security.map(({ name, scopes = [] }) => ({ [name]: scopes })),
  };
}

function schemeOf03(given: AgentSecurity): JsonObject {
  const description = defined({ description: given.description });
  switch (given.type) {
    case 'http': {
      const { type, scheme, bearerFormat } = given;
      return { type, ...description, scheme: scheme.toLowerCase(), ...defined({ bearerFormat }) };
    }
    case 'apiKey':
      return { type: given.type, ...description, in: given.in, name: given.parameter };
    case 'openIdConnect':
      return { type: given.type, ...description, openIdConnectUrl: given.openIdConnectUrl };
  }
}
