import type { JsonObject } from '../../lib/base/json.js';
import type { McpRoutes } from '../../lib/serve/mcp/routes.js';

export const declaresTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
export const declaresForms = { elicitation: { form: {} } };

export interface Replied {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, or the last message of a stream. */
  readonly body: {
    readonly id?: unknown;
    readonly result?: JsonObject;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
  };
  /** All messages of a stream. */
  readonly messages: readonly JsonObject[];
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** Capabilities of the client. Default: tasks. */
  readonly capabilities?: JsonObject;
  readonly meta?: JsonObject;
  readonly caller?: string;
}

function nameOf({ name, taskId }: JsonObject): string | undefined {
  return [name, taskId].find((value) => typeof value === 'string');
}

/** Sends requests to the doors of MCP, as clients of the revisions write them. */
export function mcpRequests(routes: McpRoutes) {
  const raw = async (text: string, headers: Readonly<Record<string, string>>, method = 'POST'): Promise<Replied> => {
    const init = { method, headers: { 'content-type': 'application/json', ...headers } };
    const url = 'https://flows.example.com/mcp';
    const response = await routes(new Request(url, method === 'POST' ? { ...init, body: text } : init), undefined);
    const came = await response.text();
    const messages = came.startsWith('retry')
      ? came
          .split('\n')
          .filter((line) => line.startsWith('data: '))
          .map((line) => JSON.parse(line.slice(6)) as JsonObject)
      : [];
    const body = (messages.at(-1) ?? (came === '' ? {} : JSON.parse(came))) as Replied['body'];
    return { status: response.status, headers: response.headers, text: came, body, messages };
  };
  const modern = async (method: string, params: JsonObject = {}, sent: Sent = {}): Promise<Replied> => {
    const { headers = {}, capabilities = declaresTasks, meta = {}, caller } = sent;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...meta,
    };
    const name = nameOf(params);
    return raw(JSON.stringify({ jsonrpc: '2.0', id: 'q1', method, params: { ...params, _meta } }), {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
      ...(caller === undefined ? {} : { authorization: `Bearer ${caller}` }),
      ...headers,
    });
  };
  const legacy = async (
    method: string,
    params: JsonObject = {},
    version = '2025-11-25',
    caller?: string,
  ): Promise<Replied> =>
    raw(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), {
      'mcp-protocol-version': version,
      ...(caller === undefined ? {} : { authorization: `Bearer ${caller}` }),
    });
  return { raw, modern, legacy };
}
