// An A2A agent on this machine that answers as a test says, and a transport for it.

import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../lib/base/json.js';
import { A2aTransport } from '../../../lib/remote/a2a/a2a-transport.js';
import type { TransportDeps } from '../../../lib/remote/endpoint/transport-deps.js';
import type { HttpClientOptions } from '../../../lib/remote/http/http.js';
import { a2aAgent, type A2aAgentConfig } from '../../../lib/workflow/app.js';
import { httpClient, json, nowMs, type Received, result, serve, transportDeps } from './loopback.js';

export const cardPath = '/.well-known/agent-card.json';

export interface Agent {
  readonly origin: string;
  readonly received: readonly Received[];
  /** Requests other than those for the card. */
  calls(): readonly Received[];
  /** JSON-RPC methods, or methods and paths, of all requests; the card is `card`. */
  trail(): readonly string[];
  card: (request: Received, response: ServerResponse) => void;
  /** Answers every other request. */
  answer: (request: Received, response: ServerResponse) => void;
  /** Moves the clock of the transports. */
  advance(byMs: number): void;
  transport(
    config?: Omit<A2aAgentConfig, 'protocol' | 'card' | 'url'> & { readonly card?: string | JsonObject },
  ): A2aTransport;
}

/** Starts an agent whose card has the interfaces that `interfaces` makes of its origin. */
export async function agent(
  interfaces: (origin: string) => readonly object[],
  more: object = {},
  options: { readonly http?: HttpClientOptions; readonly deps?: Partial<TransportDeps> } = {},
): Promise<Agent> {
  let atMs = nowMs;
  const server = await serve((request, response) => {
    if (request.path === cardPath) self.card(request, response);
    else self.answer(request, response);
  });
  const { origin } = new URL(server.url);
  const self: Agent = {
    origin,
    received: server.received,
    calls: () => server.received.filter(({ path }) => path !== cardPath),
    trail: () =>
      server.received.map(({ path, httpMethod, body }) =>
        path === cardPath ? 'card' : ((body.method as string | undefined) ?? `${httpMethod} ${path}`),
      ),
    card: (_request, response) => {
      json(response, { name: 'agent', supportedInterfaces: interfaces(origin), ...more });
    },
    answer: (request, response) => {
      result(response, request, working);
    },
    advance: (byMs) => {
      atMs += byMs;
    },
    transport: (config = {}) =>
      new A2aTransport(
        'supplier',
        a2aAgent({ card: origin, ...config }),
        transportDeps(httpClient(options.http), { clock: { nowMs: () => atMs }, ...options.deps }),
      ),
  };
  return self;
}

/** Interfaces of an agent with JSON-RPC 1.0 at `/rpc`. */
export const jsonRpc = (origin: string): readonly object[] => [
  { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
];

export const working = { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } };
export const started = { task: working };
export const handle = { server: 'supplier', protocol: 'a2a', wire: '1.0', taskId: 't1', contextId: 'c1' } as const;

export function rpcError(response: ServerResponse, request: Received, code: number, status = 200): void {
  json(response, { jsonrpc: '2.0', id: request.body.id, error: { code, message: 'no' } }, status);
}
