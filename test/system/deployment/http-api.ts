import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { z } from 'zod';
import { arnOf } from './account.js';
import { closeServer } from './close-server.js';
import { toHttpEvent } from './http-event.js';
import type { Identities } from './identities.js';
import type { Lambda } from './lambda.js';
import type { MayInvoke } from './permissions.js';
import type { InvocationResult } from './replica.js';
import { ignored, type StackResources } from './stack-resources.js';

const apiProperties = z.strictObject({ Name: z.string(), ProtocolType: z.literal('HTTP') });
const stageProperties = z.strictObject({
  ApiId: z.string(),
  StageName: z.literal('$default'),
  AutoDeploy: z.literal(true),
  // There are fewer requests here, and their log is not read.
  DefaultRouteSettings: ignored,
  AccessLogSettings: ignored,
});
const integrationProperties = z.strictObject({
  ApiId: z.string(),
  IntegrationType: z.literal('AWS_PROXY'),
  IntegrationUri: z.string(),
  PayloadFormatVersion: z.literal('2.0'),
});
const routeProperties = z.strictObject({
  ApiId: z.string(),
  AuthorizationType: z.literal('NONE'),
  RouteKey: z.string(),
  Target: z.string(),
});

export interface HttpApiParts {
  readonly identities: Identities;
  readonly lambda: Lambda;
  readonly mayInvoke: MayInvoke;
}

interface Api {
  readonly id: string;
  readonly stage: string;
  readonly routes: readonly Route[];
}

interface Route {
  readonly key: string;
  readonly method: string;
  readonly segments: readonly string[];
  /** ARN of a function or an alias. */
  readonly target: string;
}

/** Timeout of an HTTP API for a function. */
const integrationMaxMs = 30_000;

/** The HTTP server of a stack: it serves only the routes of the template. */
export class HttpApi {
  readonly #server: Server;
  #api: Api | undefined;
  #parts: HttpApiParts | undefined;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => {
        say(response, 500, 'Internal Server Error');
      });
    });
  }

  static async open(): Promise<HttpApi> {
    const api = new HttpApi();
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Serves the routes of the template from now on. */
  serve(resources: StackResources, parts: HttpApiParts): void {
    const { identities } = parts;
    const apis = resources.take('AWS::ApiGatewayV2::Api', apiProperties);
    const [only, ...others] = apis;
    if (only === undefined || others.length > 0) throw new Error(`one HTTP API is known here, and not ${apis.length}`);
    const targets = new Map(
      resources
        .take('AWS::ApiGatewayV2::Integration', integrationProperties)
        .map(({ logicalId, properties }) => [`integrations/${identities.ref(logicalId)}`, properties.IntegrationUri]),
    );
    const routes = resources.take('AWS::ApiGatewayV2::Route', routeProperties).map(({ logicalId, properties }) => {
      const target = targets.get(properties.Target);
      if (target === undefined) throw new Error(`${logicalId} leads nowhere`);
      const [method = '', path = ''] = properties.RouteKey.split(' ');
      return { key: properties.RouteKey, method, segments: path.split('/'), target };
    });
    const [stage] = resources.take('AWS::ApiGatewayV2::Stage', stageProperties);
    if (stage === undefined) throw new Error('the HTTP API has no stage, so nobody can reach it');
    this.#api = { id: identities.ref(only.logicalId), stage: stage.properties.StageName, routes };
    this.#parts = parts;
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { method = 'GET', url = '/' } = request;
    const found =
      this.#api === undefined ? undefined : routeFor(this.#api.routes, method, new URL(url, this.url).pathname);
    if (found === undefined) {
      say(response, 404, 'Not Found');
      return;
    }
    const result = await this.#invoke(found, request, body);
    if (result === undefined) say(response, 503, 'Service Unavailable');
    else if (!result.ok) say(response, 500, 'Internal Server Error');
    else answerWith(response, result.value as APIGatewayProxyStructuredResultV2);
  }

  /** Invokes a function; returns undefined if it takes too long. */
  async #invoke(
    { route, pathParameters }: Match,
    request: IncomingMessage,
    body: Buffer,
  ): Promise<InvocationResult | undefined> {
    if (this.#api === undefined || this.#parts === undefined) throw new Error('the stack is not there yet');
    const { id: apiId, stage } = this.#api;
    const { lambda, mayInvoke } = this.#parts;
    const sourceArn = arnOf('execute-api', `${apiId}/${stage}/${request.method ?? ''}${route.segments.join('/')}`);
    if (!mayInvoke({ service: 'apigateway.amazonaws.com', sourceArn }, route.target))
      return { ok: false, error: { errorType: 'AccessDeniedException', errorMessage: 'the API may not invoke it' } };
    const event = toHttpEvent(request, body, { apiId, stage, routeKey: route.key, pathParameters });
    return within(integrationMaxMs, lambda.invoke(route.target, event));
  }
}

function answerWith(response: ServerResponse, result: APIGatewayProxyStructuredResultV2): void {
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  if (result.cookies !== undefined) response.setHeader('set-cookie', result.cookies);
  response.statusCode = result.statusCode ?? 200;
  response.end(Buffer.from(result.body ?? '', result.isBase64Encoded === true ? 'base64' : 'utf8'));
}

function say(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
}

/** Returns undefined if the value takes longer. */
async function within<Value>(maxMs: number, value: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, maxMs, undefined);
  });
  const first = await Promise.race([value, over]);
  clearTimeout(timer);
  return first;
}

interface Match {
  readonly route: Route;
  readonly pathParameters: Readonly<Record<string, string>>;
}

/** Returns the route whose first segments are most like the path, and of two equal ones that for the method. */
function routeFor(routes: readonly Route[], method: string, path: string): Match | undefined {
  const segments = path.split('/');
  const rank = ({ route }: Match): string =>
    route.segments.map((segment) => (isParameter(segment) ? '1' : '0')).join('') + (route.method === 'ANY' ? '1' : '0');
  return routes
    .filter((route) => route.method === 'ANY' || route.method === method)
    .flatMap((route): readonly Match[] => {
      const pathParameters = parametersOf(route, segments);
      return pathParameters === undefined ? [] : [{ route, pathParameters }];
    })
    .sort((one, other) => rank(one).localeCompare(rank(other)))[0];
}

/** Returns undefined if the path does not match the route. @throws Error for a route with a greedy parameter */
function parametersOf(route: Route, segments: readonly string[]): Record<string, string> | undefined {
  if (route.key === '$default' || route.key.includes('+}')) throw new Error(`the route ${route.key} is not known here`);
  if (route.segments.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [at, wanted] of route.segments.entries()) {
    const segment = segments[at] ?? '';
    if (isParameter(wanted) && segment !== '') parameters[wanted.slice(1, -1)] = decodeURIComponent(segment);
    else if (wanted !== segment) return undefined;
  }
  return parameters;
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
