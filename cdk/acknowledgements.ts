import { Validations } from 'aws-cdk-lib';
import { CfnMethod, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { type HttpApi, HttpRoute } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import { type Route, routePaths } from '../lib/topology/routes.js';

/** Reasons why a path is meant to have no authorizer. */
const withoutAuthorizer: Readonly<Record<Route['access'], string>> = {
  open: 'It reveals only that the function answers.',
  capability:
    'A settle token in the path, header or body is the credential, an HMAC that the function checks before it reads the table.',
  hook: 'The sender signs its request, or sends a token of its own, which the function checks before it uses the table.',
  management: 'The function requires the management token as a bearer token; an authorizer can be configured instead.',
};

export interface Findings {
  readonly api: HttpApi;
  /** API of served workflows, if any. */
  readonly serveApi: RestApi | undefined;
  readonly hasAuthorizer: boolean;
  readonly sweepDeadLetters: Queue;
  /** Generated secrets. */
  readonly secrets: readonly IConstruct[];
}

/** Acknowledges findings of cdk-nag's AwsSolutions pack that are intended, each with its reason. */
export function acknowledgeFindings({ api, serveApi, hasAuthorizer, sweepDeadLetters, secrets }: Findings): void {
  if (serveApi !== undefined) acknowledgeServing(serveApi);
  for (const route of api.node.children.filter((child) => child instanceof HttpRoute)) {
    const access = routePaths().find(({ path }) => path === route.path)?.access;
    if (access === undefined || (access === 'management' && hasAuthorizer)) continue;
    acknowledge(route, 'APIG4', withoutAuthorizer[access]);
  }
  acknowledge(sweepDeadLetters, 'SQS3', 'It is the dead-letter queue of the rule and of the function of the sweep.');
  for (const secret of secrets) {
    acknowledge(
      secret,
      'SMG4',
      'It is replaced by hand: a new value goes in front of the old one, which callers and open waits still hold, and the first token key stays for good.',
    );
  }
}

function acknowledgeServing(api: RestApi): void {
  for (const method of api.node.findAll().filter((part) => part instanceof CfnMethod)) {
    acknowledge(method, 'COG4', 'Callers are agents, with named keys or roles of IAM, and not users of a pool.');
    if (method.authorizationType === 'NONE')
      acknowledge(method, 'APIG4', 'Cards are for everyone; for the rest the function requires a named key or token.');
  }
  acknowledge(api, 'APIG2', 'The function checks requests against the protocol, after the credential.');
  acknowledge(api.deploymentStage, 'APIG6', 'A log of execution would have the content and the ids of tasks.');
  acknowledge(api.deploymentStage, 'APIG3', 'A web ACL is a setting (serve.webAclArn).');
  const logRole = api.node.tryFindChild('CloudWatchRole');
  if (logRole !== undefined)
    acknowledge(
      logRole,
      'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
      'API Gateway asks for this policy before it writes logs.',
    );
}

export function acknowledge(construct: IConstruct, rule: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
}
