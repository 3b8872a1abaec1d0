import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { FunctionName, QueueName, tableIndexes } from '../lib/topology/topology.js';
import type { OutwaitFunctions } from './functions.js';

/** Rights of each function beyond reading and writing the table's items, which all have. */
const uses: Readonly<
  Record<
    FunctionName,
    { readonly indexes?: readonly (keyof typeof tableIndexes)[]; readonly sendsTo: readonly QueueName[] }
  >
> = {
  api: { indexes: ['list', 'tenant'], sendsTo: ['turn', 'work'] },
  turn: { sendsTo: ['turn', 'work', 'step', 'start'] },
  poll: { sendsTo: ['turn', 'work', 'start', 'slow'] },
  step: { sendsTo: ['turn', 'work', 'step'] },
  schedule: { indexes: ['due'], sendsTo: ['turn', 'work', 'step'] },
  serve: { indexes: ['task'], sendsTo: ['turn', 'work'] },
};

/** Functions that call remote servers. */
const callers = ['api', 'turn', 'poll', 'step'] as const satisfies readonly FunctionName[];

export interface Resources {
  readonly functions: OutwaitFunctions;
  readonly table: ITableV2;
  readonly queues: Readonly<Record<QueueName, Queue>>;
  readonly tokenKeys: ISecret;
  /** Empty if there is an authorizer. */
  readonly managementTokens: readonly ISecret[];
  /** Management tokens that callers of served workflows may use. */
  readonly serveTokens: readonly ISecret[];
  readonly payloadKey: IKey | undefined;
  readonly eventBus: IEventBus | undefined;
  readonly noticeTopics: readonly ITopic[];
  readonly secrets: readonly string[];
  readonly parameters: readonly string[];
}

/** Grants each function only the actions that it uses, on the resources on which it uses them. */
export function grantRights(resources: Resources): void {
  const { functions, table, queues, payloadKey } = resources;
  for (const [name, { indexes = [], sendsTo }] of Object.entries(uses) as [
    FunctionName,
    (typeof uses)[FunctionName],
  ][]) {
    const user = functions[name];
    if (user === undefined) continue;
    // Leaves out deletes, which never happen, and transactions, which need no action of their own.
    allow(user, ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:Query'], table.tableArn);
    for (const index of indexes) allow(user, ['dynamodb:Query'], `${table.tableArn}/index/${index}`);
    for (const queue of sendsTo) allow(user, ['sqs:SendMessage'], queues[queue].queueArn);
    // Needed by all: they replay runs, start them, or make the ids of keyed starts.
    grantSecret(user, resources.tokenKeys);
    payloadKey?.grant(user, 'kms:GenerateDataKey', 'kms:Decrypt');
  }
  // Granted to turns only, which write the histories from which lifecycle events are made.
  if (resources.eventBus !== undefined) allow(functions.turn, ['events:PutEvents'], resources.eventBus.eventBusArn);
  // The worker that reads remote tasks sends the notices to people, too.
  for (const { topicArn } of resources.noticeTopics) allow(functions.poll, ['sns:Publish'], topicArn);
  for (const secret of resources.managementTokens) grantSecret(functions.api, secret);
  if (functions.serve !== undefined) for (const secret of resources.serveTokens) grantSecret(functions.serve, secret);
  for (const name of callers) grantNamed(functions[name], resources);
}

/** Grants the secrets of remote servers, by the names in the configuration. */
function grantNamed(user: LambdaFunction, { secrets, parameters }: Resources): void {
  const stack = Stack.of(user);
  for (const secret of secrets) {
    // Secrets Manager appends a hyphen and six characters to the name.
    const arn = secret.startsWith('arn:')
      ? secret
      : stack.formatArn({
          service: 'secretsmanager',
          resource: 'secret',
          resourceName: `${secret}-??????`,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        });
    allow(user, ['secretsmanager:GetSecretValue'], arn);
  }
  for (const parameter of parameters) {
    const resourceName = parameter.replace(/^\//, '');
    const arn = parameter.startsWith('arn:')
      ? parameter
      : stack.formatArn({ service: 'ssm', resource: 'parameter', resourceName });
    allow(user, ['ssm:GetParameter'], arn);
  }
}

function grantSecret(user: LambdaFunction, secret: ISecret): void {
  allow(user, ['secretsmanager:GetSecretValue'], secret.secretFullArn ?? `${secret.secretArn}-??????`);
  secret.encryptionKey?.grant(user, 'kms:Decrypt');
}

function allow(user: LambdaFunction, actions: string[], resource: string): void {
  user.addToRolePolicy(new PolicyStatement({ actions, resources: [resource] }));
}
