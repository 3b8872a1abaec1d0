// Hand-written requests to remote servers, since the tests of a server must not depend on our own client.

export interface RpcReply {
  readonly status: number;
  readonly body: {
    readonly id?: unknown;
    readonly result?: Record<string, unknown>;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  };
}

interface RpcOptions {
  readonly params?: Record<string, unknown>;
  /** Headers that replace those that the protocol requires; undefined leaves one out. */
  readonly headers?: Record<string, string | undefined>;
}

/** Sends one MCP 2026-07-28 request with complete headers and envelope. */
export async function mcpRequest(
  url: string,
  method: string,
  options: RpcOptions & { readonly meta?: Record<string, unknown> } = {},
): Promise<RpcReply> {
  const { params = {}, headers = {}, meta = {} } = options;
  const name = params['name'] ?? params['taskId'];
  return post(
    url,
    {
      jsonrpc: '2.0',
      id: 'r-1',
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
          ...meta,
        },
      },
    },
    {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers,
    },
  );
}

/** Sends one A2A 1.0 request over JSON-RPC. */
export async function a2aRequest(url: string, method: string, options: RpcOptions = {}): Promise<RpcReply> {
  const { params = {}, headers = {} } = options;
  return post(url, { jsonrpc: '2.0', id: 'r-1', method, params }, { 'a2a-version': '1.0', ...headers });
}

async function post(
  url: string,
  body: Record<string, unknown>,
  headers: Record<string, string | undefined>,
): Promise<RpcReply> {
  const present = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, {
    method: 'POST',
    headers: [['content-type', 'application/json'], ...present],
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as RpcReply['body'] };
}
