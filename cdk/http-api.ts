import { defined } from '../lib/base/defined.js';
import { RemovalPolicy } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  DomainName,
  HttpApi,
  HttpIntegration,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { CfnPermission, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { type Route, routePaths } from '../lib/topology/routes.js';
import { httpThrottle } from '../lib/topology/topology.js';
import type { OutwaitAuthorizer, OutwaitProps } from './props.js';

/** Creates the bare HTTP API: its URL is known to the functions before anything leads to them. */
export function createApi(scope: Construct): HttpApi {
  return new HttpApi(scope, 'Api', { createDefaultStage: false });
}

/**
 * Puts the HTTP API in front of the `api` function, with exactly the paths of the table of routes. An authorizer
 * guards the paths of the management API; the credential of a capability route is a settle token, and senders of hooks
 * prove to the function who they are.
 */
export function openHttpApi(
  scope: Construct,
  api: HttpApi,
  handler: IFunction,
  props: OutwaitProps,
): { readonly domain: DomainName | undefined } {
  const { throttle = httpThrottle } = props;
  const domain =
    props.domain === undefined
      ? undefined
      : new DomainName(scope, 'Domain', { domainName: props.domain.name, certificate: props.domain.certificate });
  new HttpStage(scope, 'Stage', {
    httpApi: api,
    stageName: '$default',
    autoDeploy: true,
    throttle: { rateLimit: throttle.perSecond, burstLimit: throttle.burst },
    accessLogSettings: {
      destination: new LogGroupLogDestination(
        new LogGroup(scope, 'AccessLog', {
          retention: props.logRetention ?? RetentionDays.ONE_MONTH,
          removalPolicy: RemovalPolicy.DESTROY,
        }),
      ),
      format: accessLogFormat,
    },
    ...defined({ domainMapping: domain === undefined ? undefined : { domainName: domain } }),
  });
  const integration = new HttpLambdaIntegration('Integration', handler, {
    // Grants one permission for the API: a function's policy has room for only some 50 single routes.
    scopePermissionToRoute: false,
  });
  const authorizer = props.authorizer === undefined ? undefined : createAuthorizer(props.authorizer);
  for (const { path, access } of routePaths()) {
    api.addRoutes({
      path,
      methods: [HttpMethod.ANY],
      integration,
      authorizer: access === 'management' ? authorizer : new HttpNoneAuthorizer(),
      ...scopesOf(props.authorizer, access),
    });
  }
  letInFirst(api);
  return { domain };
}

/** Delays the integrations until the permissions exist, for handlers other than the function, such as an alias. */
function letInFirst(api: HttpApi): void {
  const parts = api.node.findAll();
  const permissions = parts.filter((part) => part instanceof CfnPermission);
  for (const part of parts) if (part instanceof HttpIntegration) part.node.addDependency(...permissions);
}

/** Logs the route instead of the path, which may hold a settle token. */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    time: '$context.requestTime',
    ip: '$context.identity.sourceIp',
    method: '$context.httpMethod',
    route: '$context.routeKey',
    status: '$context.status',
    bytes: '$context.responseLength',
    latencyMs: '$context.responseLatency',
    integrationError: '$context.integrationErrorMessage',
    authorizerError: '$context.authorizer.error',
  }),
);

function createAuthorizer(authorizer: OutwaitAuthorizer): IHttpRouteAuthorizer {
  switch (authorizer.kind) {
    case 'iam':
      return new HttpIamAuthorizer();
    case 'jwt':
      return new HttpJwtAuthorizer('Authorizer', authorizer.issuer, { jwtAudience: [...authorizer.audience] });
  }
}

function scopesOf(authorizer: OutwaitAuthorizer | undefined, access: Route['access']) {
  return authorizer?.kind === 'jwt' && authorizer.scopes !== undefined && access === 'management'
    ? { authorizationScopes: [...authorizer.scopes] }
    : {};
}
