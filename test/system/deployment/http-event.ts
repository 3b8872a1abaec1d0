import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { account } from './account.js';

export interface Routed {
  readonly apiId: string;
  readonly stage: string;
  readonly routeKey: string;
  readonly pathParameters: Readonly<Record<string, string>>;
}

/** Returns the event that an HTTP API makes of a request, in payload format 2.0. */
export function toHttpEvent(request: IncomingMessage, body: Buffer, routed: Routed): APIGatewayProxyEventV2 {
  const { apiId, stage, routeKey, pathParameters } = routed;
  const { pathname, searchParams, search } = new URL(request.url ?? '/', 'http://localhost');
  const { cookie, ...headers } = headersOf(request);
  const domainName = headers['host'] ?? '';
  const path = decodeURIComponent(pathname);
  const isText = /^(text\/|application\/(json|javascript|xml)\b)/.test(headers['content-type'] ?? '');
  const now = new Date();
  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: search.slice(1),
    ...(cookie === undefined ? {} : { cookies: cookie.split('; ') }),
    headers: {
      ...headers,
      'x-forwarded-for': request.socket.remoteAddress ?? '',
      'x-forwarded-port': '443',
      'x-forwarded-proto': 'https',
      'x-amzn-trace-id': `Root=1-${Math.floor(now.getTime() / 1_000).toString(16)}-${randomBytes(12).toString('hex')}`,
    },
    ...(search === '' ? {} : { queryStringParameters: joined(searchParams) }),
    ...(Object.keys(pathParameters).length === 0 ? {} : { pathParameters }),
    requestContext: {
      accountId: account.id,
      apiId,
      domainName,
      domainPrefix: domainName.split('.')[0] ?? '',
      http: {
        method: request.method ?? '',
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: randomBytes(11).toString('base64'),
      routeKey,
      stage,
      time: inWords(now),
      timeEpoch: now.getTime(),
    },
    ...(body.length === 0 ? {} : { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: body.length > 0 && !isText,
  };
}

/** Joins repeated headers with commas. */
function headersOf(request: IncomingMessage): Record<string, string> {
  const all = Object.entries(request.headersDistinct).map(([name, values]) => [
    name,
    (values ?? []).join(name === 'cookie' ? '; ' : ','),
  ]);
  return Object.fromEntries(all) as Record<string, string>;
}

function joined(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name).join(',')]));
}

/** Formats an instant as in the log of a web server. */
function inWords(instant: Date): string {
  // Sun, 29 Nov 2026 17:41:00 GMT
  const [, day = '', month = '', year = '', time = ''] = instant.toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}
