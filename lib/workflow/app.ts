import { EngineError } from '../base/errors.js';
import type { AnyWorkflow } from './define-workflow.js';
import { defineSchedule, type Schedule, type ScheduleConfig } from './schedule.js';

/** A secret by name; its value is read from the environment when it is used and never stored. */
export interface SecretReference {
  readonly secret: string;
}

/** Credentials of a remote server. Values come from secrets, or are literals for a server on a laptop. */
export interface ServerAuth {
  /** Sent as `Authorization: Bearer …`. */
  readonly bearer?: SecretReference | string;
  /** Sent as they are, but never in place of a header of the protocol. */
  readonly headers?: Readonly<Record<string, SecretReference | string>>;
}

interface ServerOptions {
  readonly auth?: ServerAuth;
  /** The server answers a repeated start with the same idempotency key with the task it already has. Default false. */
  readonly dedupes?: boolean;
  /** Allow addresses that are not public (loopback, private ranges) and plain http. Default false; local mode allows loopback. */
  readonly allowPrivateAddresses?: boolean;
}

export interface McpServerConfig extends ServerOptions {
  readonly protocol: 'mcp';
  readonly url: string;
}

export interface A2aAgentConfig extends ServerOptions {
  readonly protocol: 'a2a';
  /** URL of the JSON-RPC interface, protocol version 1.0. */
  readonly url: string;
  readonly tenant?: string;
}

export type ServerConfig = McpServerConfig | A2aAgentConfig;

/** Names a secret. `secret('REPORTS_TOKEN')` reads the environment variable of that name when a request is made. */
export function secret(name: string): SecretReference {
  return { secret: name };
}

/** A server that speaks MCP 2026-07-28 with the tasks extension. */
export function mcpServer(config: Omit<McpServerConfig, 'protocol'>): McpServerConfig {
  return { protocol: 'mcp', ...config };
}

/** An agent that speaks A2A 1.0 over JSON-RPC. */
export function a2aAgent(config: Omit<A2aAgentConfig, 'protocol'>): A2aAgentConfig {
  return { protocol: 'a2a', ...config };
}

export interface AppConfig {
  readonly workflows: readonly AnyWorkflow[];
  /** By the name that workflows use. The name is in the history; URL and credentials are not. */
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** Runs that start by the clock. */
  readonly schedules?: readonly ScheduleConfig[];
}

/** What a deployment runs: workflows and the remote servers that they may call. */
export interface App {
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  readonly servers: Readonly<Record<string, ServerConfig>>;
  readonly schedules: readonly Schedule[];
}

const serverName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Checks a configuration. @throws EngineError `CONFIG_INVALID` that names the field, what was expected and what came. */
export function defineApp(config: AppConfig): App {
  const workflows = new Map<string, AnyWorkflow>();
  if (!isList(config.workflows)) throw invalid('workflows must be a list of workflows');
  for (const workflow of config.workflows) {
    if (workflows.has(workflow.name)) throw invalid(`two workflows are named "${workflow.name}"`);
    workflows.set(workflow.name, workflow);
  }
  const servers = config.servers ?? {};
  for (const [name, server] of Object.entries(servers)) {
    if (!serverName.test(name))
      throw invalid(`servers: "${name}" must be letters, digits, ".", "_" or "-", at most 64`);
    const url = URL.canParse(server.url) ? new URL(server.url) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw invalid(`servers.${name}.url must be an http(s) URL`);
    if (url.username !== '' || url.password !== '')
      throw invalid(`servers.${name}.url must not hold user info; use auth`);
  }
  return { workflows, servers, schedules: toSchedules(config.schedules ?? [], workflows) };
}

function toSchedules(
  configs: readonly ScheduleConfig[],
  workflows: ReadonlyMap<string, AnyWorkflow>,
): readonly Schedule[] {
  const schedules = configs.map(defineSchedule);
  const names = new Set<string>();
  for (const { name, workflow } of schedules) {
    if (names.has(name)) throw invalid(`two schedules are named "${name}"`);
    if (!workflows.has(workflow.name))
      throw invalid(`schedule "${name}" starts "${workflow.name}", which is not among the workflows`);
    names.add(name);
  }
  return schedules;
}

/** `Array.isArray` would turn a readonly list into `any[]`. */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function invalid(message: string): EngineError {
  return new EngineError('CONFIG_INVALID', message);
}
