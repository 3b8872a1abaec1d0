import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../../lib/base/json.js';
import { silentLog } from '../../../lib/base/log.js';
import type { TransportDeps } from '../../../lib/remote/endpoint/transport-deps.js';
import { GuardedHttpClient, type HttpClientOptions } from '../../../lib/remote/http/http.js';
import { heardLog } from '../../support/outputs/heard.js';

export interface Received {
  readonly httpMethod: string;
  /** Path with the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; an object without fields if the body is empty or not JSON. */
  readonly body: { readonly id: string; readonly method: string; readonly params: JsonObject };
}

export type Answer = (request: Received, response: ServerResponse) => void;

export interface LoopbackServer {
  readonly url: string;
  readonly received: Received[];
  readonly connections: () => number;
}

const open: (() => Promise<void>)[] = [];

/** Starts a real HTTP server on a free port of this machine; `closeAll` closes it. */
export async function serve(answer: Answer): Promise<LoopbackServer> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const { method: httpMethod = '', url: path = '', headers } = request;
      const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Received['body'];
      const got: Received = { httpMethod, path, headers, text, body };
      received.push(got);
      answer(got, response);
    });
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`,
    received,
    connections: () => connections,
  };
}

/** Returns a port without a listener. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export function httpClient(options: HttpClientOptions = {}): GuardedHttpClient {
  const client = new GuardedHttpClient({ allowLoopback: true, ...options });
  open.push(() => client.close());
  return client;
}

export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((close) => close()));
}

export const nowMs = Date.UTC(2026, 10, 29, 10, 0, 0);

/** Creates dependencies whose ids count up, so that a golden request can name them. */
export function transportDeps(http: TransportDeps['http'], overrides: Partial<TransportDeps> = {}): TransportDeps {
  let count = 0;
  return {
    http,
    clock: { nowMs: () => nowMs },
    random: { hex: () => `id-${++count}`, fraction: () => 0.5 },
    readSecret: () => undefined,
    ...overrides,
    log: heardLog(overrides.log ?? silentLog),
  };
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export function result(response: ServerResponse, request: Received, value: unknown): void {
  json(response, { jsonrpc: '2.0', id: request.body.id, result: value });
}
