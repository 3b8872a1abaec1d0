// Guesses from their names which tools of a server start a job, report its status and stop it. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import type { Option } from './findings.js';

/** A tool of `tools/list` with the names of its arguments, if it declares them. */
export interface NamedTool {
  readonly name: string;
  readonly arguments: readonly string[];
}

export function namedTools(result: JsonValue): readonly NamedTool[] {
  const { tools } = isJsonObject(result) ? result : {};
  if (!Array.isArray(tools)) return [];
  return (tools as readonly JsonValue[]).filter(isJsonObject).flatMap((tool) => {
    const { name } = tool;
    return typeof name === 'string' ? [{ name, arguments: Object.keys(propertiesOf(tool)) }] : [];
  });
}

function propertiesOf({ inputSchema }: JsonObject): JsonObject {
  const { properties } = isJsonObject(inputSchema) ? inputSchema : {};
  return isJsonObject(properties) ? properties : {};
}

/** Returns the option `jobs` for tools that look like a job, or undefined if none do. */
export function guessedJobs(tools: readonly NamedTool[]): Option | undefined {
  const jobs = tools.flatMap((tool) => guessedJob(tool, tools) ?? []);
  if (jobs.length === 0) return undefined;
  return {
    line: `jobs: { ${jobs.join(', ')} }`,
    why: 'a guess from the names of the tools; correct the path of the id and the states: docs/workflows.md, "Jobs of a server without tasks"',
  };
}

function guessedJob(start: NamedTool, tools: readonly NamedTool[]): string | undefined {
  const { role, subject } = readName(start.name);
  if (role !== 'start') return undefined;
  const ofJob = (wanted: Role): NamedTool | undefined =>
    tools.find(({ name }) => {
      const other = readName(name);
      return other.role === wanted && other.subject === subject;
    });
  const status = ofJob('status');
  if (status === undefined) return undefined;
  const argument = idArgument(status);
  // A tool that takes the id starts nothing new, and one that takes no id reports no job.
  if (argument === undefined || start.arguments.includes(argument)) return undefined;
  const cancel = ofJob('cancel');
  const resultTool = ofJob('result');
  const fields = [
    ['id', argument],
    ['status', status.name],
    ...(cancel === undefined ? [] : [['cancel', cancel.name] as const]),
    ...(resultTool === undefined ? [] : [['resultTool', resultTool.name] as const]),
  ] as const;
  const key = /^[A-Za-z_$][\w$]*$/.test(start.name) ? start.name : quoted(start.name);
  return `${key}: { ${fields.map(([field, value]) => `${field}: ${quoted(value)}`).join(', ')} }`;
}

type Role = 'status' | 'cancel' | 'result' | 'start';

/** Words by role. The first role that matches counts: `get_run_status` reports a status, and starts nothing. */
const roleWords: Readonly<Record<Role, readonly string[]>> = {
  status: ['status', 'state', 'progress', 'poll'],
  cancel: ['cancel', 'stop', 'abort', 'terminate', 'kill'],
  result: ['result', 'results', 'output'],
  start: ['start', 'submit', 'create', 'begin', 'launch', 'run', 'enqueue', 'schedule', 'trigger', 'request'],
};
const roles = ['status', 'cancel', 'result', 'start'] as const;

/** Words that do not describe the subject of a tool. */
const emptyWords = ['', 'get', 'fetch', 'check', 'read', 'show', 'query', 'a', 'an', 'the', 'of', 'for', 'job', 'task'];

/** Splits a name into role and subject: `get_export_status` has the role `status` and the subject `export`. */
function readName(name: string): { readonly role: Role | undefined; readonly subject: string } {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const told = [...emptyWords, ...Object.values(roleWords).flat()];
  return {
    role: roles.find((role) => parts.some((part) => roleWords[role].includes(part))),
    subject: parts
      .filter((part) => !told.includes(part))
      .sort()
      .join(' '),
  };
}

/** Returns `job_id`, `jobId` or `id`; otherwise the only argument, if there is one. */
function idArgument({ arguments: names }: NamedTool): string | undefined {
  return names.find((name) => /(^|_)id$|Id$|ID$/.test(name)) ?? (names.length === 1 ? names[0] : undefined);
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
