import { areHosts, type CallbackRules, mustBeHosts } from './callbacks.js';
import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import { isJsonObject, type JsonObject } from '../base/json.js';
import { isList } from '../base/list.js';
import type { Duration } from '../base/time.js';
import { type AccessConfig, problemWithAccess } from './access.js';
import { configName } from './config-name.js';
import type { AnyValue, AnyWorkflow } from './define-workflow.js';
import { type Hook, type HookConfig, toHooks } from './hook.js';
import { type People, toPeople } from './people.js';
import { defineSchedule, type Schedule, type ScheduleConfig } from './schedule.js';
import { type HookAuth, problemWithHookAuths } from './hook-auth.js';
import { problemWithAuth, type ServerAuth } from './server-auth.js';
import { problemWithJobs, type ServerJobs } from './server-jobs.js';
import { problemWithLimits, type ServerLimits } from './server-limits.js';
import type { Tracing } from './tracing.js';
import { problemWithServedNames, type ServeConfig } from './serve.js';
import { problemWithStaleAfter } from './stale-after.js';

export { secret } from './server-auth.js';

/** Options of a server of either protocol. */
export interface ServerOptions {
  readonly auth?: ServerAuth;
  readonly limits?: ServerLimits;
  /**
   * Time without a change after which a running task of the server counts as stale, at least 10 minutes: it is then
   * listed by `outwait remote ls --stale` and counted by the metric `StaleTasks`. Default: an hour.
   */
  readonly staleAfter?: Duration;
  /**
   * Whether the server deduplicates starts: it answers a repeat of an idempotency key with the existing task. Default
   * false.
   */
  readonly dedupes?: boolean;
  /**
   * Whether to allow plain http and non-public addresses (loopback, private ranges). Default false; local mode allows
   * loopback.
   */
  readonly allowPrivateAddresses?: boolean;
  /**
   * Proof that a relay needs, besides the token, to settle a wait for a task of this server; of a list, any is enough.
   * Default: the token is enough.
   */
  readonly relayAuth?: HookAuth | readonly HookAuth[];
}

/** Revisions of MCP that have tasks. */
export type McpRevision = '2026-07-28' | '2025-11-25';
export const mcpRevisions = ['2026-07-28', '2025-11-25'] as const satisfies readonly McpRevision[];

export interface McpServerConfig extends ServerOptions {
  readonly protocol: 'mcp';
  readonly url: string;
  /** The revision for new calls. Default: discovered from the server, about once a day. */
  readonly protocolVersion?: McpRevision;
  /**
   * Jobs that the server offers as plain tools, by the tool that starts one: calling that tool then starts a remote
   * task.
   */
  readonly jobs?: ServerJobs;
}

export interface A2aAgentOptions extends ServerOptions {
  /** Tenant to send with every request, unless the card names one for the interface. */
  readonly tenant?: string;
  /**
   * Hosts that the card's interfaces may be on, besides the host of the card, each as in a URL: `api.example.com` or
   * `api.example.com:8443`. Credentials are sent to no other host. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Whether to also read the extended card, for authenticated clients, if the public card announces one. Default false.
   */
  readonly extendedCard?: boolean;
  /** URIs of extensions to activate with every request (A2A 1.0 section 4.6). At most 16. */
  readonly extensions?: readonly string[];
  /**
   * Whether every start gets its own context id, so that ListTasks can find a start whose answer was lost by its
   * context. Otherwise, everything that a 1.0 agent lists is searched for the message of the start. Set it for an agent
   * that keeps a context id chosen by the client, and whose lists contain no messages or are very long. Default false.
   */
  readonly probeByContext?: boolean;
  /**
   * Whether the agent is asked to push news of its tasks. `auto`: if its card says that it pushes and the deployment has
   * a public URL. A push only makes the task be read at once. Default `auto`.
   */
  readonly push?: 'auto' | 'never';
  /**
   * Proof that is required of the pushes of an agent that signs them, in place of the secret that each call registers;
   * with a list, any of them. Default: the secret.
   */
  readonly pushAuth?: HookAuth | readonly HookAuth[];
}

/** Location of an A2A agent: the URL of its JSON-RPC 1.0 interface, or its card. */
export type A2aAgentPlace =
  | { readonly url: string; readonly card?: never }
  /** The card itself, its URL (a path that ends in `.json`), or the URL under which `.well-known/agent-card.json` is. */
  | { readonly card: string | JsonObject; readonly url?: never };

export type A2aAgentConfig = { readonly protocol: 'a2a' } & A2aAgentOptions & A2aAgentPlace;

export type ServerConfig = McpServerConfig | A2aAgentConfig;

/**
 * Configures an MCP server: 2026-07-28 with the tasks extension, 2025-11-25 with its tasks, or tools without tasks.
 * @example
 * ```ts
 * import { mcpServer, secret } from 'outwait';
 *
 * export const reports = mcpServer({ url: 'https://reports.example.com/mcp', auth: { bearer: secret('REPORTS_TOKEN') } });
 * ```
 */
export function mcpServer(config: Omit<McpServerConfig, 'protocol'>): McpServerConfig {
  return { protocol: 'mcp', ...config };
}

/**
 * Configures an A2A agent: 1.0 (JSON-RPC or HTTP+JSON) or 0.3 (JSON-RPC). Without a card: 1.0 over JSON-RPC.
 * @example
 * ```ts
 * import { a2aAgent } from 'outwait';
 *
 * export const supplier = a2aAgent({ card: 'https://supplier.example.com/.well-known/agent-card.json' });
 * ```
 */
export function a2aAgent(config: A2aAgentOptions & A2aAgentPlace): A2aAgentConfig {
  return { protocol: 'a2a', ...config };
}

/** Configuration of an app. `Inputs`: inputs of the schedules' workflows, in order. `Hooks`: inputs of the hooks' workflows, by name. */
export interface AppConfig<
  Inputs extends readonly unknown[] = readonly AnyValue[],
  Hooks extends Readonly<Record<string, unknown>> = Readonly<Record<string, AnyValue>>,
> {
  readonly workflows: readonly AnyWorkflow[];
  /** Former versions of workflows, each kept for the runs that were started with it. New runs do not use them. */
  readonly earlier?: readonly AnyWorkflow[];
  /** Remote servers, by the name that workflows use. The name is stored in histories; URL and credentials are not. */
  readonly servers?: Readonly<Record<string, ServerConfig>>;
  /** Schedules that start runs at fixed times or intervals. */
  readonly schedules?: readonly [...{ [At in keyof Inputs]: ScheduleConfig<Inputs[At]> }];
  /** What others start and signal over HTTP, by the last part of the path: `POST /hooks/{name}`. */
  readonly hooks?: { readonly [Name in keyof Hooks]: HookConfig<Hooks[Name]> };
  /** Whom questions to people (`ctx.ask`, `askPerson`) are sent to. Default: nobody; questions are only listed. */
  readonly people?: People;
  /** Sends spans of what the engine does to OpenTelemetry. Default: none are made. */
  readonly tracing?: Tracing;
  /** Who may do what over HTTP. Default: whoever the management token, or the authorizer, lets in may do everything. */
  readonly access?: AccessConfig;
  /** Which workflows others may call, as skills of an A2A agent. Default: none. */
  readonly serve?: ServeConfig;
  /** Where the ends of runs may be told. Default: at every public address, over https. */
  readonly callbacks?: CallbackRules;
}

/** A checked configuration: the workflows of a deployment, and the remote servers that they may call. */
export interface App {
  /** The current version of each workflow, by name: new runs start with it. */
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
  /** Former versions, by name and version; see `workflowOf`. */
  readonly earlier: ReadonlyMap<string, AnyWorkflow>;
  readonly servers: Readonly<Record<string, ServerConfig>>;
  readonly schedules: readonly Schedule[];
  readonly hooks: Readonly<Record<string, Hook>>;
  readonly people?: People;
  readonly tracing?: Tracing;
  readonly access?: AccessConfig;
  readonly serve?: ServeConfig;
  readonly callbacks?: CallbackRules;
}

/**
 * Checks a configuration. @throws EngineError `CONFIG_INVALID`: names the field, what was expected and what was given
 * @example
 * ```ts
 * import { defineApp, defineWorkflow, mcpServer } from 'outwait';
 *
 * const hello = defineWorkflow({ name: 'hello', run: async (ctx) => ctx.step('greet', () => 'hello') });
 *
 * export default defineApp({
 *   workflows: [hello],
 *   servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
 * });
 * ```
 */
export function defineApp<
  Inputs extends readonly unknown[] = readonly AnyValue[],
  Hooks extends Readonly<Record<string, unknown>> = Readonly<Record<string, AnyValue>>,
>(config: AppConfig<Inputs, Hooks>): App {
  const workflows = new Map<string, AnyWorkflow>();
  if (!isList(config.workflows)) throw invalid('workflows must be a list of workflows');
  for (const workflow of config.workflows) {
    if (workflows.has(workflow.name)) throw invalid(`two workflows are named "${workflow.name}"`);
    workflows.set(workflow.name, workflow);
  }
  const servers = config.servers ?? {};
  const { tracing } = config;
  if (tracing !== undefined && typeof tracing !== 'function')
    throw invalid('tracing must be a function that returns a tracer provider');
  for (const [name, server] of Object.entries(servers)) {
    if (!configName.test(name))
      throw invalid(`servers: "${name}" must be letters, digits, ".", "_" or "-", at most 64`);
    checkFlags(`servers.${name}`, server);
    const problem =
      problemWithAuth(server.auth ?? {}) ??
      problemWithLimits(server.limits ?? {}) ??
      problemWithStaleAfter(server.staleAfter);
    if (problem !== undefined) throw invalid(`servers.${name}.${problem}`);
    const relayProblem = server.relayAuth === undefined ? undefined : problemWithHookAuths(server.relayAuth);
    if (relayProblem !== undefined) throw invalid(`servers.${name}.relayAuth: ${relayProblem}`);
    checkProtocol(`servers.${name}`, server);
  }
  const { access } = config;
  const problem = access === undefined ? undefined : problemWithAccess(access);
  if (problem !== undefined) throw invalid(`access: ${problem}`);
  const { serve, callbacks } = config;
  const serveProblem = serve === undefined ? undefined : problemWithServedNames(serve, workflows);
  if (serveProblem !== undefined) throw invalid(`serve ${serveProblem}`);
  return {
    workflows,
    earlier: toEarlier(config.earlier ?? [], workflows),
    servers,
    schedules: toSchedules(config.schedules ?? [], workflows),
    hooks: toHooks(config.hooks ?? {}, workflows),
    ...defined({ people: toPeople(config.people), tracing, access, serve, callbacks }),
  };
}

/** Returns the workflow whose code continues a run: its own version if that is kept, otherwise the current one. */
export function workflowOf(
  app: App,
  { workflow, version }: { readonly workflow: string; readonly version: string },
): AnyWorkflow | undefined {
  const current = app.workflows.get(workflow);
  return current?.version === version ? current : (app.earlier.get(versionKey(workflow, version)) ?? current);
}

// Unambiguous, because a name contains no "@".
const versionKey = (name: string, version: string): string => `${name}@${version}`;

function toEarlier(
  earlier: readonly AnyWorkflow[],
  workflows: ReadonlyMap<string, AnyWorkflow>,
): ReadonlyMap<string, AnyWorkflow> {
  if (!isList(earlier)) throw invalid('earlier must be a list of workflows');
  const kept = new Map<string, AnyWorkflow>();
  for (const workflow of earlier) {
    const { name, version } = workflow;
    const key = versionKey(name, version);
    if (kept.has(key) || workflows.get(name)?.version === version)
      throw invalid(`two workflows are named "${name}" and have the version "${version}"`);
    kept.set(key, workflow);
  }
  return kept;
}

/**
 * Refuses flags that are not booleans: a string such as "false" is truthy, and would repeat a start or allow a private
 * network.
 */
function checkFlags(field: string, server: object): void {
  for (const flag of ['dedupes', 'allowPrivateAddresses', 'extendedCard', 'probeByContext']) {
    const value = (server as Readonly<Record<string, unknown>>)[flag];
    if (value !== undefined && typeof value !== 'boolean')
      throw invalid(`${field}.${flag} must be true or false, got ${JSON.stringify(value)}`);
  }
}

function checkMcpServer(field: string, { url, protocolVersion, jobs }: McpServerConfig): void {
  checkUrl(`${field}.url`, url);
  if (protocolVersion !== undefined && !mcpRevisions.includes(protocolVersion))
    throw invalid(
      `${field}.protocolVersion must be ${mcpRevisions.join(' or ')}, not ${JSON.stringify(protocolVersion)}`,
    );
  const problem = jobs === undefined ? undefined : problemWithJobs(jobs);
  if (problem !== undefined) throw invalid(`${field}.${problem}`);
}

function checkUrl(field: string, value: string): void {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalid(`${field} must be an http(s) URL`);
  if (url.username !== '' || url.password !== '') throw invalid(`${field} must not contain user info; use auth`);
}

function checkProtocol(field: string, server: ServerConfig): void {
  switch (server.protocol) {
    case 'mcp':
      checkMcpServer(field, server);
      return;
    case 'a2a':
      checkAgent(field, server);
      return;
  }
}

// A URI that fits into a comma-separated header: visible ASCII without commas.
const extensionUri = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;
const extensionsMax = 16;
const pushModes = ['auto', 'never'] as const;

function checkAgent(field: string, config: A2aAgentConfig): void {
  const { url, card, allowedHosts = [], extensions = [] } = config;
  checkPush(field, config);
  // TypeScript rules this out, but JavaScript does not.
  if ((url === undefined) === (card === undefined))
    throw invalid(`${field} must have exactly one of url and card, got ${url === undefined ? 'neither' : 'both'}`);
  if (url !== undefined) checkUrl(`${field}.url`, url);
  else if (typeof card === 'string') checkUrl(`${field}.card`, card);
  else if (!isJsonObject(card)) throw invalid(`${field}.card must be a URL or an agent card`);
  if (!areHosts(allowedHosts)) throw invalid(`${field}.allowedHosts ${mustBeHosts}`);
  if (
    !isList(extensions) ||
    extensions.length > extensionsMax ||
    !extensions.every((uri) => typeof uri === 'string' && extensionUri.test(uri))
  )
    throw invalid(`${field}.extensions must be a list of at most ${extensionsMax} URIs without spaces or commas`);
}

function checkPush(field: string, config: A2aAgentConfig): void {
  const { push = 'auto' } = config;
  if (!(pushModes as readonly unknown[]).includes(push))
    throw invalid(`${field}.push must be ${pushModes.join(' or ')}, got ${JSON.stringify(push)}`);
  // Tokens name the URL that the agent pushes to, unless the proof says otherwise.
  const problem = config.pushAuth === undefined ? undefined : problemWithHookAuths(config.pushAuth, 'the push URL');
  if (problem !== undefined) throw invalid(`${field}.pushAuth: ${problem}`);
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

function invalid(message: string): EngineError {
  return new EngineError('CONFIG_INVALID', message);
}
