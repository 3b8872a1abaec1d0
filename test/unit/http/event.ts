import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { defined } from '../../../lib/base/defined.js';

export interface EventParts {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | undefined;
  /** Whether the body is sent in base64. Default: as text. */
  readonly base64?: boolean;
}

/** Creates an event of an HTTP API, payload format 2.0. */
export function anEvent({
  method,
  path,
  query = '',
  headers = {},
  body,
  base64 = false,
}: EventParts): APIGatewayProxyEventV2 {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: query,
    headers,
    requestContext: {
      accountId: '123456789012',
      apiId: 'api',
      domainName: 'api.example.com',
      domainPrefix: 'api',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' },
      requestId: 'r',
      routeKey: '$default',
      stage: '$default',
      time: '29/Nov/2026:18:00:00 +0000',
      timeEpoch: 1_795_975_200_000,
    },
    ...defined({ body: body !== undefined && base64 ? Buffer.from(body).toString('base64') : body }),
    isBase64Encoded: base64,
  };
}
