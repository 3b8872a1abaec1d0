import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { writeTo } from '../aws/write-to.js';
import type { ResponseStream, ServeHandler } from '../aws/serve-handler.js';
import { splitTarget } from './split-target.js';

/** Paths of the doors of served workflows, which a deployment has on a REST API of its own. */
const servedPaths = /^\/(a2a|agents|mcp|\.well-known)(\/|$)/;

export function isServed(request: Pick<IncomingMessage, 'url'>): boolean {
  return servedPaths.test(splitTarget(request.url ?? '/').path);
}

/**
 * Turns a request into an event of a REST API (payload format 1.0), and sends the response as the function writes it.
 * Unlike Lambda it tells the function when the client has left, by `signal`.
 */
export async function answerAsStream(
  serve: ServeHandler,
  request: IncomingMessage,
  body: Buffer,
  { response, stopped }: { readonly response: ServerResponse; readonly stopped: AbortSignal },
): Promise<void> {
  // Both end one signal: a composed one holds some kilobytes, for each stream that is open.
  const over = new AbortController();
  const end = (): void => {
    over.abort();
  };
  response.on('close', end);
  if (stopped.aborted) end();
  stopped.addEventListener('abort', end);
  try {
    await serve(toRestEvent(request, body), streamTo(response), over.signal);
  } finally {
    stopped.removeEventListener('abort', end);
  }
}

function streamTo(response: ServerResponse): ResponseStream {
  return {
    start({ statusCode, headers }) {
      response.writeHead(statusCode, headers);
    },
    async write(bytes) {
      await writeTo(response, bytes);
    },
    async end() {
      // A response whose client has left says neither that it has finished nor, again, that it is closed.
      if (response.destroyed) return;
      await new Promise<void>((resolve) => {
        response.end(resolve);
        response.on('close', resolve);
      });
    },
  };
}

/** Returns the event for a request. Bodies of this API are text. */
function toRestEvent(request: IncomingMessage, body: Buffer): APIGatewayProxyEvent {
  const { path, query: search } = splitTarget(request.url ?? '/');
  const searchParams = new URLSearchParams(search);
  const query = [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)] as const);
  const headers = Object.entries(request.headersDistinct).map(([name, values]) => [name, values ?? []] as const);
  const last = (entries: readonly (readonly [string, readonly string[]])[]) =>
    Object.fromEntries(entries.map(([name, values]) => [name, values.at(-1)]));
  const nowMs = Date.now();
  const method = request.method ?? 'GET';
  return {
    resource: '/{proxy+}',
    path,
    httpMethod: method,
    headers: last(headers),
    multiValueHeaders: Object.fromEntries(headers.map(([name, values]) => [name, [...values]])),
    queryStringParameters: query.length === 0 ? null : last(query),
    multiValueQueryStringParameters:
      query.length === 0 ? null : Object.fromEntries(query.map(([name, values]) => [name, [...values]])),
    pathParameters: { proxy: path.slice(1) },
    stageVariables: null,
    requestContext: {
      ...{ accountId: '000000000000', apiId: 'local', authorizer: null, protocol: `HTTP/${request.httpVersion}` },
      ...{ httpMethod: method, path, stage: 'local', requestId: randomUUID(), resourceId: 'local' },
      ...{ requestTimeEpoch: nowMs, resourcePath: '/{proxy+}' },
      identity: {
        ...{ accessKey: null, accountId: null, apiKey: null, apiKeyId: null, caller: null, clientCert: null },
        ...{ cognitoAuthenticationProvider: null, cognitoAuthenticationType: null, cognitoIdentityId: null },
        ...{ cognitoIdentityPoolId: null, principalOrgId: null, user: null, userArn: null },
        sourceIp: request.socket.remoteAddress ?? '127.0.0.1',
        userAgent: request.headers['user-agent'] ?? null,
      },
    },
    body: body.length === 0 ? null : body.toString('utf8'),
    isBase64Encoded: false,
  };
}
