import { isJsonObject } from '../base/json.js';
import { isList } from '../base/list.js';
import type { AnyWorkflow } from './context.js';
import { type AgentConfig, depthMax, type ServeConfig, type SkillConfig } from './serve.js';
import { jsonSchemaOf, skillSchemaOf } from './skill-schema.js';

const urlOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value) ? undefined : 'must be an http(s) URL';
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? undefined : 'must be a text that is not empty';
const textsOf = (value: unknown): string | undefined =>
  isList(value) && value.every((text) => textOf(text) === undefined) ? undefined : 'must be a list of texts';
const flag = (value: unknown): string | undefined => (typeof value === 'boolean' ? undefined : 'must be true or false');
const oneOf =
  (...words: readonly string[]) =>
  (value: unknown): string | undefined =>
    words.includes(value as string) ? undefined : `must be ${words.join(' or ')}`;

/** Names of the MCP tools by which runs are handled. */
const runTools: ReadonlySet<string> = new Set([
  ...['start_run', 'run_status', 'wait_for_run', 'signal_run', 'cancel_run'],
]);

type Check = (value: unknown) => string | undefined;
const count: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? undefined : 'must be a whole number from 1';
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
  task: oneOf('optional', 'required', 'forbidden'),
  asksFirst: flag,
  output: (value) =>
    jsonSchemaOf(value) === undefined ? 'must be a schema that can be written as JSON Schema' : undefined,
  hints: (value) =>
    isJsonObject(value)
      ? fields(value, { readOnly: flag, destructive: flag, idempotent: flag, openWorld: flag }, '')
      : 'must be an object',
  maxLive: count,
};
const depth: Check = (value) =>
  count(value) === undefined && (value as number) <= depthMax
    ? undefined
    : `must be a whole number from 1 to ${depthMax}`;
const hook: Check = (value) => (typeof value === 'function' ? undefined : 'must be a function');
const textFields = { incoming: hook, outgoing: hook };
const limitFields = { maxLive: count, perMinute: count, turnsPerContext: count, depth };

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

/**
 * Returns what is wrong with what is served, if anything. Not checked by `defineApp`, which every function runs when it
 * starts: an app is checked when it is built, and when local mode loads it.
 */
export function problemWithServe(serve: ServeConfig, workflows: ReadonlyMap<string, AnyWorkflow>): string | undefined {
  const { agent, skills = {}, onMessage, limits = {}, text = {} } = serve as Partial<ServeConfig>;
  if (!isJsonObject(agent)) return 'agent must be an object';
  const { name = '', description = '' } = agent as Partial<AgentConfig>;
  const problem =
    fields({ ...agent, name, description }, agentFields, 'agent.') ??
    fields(limits, limitFields, 'limits.') ??
    fields(text, textFields, 'text.');
  if (problem !== undefined) return problem;
  for (const [skill, config] of Object.entries<Partial<SkillConfig>>(skills)) {
    const described = { ...config, description: config.description ?? '' };
    const wrong =
      (runTools.has(skill) ? `skills.${skill} has the name of a tool for runs` : undefined) ??
      fields(described, skillFields, `skills.${skill}.`) ??
      problemWithInput(skill, workflows.get(skill), onMessage) ??
      problemWithDebounce(skill, workflows.get(skill));
    if (wrong !== undefined) return wrong;
  }
  return onMessage === undefined ? undefined : problemWithDebounce(onMessage, workflows.get(onMessage));
}

/** A task is there once its message is taken, so it cannot be the later start that others are merged into. */
function problemWithDebounce(name: string, workflow: AnyWorkflow | undefined): string | undefined {
  return workflow?.flowControl?.debounce === undefined
    ? undefined
    : `serves "${name}", whose starts are debounced; a task begins with its own message`;
}

/** A skill takes arguments by name, so its input must be an object. */
function problemWithInput(
  skill: string,
  workflow: AnyWorkflow | undefined,
  onMessage: string | undefined,
): string | undefined {
  const schema = workflow === undefined || skill === onMessage ? undefined : skillSchemaOf(workflow);
  return schema === undefined || schema['type'] === 'object'
    ? undefined
    : `skills names "${skill}", whose input is not an object`;
}
