import type { McpServerConfig } from '../../workflow/app.js';
import type { RemoteEndpoint, WireCall } from '../endpoint/endpoint.js';
import { ToolCache } from '../mcp/tool-cache.js';
import type { ListedTool } from '../mcp/tool-list.js';
import type { StoredError } from '../../base/errors.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import {
  authOption,
  authSet,
  isAddressProblem,
  listed,
  noDedupes,
  privateOption,
  type Option,
  type ServerLook,
} from './findings.js';
import { guessedJobs, namedTools } from './guess-jobs.js';
import { openTools } from './open-tools.js';

/** Finds the MCP revision of a server and lists its tools. Calls none of them. */
export async function lookAtTools(name: string, config: McpServerConfig, deps: TransportDeps): Promise<ServerLook> {
  const opened = await openTools(name, config, deps);
  if (opened.kind === 'unready') return closed(config, opened.error);
  const { endpoint, found, session, listCall, untilMs } = opened;
  const isLegacy = session !== undefined;
  const cache = new ToolCache(endpoint, deps);
  const tools = await cache.fresh(listCall, untilMs);
  const hasTasks = session === undefined ? found.tasks !== false : session.tasks;
  const named = tools.kind === 'listed' ? [...tools.byName.values()] : [];
  const dedupes = found.dedupes || config.dedupes === true;
  const jobs =
    hasTasks || named.length < 2 || config.jobs !== undefined ? undefined : await jobsOf(endpoint, listCall());
  const { revision } = found;
  const agreed = session !== undefined && session.version !== revision ? `, negotiated as ${session.version}` : '';
  return {
    callable: tools.kind === 'listed',
    config,
    facts: [
      { name: 'speaks', text: `MCP ${revision}${agreed}${isLegacy ? sessionText(session.id) : ''}` },
      {
        name: 'auth',
        text: `${authSet(config)}; requested: ${config.auth === undefined ? 'nothing' : 'nothing more'}`,
      },
      { name: 'streams', text: 'read if the server replies with one' },
      { name: 'pushes', text: 'no; outwait polls and needs none' },
      { name: 'tasks', text: tasksText(hasTasks, isLegacy, named) },
      { name: 'dedupes', text: dedupes ? 'yes' : 'the server does not say so' },
      { name: 'list by context', text: 'no, not part of MCP' },
      { name: 'tools', text: listed(named.map((tool) => toolText(tool, isLegacy))) },
    ],
    missing: [
      ...(tools.kind === 'unready' ? [`tools/list: ${tools.error.message}`] : []),
      ...(hasTasks
        ? []
        : [
            'no tasks: a tool replies when its work is done, for which outwait waits up to ten minutes; tools that start, report and stop a job can be configured as jobs',
          ]),
      ...(dedupes ? [] : [noDedupes]),
    ],
    options: [
      ...(isLegacy && config.protocolVersion === undefined
        ? [
            {
              line: `protocolVersion: '${revision}'`,
              why: 'saves the request that finds the revision',
            } satisfies Option,
          ]
        : []),
    ],
    guesses: jobs === undefined ? [] : [jobs],
  };
}

/** Guesses jobs from the first page of the list, which is read again: the cached tools do not have their arguments. */
async function jobsOf(endpoint: RemoteEndpoint, listCall: WireCall): Promise<Option | undefined> {
  const { jobs } = await endpoint.ask(listCall, {}, (exchange) => ({
    kind: 'listed',
    jobs: exchange.kind === 'result' ? guessedJobs(namedTools(exchange.result)) : undefined,
  }));
  return jobs;
}

function closed(config: McpServerConfig, error: StoredError): ServerLook {
  const status = error.details?.['status'];
  const asksAuth = status === 401 || status === 403;
  return {
    callable: false,
    config,
    facts: [{ name: 'auth', text: `${authSet(config)}${asksAuth ? '; requested: yes' : ''}` }],
    missing: [error.message],
    options: [
      ...(asksAuth && config.auth === undefined ? [authOption] : []),
      ...(isAddressProblem(error.message) ? [privateOption] : []),
    ],
  };
}

function sessionText(id: string | undefined): string {
  return id === undefined ? ', without sessions' : ', with sessions';
}

function tasksText(hasTasks: boolean, isLegacy: boolean, tools: readonly ListedTool[]): string {
  if (!hasTasks) return 'no';
  if (!isLegacy) return 'yes, decided by the server for each call';
  const asTasks = tools.filter(({ taskSupport }) => taskSupport !== 'forbidden').map(({ name }) => name);
  return `yes: ${listed(asTasks)}`;
}

function toolText({ name, taskSupport }: ListedTool, isLegacy: boolean): string {
  return isLegacy && taskSupport !== 'forbidden' ? `${name} (task)` : name;
}
