import { defined } from '../base/defined.js';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Log } from '../base/log.js';
import { gatewayBodyMaxBytes } from '../topology/topology.js';
import { splitTarget } from './split-target.js';

/** The doors of served workflows, which stream their responses. */
export interface ServedDoors {
  takes(request: IncomingMessage): boolean;
  answer(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void>;
}

export type Invoke = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/**
 * Creates an HTTP server that turns each request into an event of an HTTP API (payload format 2.0) and the result into
 * the response. Like API Gateway it refuses a body over 6 MiB and responds for a function that fails.
 */
export function createGateway(invoke: Invoke, log: Log, doors?: ServedDoors): Server {
  return createServer((request, response) => {
    answer({ invoke, doors }, request, response).catch((error: unknown) => {
      // Anyone may open a request and go away: nothing failed here.
      if (!request.complete && request.destroyed) log.debug('request cut off by its client');
      else log.error('request not answered', { error });
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { message: 'Internal Server Error' });
    });
  });
}

async function answer(
  { invoke, doors }: { readonly invoke: Invoke; readonly doors: ServedDoors | undefined },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) {
    response.setHeader('connection', 'close');
    sendJson(response, 413, { message: 'Request Entity Too Large' });
    return;
  }
  if (doors?.takes(request) === true) return doors.answer(request, body, response);
  const result = await invoke(toEvent(request, body));
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  if (result.cookies !== undefined) response.setHeader('set-cookie', result.cookies);
  response.statusCode = result.statusCode ?? 200;
  response.end(
    result.body === undefined
      ? undefined
      : Buffer.from(result.body, result.isBase64Encoded === true ? 'base64' : 'utf8'),
  );
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

/** Returns undefined if the body is larger than API Gateway accepts. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > gatewayBodyMaxBytes) return undefined;
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > gatewayBodyMaxBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Returns the event for a request. A body of a text type in UTF-8 is passed as text, any other as base64. */
export function toEvent(request: IncomingMessage, body: Buffer): APIGatewayProxyEventV2 {
  const { path, query } = splitTarget(request.url ?? '/');
  const headers = joinedHeaders(request);
  const { cookie, ...otherHeaders } = headers;
  const domainName = headers['host'] ?? 'localhost';
  const nowMs = Date.now();
  const asText = isTextType(headers['content-type']) && isUtf8(body);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: query,
    ...defined({ cookies: cookie === undefined ? undefined : cookie.split(';').map((part) => part.trim()) }),
    headers: otherHeaders,
    ...defined({ queryStringParameters: query === '' ? undefined : joinedQuery(query) }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName,
      domainPrefix: domainName.split('.')[0] ?? '',
      http: {
        method: request.method ?? 'GET',
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '127.0.0.1',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
      routeKey: '$default',
      stage: '$default',
      time: new Date(nowMs).toUTCString(),
      timeEpoch: nowMs,
    },
    ...defined({ body: body.length === 0 ? undefined : body.toString(asText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.length > 0 && !asText,
  };
}

function joinedHeaders(request: IncomingMessage): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    if (values !== undefined) joined[name] = values.join(name === 'cookie' ? '; ' : ',');
  }
  return joined;
}

function joinedQuery(query: string): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const before = joined.get(name);
    joined.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(joined);
}

function isTextType(contentType: string | undefined): boolean {
  return /^\s*(text\/|application\/(?:[^;]*\+)?(json|javascript|xml)\b)/i.test(contentType ?? '');
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
