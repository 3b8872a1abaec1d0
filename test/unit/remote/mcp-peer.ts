import type { ServerResponse } from 'node:http';
import type { Log } from '../../../lib/base/log.js';
import type { RemoteTaskTransport, StartRequest } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import type { TransportDeps } from '../../../lib/remote/endpoint/transport-deps.js';
import { mcpServer, type McpServerConfig } from '../../../lib/workflow/app.js';
import {
  httpClient,
  json,
  nowMs,
  type LoopbackServer,
  type Received,
  result,
  serve,
  transportDeps,
} from './loopback.js';

/**
 * Answer of a server to a method: a result, or a function that answers. A list gives each once, and its last one from
 * then on.
 */
export type Script = object | ((request: Received, response: ServerResponse) => void);

export interface Peer {
  readonly server: LoopbackServer;
  readonly transport: RemoteTaskTransport;
  /** Creates another transport to it, as another process has it. */
  readonly another: (config?: Partial<McpServerConfig>) => RemoteTaskTransport;
  /** Returns the methods of the requests so far. */
  readonly methods: () => readonly string[];
  /** Returns everything that was logged at `warn`, except the lines that error replies log by themselves. */
  readonly warnings: () => readonly object[];
  /** Moves the clock of the transport. */
  readonly advance: (ms: number) => void;
  /** Changes the answers from now on. */
  readonly becomes: (scripts: Readonly<Record<string, Script | readonly Script[]>>) => void;
}

/** Starts a server that answers by script, and a transport to it. A method without a script is unknown to it. */
export async function aPeer(
  scripts: Readonly<Record<string, Script | readonly Script[]>>,
  config: Partial<McpServerConfig> = {},
  shared: Partial<TransportDeps> = {},
): Promise<Peer> {
  let current = scripts;
  let counts = new Map<string, number>();
  const server = await serve((request, response) => {
    const { method } = request.body;
    const count = counts.get(method) ?? 0;
    counts.set(method, count + 1);
    const script = current[method] ?? rpcError(-32601, 'no such method');
    const one = Array.isArray(script) ? (script as readonly Script[])[Math.min(count, script.length - 1)]! : script;
    if (typeof one === 'function') one(request, response);
    else result(response, request, one);
  });
  const logged: { readonly event: string }[] = [];
  const note = (): void => undefined;
  const log: Log = {
    debug: note,
    info: note,
    warn: (event, fields) => void logged.push({ event, ...fields }),
    error: note,
  };
  let atMs = nowMs;
  const deps = transportDeps(httpClient(), { log, clock: { nowMs: () => atMs }, ...shared });
  const another: Peer['another'] = (changed = {}) =>
    createTransports({ reports: mcpServer({ url: server.url, ...config, ...changed }) }, deps).get('reports');
  return {
    server,
    transport: another(),
    another,
    methods: () => server.received.map(({ body }) => body.method),
    warnings: () => logged.filter(({ event }) => event !== 'remote call failed'),
    advance: (ms) => {
      atMs += ms;
    },
    becomes: (next) => {
      current = next;
      counts = new Map();
    },
  };
}

export function rpcError(code: number, message: string, options: { status?: number; data?: unknown; id?: null } = {}) {
  const { status = 200, data, id } = options;
  return (request: Received, response: ServerResponse): void => {
    const error = { code, message, ...(data === undefined ? {} : { data }) };
    json(response, { jsonrpc: '2.0', id: id === null ? null : request.body.id, error }, status);
  };
}

export function httpStatus(status: number, text = '') {
  return (_request: Received, response: ServerResponse): void => {
    json(response, text, status, { 'content-type': 'text/plain' });
  };
}

/** Answers with the result and a header that creates a session. */
export function inSession(session: string, value: object) {
  return (request: Received, response: ServerResponse): void => {
    json(response, { jsonrpc: '2.0', id: request.body.id, result: value }, 200, { 'mcp-session-id': session });
  };
}

export const accepted = httpStatus(202);

export const modern = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  ttlMs: 300_000,
  cacheScope: 'public',
};
export const started = {
  resultType: 'task',
  taskId: 't1',
  status: 'working',
  createdAt: '2026-11-29T10:00:00.000Z',
  lastUpdatedAt: '2026-11-29T10:00:00.000Z',
  ttlMs: 21_600_000,
};
/** Handle of a task that was taken over. */
export const bareHandle = { server: 'reports', protocol: 'mcp', wire: '2026-07-28', taskId: 't1' } as const;
export const modernHandle = { ...bareHandle, ttlMs: 21_600_000 } as const;

export const legacyHello = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
  serverInfo: { name: 'old', version: '1' },
};
export const legacyTask = { taskId: 't1', status: 'working', ttl: 300_000, pollInterval: 1_000 };
export const legacyTools = {
  tools: [
    { name: 'simulate', inputSchema: {}, execution: { taskSupport: 'required' } },
    { name: 'perhaps', inputSchema: {}, execution: { taskSupport: 'optional' } },
    { name: 'never', inputSchema: {}, execution: { taskSupport: 'forbidden' } },
    { name: 'plain', inputSchema: {} },
  ],
};
/** Handle of a task at a server without sessions. */
export const statelessHandle = { ...bareHandle, wire: '2025-11-25', ttlMs: 300_000 } as const;
export const legacyHandle = { ...statelessHandle, session: 's-1' } as const;

export function startOf(tool: string, args: object = {}, more: Partial<StartRequest> = {}): StartRequest {
  return { request: { kind: 'tool', tool, arguments: args as never }, idempotencyKey: 'run1/3', ...more };
}
