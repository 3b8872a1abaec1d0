import { Aws, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  AuthorizationType,
  DomainName,
  EndpointType,
  type IResource,
  LambdaIntegration,
  LogGroupLogDestination,
  ResponseTransferMode,
  ResponseType,
  RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import type { Construct } from 'constructs';
import { streamsMaxMax } from '../lib/base/limits.js';
import { functions, httpThrottle, serveStage } from '../lib/topology/topology.js';
import type { OutwaitProps, OutwaitServe } from './props.js';

/** The REST API of served workflows. */
export interface OutwaitServeApi {
  readonly api: RestApi;
  /** URL under which the agents are, without `/a2a`. */
  readonly url: string;
  /** Target for your own domain name. */
  readonly domain: DomainName | undefined;
}

/** Seconds after which a caller may try again whose request the function could not take. */
const retryAfterSeconds = 5;

/** Returns how many streams may be open: fewer than the invocations that the function has, if these are reserved. */
export function streamsMaxOf({ streamsMax }: OutwaitServe, reserved: number | undefined): number | undefined {
  return (
    streamsMax ??
    (reserved === undefined ? undefined : Math.max(1, Math.min(streamsMaxMax, Math.floor(reserved * 0.75))))
  );
}

/** Creates the bare REST API: its URL is known to the function before anything leads to it. */
export function createServeApi(scope: Construct, serve: OutwaitServe, props: OutwaitProps): OutwaitServeApi {
  const { throttle = httpThrottle } = props;
  const api = new RestApi(scope, 'ServeApi', {
    description: 'outwait: served workflows',
    // A regional API streams through 5 minutes of silence, the default only through 30 s.
    endpointTypes: [EndpointType.REGIONAL],
    cloudWatchRole: serve.accountLogRole ?? true,
    deployOptions: {
      stageName: serveStage,
      throttlingRateLimit: throttle.perSecond,
      throttlingBurstLimit: throttle.burst,
      accessLogDestination: new LogGroupLogDestination(
        new LogGroup(scope, 'ServeAccessLog', {
          retention: props.logRetention ?? RetentionDays.ONE_MONTH,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
      ),
      accessLogFormat,
    },
  });
  // Removes an output whose name would be that of the construct.
  api.node.tryRemoveChild('Endpoint');
  const domain =
    serve.domain === undefined
      ? undefined
      : new DomainName(scope, 'ServeDomain', {
          domainName: serve.domain.name,
          certificate: serve.domain.certificate,
          endpointType: EndpointType.REGIONAL,
          securityPolicy: SecurityPolicy.TLS_1_2,
        });
  const ownUrl = `https://${api.restApiId}.execute-api.${Stack.of(scope).region}.${Aws.URL_SUFFIX}/${serveStage}`;
  return { api, domain, url: serve.domain === undefined ? ownUrl : `https://${serve.domain.name}` };
}

/**
 * Puts the REST API in front of the function, which answers each path as a stream. With `iam` the gateway lets in who signs
 * requests; cards and the documents of discovery are for everyone.
 */
export function openServeApi(
  scope: Construct,
  { api, domain }: OutwaitServeApi,
  { serve, handler }: { readonly serve: OutwaitServe; readonly handler: IFunction },
): void {
  const integration = new LambdaIntegration(handler, {
    responseTransferMode: ResponseTransferMode.STREAM,
    timeout: Duration.millis(functions.serve.timeoutMs),
    allowTestInvoke: false,
    // Grants one permission for the API: a function's policy has little room.
    scopePermissionToMethod: false,
  });
  const route = (parent: IResource, authorizationType: AuthorizationType): void => {
    parent.addResource('{proxy+}').addMethod('ANY', integration, { authorizationType });
  };
  route(api.root, serve.access.kind === 'iam' ? AuthorizationType.IAM : AuthorizationType.NONE);
  if (serve.access.kind === 'iam') {
    const agent = api.root.addResource('agents').addResource('{skill}');
    route(agent, AuthorizationType.IAM);
    const mcp = api.root.addResource('mcp');
    mcp.addMethod('ANY', integration, { authorizationType: AuthorizationType.IAM });
    mcp.addResource('server-card').addMethod('GET', integration, { authorizationType: AuthorizationType.NONE });
    for (const parent of [api.root, agent]) route(parent.addResource('.well-known'), AuthorizationType.NONE);
  }
  addGatewayResponses(api);
  // Without a path: clients look for cards at the root.
  domain?.addBasePathMapping(api, { stage: api.deploymentStage });
  if (serve.webAclArn !== undefined)
    new CfnWebACLAssociation(scope, 'ServeFirewall', {
      resourceArn: api.deploymentStage.stageArn,
      webAclArn: serve.webAclArn,
    });
}

/** Responses of the gateway itself, in a form that clients understand. */
function addGatewayResponses(api: RestApi): void {
  const problem = (title: string, status: number): Record<string, string> => ({
    'application/json': JSON.stringify({ type: 'about:blank', title, status }),
  });
  // Lambda at the limit of its concurrency, above all: 500 by default, which clients do not repeat.
  api.addGatewayResponse('Unavailable', {
    type: ResponseType.INTEGRATION_FAILURE,
    statusCode: '503',
    responseHeaders: { 'Retry-After': `'${retryAfterSeconds}'` },
    templates: problem('Service Unavailable', 503),
  });
  api.addGatewayResponse('Unauthorized', {
    type: ResponseType.UNAUTHORIZED,
    statusCode: '401',
    responseHeaders: { 'WWW-Authenticate': "'Bearer'" },
    templates: problem('Unauthorized', 401),
  });
}

/** Logs the resource instead of the path, which has ids of tasks. */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    time: '$context.requestTime',
    ip: '$context.identity.sourceIp',
    method: '$context.httpMethod',
    route: '$context.resourcePath',
    status: '$context.status',
    bytes: '$context.responseLength',
    latencyMs: '$context.responseLatency',
    firstContentMs: '$context.integration.timeToFirstContent',
    integrationError: '$context.integrationErrorMessage',
  }),
);
