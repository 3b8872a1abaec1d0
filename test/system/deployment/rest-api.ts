import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { account, arnOf } from './account.js';
import { closeServer } from './close-server.js';
import type { Identities } from './identities.js';
import type { Lambda } from './lambda.js';
import type { MayInvoke } from './permissions.js';
import { toRestEvent } from './rest-event.js';
import { ignored, type StackResources } from './stack-resources.js';
import { StreamedResponse } from './streamed-response.js';

const apiProperties = z.strictObject({
  Name: z.string(),
  Description: ignored,
  EndpointConfiguration: z.strictObject({ Types: z.tuple([z.literal('REGIONAL')]) }),
});
const resourceProperties = z.strictObject({ ParentId: z.string(), PathPart: z.string(), RestApiId: z.string() });
const methodProperties = z.strictObject({
  AuthorizationType: z.literal('NONE'),
  HttpMethod: z.literal('ANY'),
  Integration: z.strictObject({
    IntegrationHttpMethod: z.literal('POST'),
    ResponseTransferMode: z.literal('STREAM'),
    TimeoutInMillis: z.int().max(900_000),
    Type: z.literal('AWS_PROXY'),
    Uri: z.string(),
  }),
  ResourceId: z.string(),
  RestApiId: z.string(),
});
const deploymentProperties = z.strictObject({ RestApiId: z.string(), Description: ignored });
const stageProperties = z.strictObject({
  RestApiId: z.string(),
  DeploymentId: z.string(),
  StageName: z.string(),
  // There are fewer requests here, and their log is not read.
  MethodSettings: ignored,
  AccessLogSetting: ignored,
});
const gatewayResponseProperties = z.strictObject({
  RestApiId: z.string(),
  ResponseType: z.string(),
  StatusCode: z.string(),
  ResponseParameters: z.record(z.templateLiteral(['gatewayresponse.header.', z.string()]), z.string()),
  ResponseTemplates: z.record(z.string(), z.string()),
});

/** Headers that a REST API renames, since they are its own. */
const renamed: ReadonlySet<string> = new Set(['www-authenticate']);

export interface RestApiParts {
  readonly identities: Identities;
  readonly lambda: Lambda;
  readonly mayInvoke: MayInvoke;
}

interface Api {
  readonly id: string;
  readonly stage: string;
  /** Paths of the resources with a method, and the functions that they lead to. */
  readonly targets: ReadonlyMap<string, string>;
  readonly failure: z.infer<typeof gatewayResponseProperties> | undefined;
}

/** The REST API of a stack, if it has one. It streams what its function writes. */
export class RestApi {
  readonly #server: Server;
  #api: Api | undefined;
  #parts: RestApiParts | undefined;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => {
        response.destroy();
      });
    });
  }

  static async open(): Promise<RestApi> {
    const api = new RestApi();
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  /** Serves the resources of the template from now on. */
  serve(resources: StackResources, parts: RestApiParts): void {
    const { identities } = parts;
    const [only, ...others] = resources.take('AWS::ApiGateway::RestApi', apiProperties);
    if (others.length > 0) throw new Error('one REST API is known here');
    if (only === undefined) return;
    const paths = new Map([[identities.attribute(only.logicalId, 'RootResourceId'), '']]);
    const left = [...resources.take('AWS::ApiGateway::Resource', resourceProperties)];
    for (const { logicalId, properties } of left) {
      const parent = paths.get(properties.ParentId);
      if (parent === undefined) throw new Error(`the parent of ${logicalId} must come before it`);
      paths.set(identities.ref(logicalId), `${parent}/${properties.PathPart}`);
    }
    const methods = resources.take('AWS::ApiGateway::Method', methodProperties);
    const targets = methods.map(({ properties: { ResourceId: resource, Integration: integration } }) => {
      const [, target] =
        /\/2021-11-15\/functions\/([^/]+)\/response-streaming-invocations$/.exec(integration.Uri) ?? [];
      if (target === undefined) throw new Error(`${integration.Uri} is not known here`);
      return [paths.get(resource) ?? '', target] as const;
    });
    resources.take('AWS::ApiGateway::Deployment', deploymentProperties);
    const [stage] = resources.take('AWS::ApiGateway::Stage', stageProperties);
    if (stage === undefined) throw new Error('the REST API has no stage, so nobody can reach it');
    const responses = resources.take('AWS::ApiGateway::GatewayResponse', gatewayResponseProperties);
    this.#api = {
      id: identities.ref(only.logicalId),
      stage: stage.properties.StageName,
      targets: new Map(targets),
      failure: responses
        .map(({ properties }) => properties)
        .find((found) => found.ResponseType === 'INTEGRATION_FAILURE'),
    };
    this.#parts = parts;
  }

  /** A client outside: requests for the host of the API reach this server, others go where they say. */
  readonly fetch: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    const { host, pathname, search } = new URL(request.url);
    if (host !== this.#host) return fetch(request);
    const { port } = this.#server.address() as AddressInfo;
    return fetch(new Request(`http://127.0.0.1:${port}${pathname}${search}`, request));
  };

  get #host(): string {
    return `${this.#api?.id ?? ''}.execute-api.${account.region}.amazonaws.com`;
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    if (this.#api === undefined || this.#parts === undefined) throw new Error('the stack has no REST API');
    const { id: apiId, stage } = this.#api;
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [, first = '', ...rest] = pathname.split('/');
    if (first !== stage) {
      say(response, 403, 'Forbidden');
      return;
    }
    const path = `/${rest.join('/')}`;
    const found = this.#targetFor(path);
    if (found === undefined) {
      say(response, 403, 'Missing Authentication Token');
      return;
    }
    const { lambda, mayInvoke } = this.#parts;
    const sourceArn = arnOf('execute-api', `${apiId}/${stage}/${request.method ?? ''}${path}`);
    const streamed = new StreamedResponse(response, renamed);
    if (mayInvoke({ service: 'apigateway.amazonaws.com', sourceArn }, found.target)) {
      const event = toRestEvent(request, body, { apiId, stage, path, resource: found.resource, host: this.#host });
      const result = await lambda.invoke(found.target, event, (bytes) => {
        streamed.take(bytes);
      });
      if (streamed.hasBegun) {
        streamed.end(result.ok);
        return;
      }
    }
    this.#fail(response);
  }

  #targetFor(path: string): { readonly resource: string; readonly target: string } | undefined {
    const matching = [...(this.#api?.targets ?? [])].filter(([resource]) => patternOf(resource).test(path));
    // The longest literal beginning is the most specific.
    const [found] = matching.sort(([one], [other]) => other.indexOf('{') - one.indexOf('{'));
    return found === undefined ? undefined : { resource: found[0], target: found[1] };
  }

  /** Answers for a function that has failed before its first byte. */
  #fail(response: ServerResponse): void {
    const failure = this.#api?.failure;
    if (failure === undefined) {
      say(response, 500, 'Internal server error');
      return;
    }
    const headers = Object.entries(failure.ResponseParameters).map(([name, value]) => [
      name.replace('gatewayresponse.header.', ''),
      value.replace(/^'(.*)'$/, '$1'),
    ]);
    response
      .writeHead(Number(failure.StatusCode), Object.fromEntries(headers) as Record<string, string>)
      .end(failure.ResponseTemplates['application/json']);
  }
}

/** Matches the paths of a resource: `{name+}` is the rest of the path, `{name}` one segment of it. */
function patternOf(resource: string): RegExp {
  const parts = resource.split('/').map((part) => {
    if (part.endsWith('+}')) return '.+';
    return part.startsWith('{') ? '[^/]+' : part.replaceAll('.', '\\.');
  });
  return new RegExp(`^${parts.join('/')}$`);
}

function say(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
}
