import { isJsonObject, type JsonObject } from '../base/json.js';
import { isList } from '../base/list.js';
import type { AnyWorkflow } from './context.js';
import { skillSchemaOf } from './skill-schema.js';

/** What others may call: workflows as skills of an A2A agent, and as MCP tools of the same names. */
export interface ServeConfig {
  readonly agent: AgentConfig;
  /** The workflows that are served, by name. The input of each must be an object. */
  readonly skills?: Readonly<Record<string, SkillConfig>>;
  /**
   * The workflow for messages that name no skill, such as plain text. Its input is
   * `{ messageId, parts, metadata, contextId }`. Default: none; such messages are refused.
   */
  readonly onMessage?: string;
  /** Most that one caller may do. */
  readonly limits?: ServeLimits;
}

/** What the agent card says of the agent. */
export interface AgentConfig {
  readonly name: string;
  readonly description: string;
  /** URL under which the agent is reached, without `/a2a`. Default: the one that is asked for the card, locally. */
  readonly url?: string;
  /** Default `"1"`. */
  readonly version?: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  /** How callers prove who they are; any one is enough. Only told in the card: the deployment decides who gets in. */
  readonly security?: readonly AgentSecurity[];
  /** Extensions of A2A besides those of outwait. */
  readonly extensions?: readonly AgentExtension[];
}

/** A way for callers to prove who they are, by a name that is unique in the card. */
export type AgentSecurity = {
  readonly name: string;
  readonly description?: string;
  readonly scopes?: readonly string[];
} & (
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat?: string }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'query' | 'cookie'; readonly parameter: string }
  | { readonly type: 'openIdConnect'; readonly openIdConnectUrl: string }
);

/** An extension of A2A whose data the workflows read and write themselves, in metadata. */
export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  /** Whether requests that do not activate the extension are refused. Default false. */
  readonly required?: boolean;
  readonly params?: JsonObject;
}

/** What the agent card and the list of tools say of a served workflow. */
export interface SkillConfig {
  readonly description: string;
  /** Title for people. Default: the name of the workflow. */
  readonly title?: string;
  /** Default `["workflow"]`. */
  readonly tags?: readonly string[];
  readonly examples?: readonly string[];
  /**
   * Whether tasks of one context run one after the other, or side by side. Default `queue` for the workflow of
   * `onMessage`, `parallel` for others.
   */
  readonly context?: 'queue' | 'parallel';
  /** Whether the skill is in the public card, or only in the extended one, for callers. Default `public`. */
  readonly listed?: 'public' | 'callers';
}

/** Most that one caller of served workflows may do. What is missing has its default; `maxLive` has none, and costs nothing. */
export interface ServeLimits {
  /** Tasks under way. Default: no limit. */
  readonly maxLive?: number;
  /** Messages in a minute. Default 60. */
  readonly perMinute?: number;
  /** Tasks of one context. Default 100. */
  readonly turnsPerContext?: number;
  /** Agents in a chain of calls. Default 5. */
  readonly depth?: number;
}

const urlOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value) ? undefined : 'must be an http(s) URL';
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? undefined : 'must be a text that is not empty';
const textsOf = (value: unknown): string | undefined =>
  isList(value) && value.every((text) => textOf(text) === undefined) ? undefined : 'must be a list of texts';
const oneOf =
  (...words: readonly string[]) =>
  (value: unknown): string | undefined =>
    words.includes(value as string) ? undefined : `must be ${words.join(' or ')}`;

type Check = (value: unknown) => string | undefined;
const agentFields: Readonly<Record<string, Check>> = {
  name: textOf,
  description: textOf,
  url: urlOf,
  version: textOf,
  provider: (value) => (isJsonObject(value) ? fields(value, { organization: textOf, url: urlOf }, '') : 'is invalid'),
  documentationUrl: urlOf,
  iconUrl: urlOf,
  security: namedList('name'),
  extensions: namedList('uri'),
};
const skillFields: Readonly<Record<string, Check>> = {
  description: textOf,
  title: textOf,
  tags: textsOf,
  examples: textsOf,
  context: oneOf('queue', 'parallel'),
  listed: oneOf('public', 'callers'),
};
const count: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? undefined : 'must be a whole number from 1';
const limitFields = { maxLive: count, perMinute: count, turnsPerContext: count, depth: count };

/** Checks a list of objects, each with a text of its own in `field`. */
function namedList(field: string): Check {
  return (value) => {
    const named = isList(value) ? value.map((entry) => (isJsonObject(entry) ? entry[field] : undefined)) : [undefined];
    if (!named.every((name) => textOf(name) === undefined)) return `must be a list, each with a ${field}`;
    return new Set(named).size === named.length ? undefined : `must not have the same ${field} twice`;
  };
}

/** Returns what is wrong with a part of the configuration, with the path of the field. */
function fields(given: object, checks: Readonly<Record<string, Check>>, path: string): string | undefined {
  for (const [name, value] of Object.entries<unknown>({ ...given })) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) return `${path}${name} is not known; known are ${Object.keys(checks).join(', ')}`;
    const problem = value === undefined ? undefined : check(value);
    if (problem !== undefined) return `${path}${name} ${problem}`;
  }
  return undefined;
}

/** Returns what is wrong with what is served, if anything. */
export function problemWithServe(serve: ServeConfig, workflows: ReadonlyMap<string, AnyWorkflow>): string | undefined {
  const { agent, skills = {}, onMessage, limits = {} } = serve as Partial<ServeConfig>;
  if (!isJsonObject(agent) || !isJsonObject(skills))
    return 'must have an agent, and skills by the name of the workflow';
  const { name, description } = agent as Partial<AgentConfig>;
  const problem =
    fields({ ...agent, name: name ?? '', description: description ?? '' }, agentFields, 'agent.') ??
    fields(limits, limitFields, 'limits.');
  if (problem !== undefined) return problem;
  if (onMessage !== undefined && !workflows.has(onMessage))
    return `onMessage names "${onMessage}", which is not a workflow`;
  if (Object.keys(skills).length === 0 && onMessage === undefined) return 'must have skills, or onMessage';
  for (const [skill, config] of Object.entries<SkillConfig>(skills as Record<string, SkillConfig>)) {
    const workflow = workflows.get(skill);
    if (workflow === undefined) return `skills names "${skill}", which is not a workflow`;
    const wrong =
      fields(
        { ...config, description: (config as Partial<SkillConfig>).description ?? '' },
        skillFields,
        `skills.${skill}.`,
      ) ?? problemWithInput(skill, workflow, onMessage);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** A skill takes arguments by name, so its input must be an object. */
function problemWithInput(skill: string, workflow: AnyWorkflow, onMessage: string | undefined): string | undefined {
  const schema = skill === onMessage ? undefined : skillSchemaOf(workflow);
  return schema === undefined || schema['type'] === 'object'
    ? undefined
    : `skills names "${skill}", whose input is not an object`;
}
