import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { account } from './account.js';

export interface RestRouted {
  readonly apiId: string;
  readonly stage: string;
  readonly host: string;
  /** Path of the resource, such as `/{proxy+}`. */
  readonly resource: string;
  /** Path of the request without the stage. */
  readonly path: string;
}

/** Returns the event that a REST API makes of a request, in payload format 1.0. */
export function toRestEvent(request: IncomingMessage, body: Buffer, routed: RestRouted): APIGatewayProxyEvent {
  const { apiId, stage, resource, path, host } = routed;
  const query = grouped(new URL(request.url ?? '/', 'http://localhost').searchParams);
  const headers = { ...(request.headersDistinct as Record<string, string[]>), host: [host] };
  const method = request.method ?? 'GET';
  return {
    resource,
    path,
    httpMethod: method,
    headers: lastOf(headers),
    multiValueHeaders: headers,
    queryStringParameters: query === null ? null : lastOf(query),
    multiValueQueryStringParameters: query,
    pathParameters: { proxy: path.slice(1) },
    stageVariables: null,
    requestContext: {
      accountId: account.id,
      apiId,
      // Missing where the gateway has no authorizer.
      authorizer: undefined,
      protocol: `HTTP/${request.httpVersion}`,
      httpMethod: method,
      path: `/${stage}${path}`,
      stage,
      requestId: randomUUID(),
      requestTimeEpoch: Date.now(),
      resourceId: 'abc123',
      resourcePath: resource,
      identity: {
        ...{ accessKey: null, accountId: null, apiKey: null, apiKeyId: null, caller: null, clientCert: null },
        ...{ cognitoAuthenticationProvider: null, cognitoAuthenticationType: null, cognitoIdentityId: null },
        ...{ cognitoIdentityPoolId: null, principalOrgId: null, user: null, userArn: null },
        sourceIp: request.socket.remoteAddress ?? '',
        userAgent: request.headers['user-agent'] ?? null,
      },
    },
    body: body.length === 0 ? null : body.toString('utf8'),
    isBase64Encoded: false,
  };
}

function grouped(query: URLSearchParams): Record<string, string[]> | null {
  const names = [...new Set(query.keys())];
  return names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, query.getAll(name)]));
}

function lastOf(values: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, all]) => [name, all.at(-1) ?? '']));
}
