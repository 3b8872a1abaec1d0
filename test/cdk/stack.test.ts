import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { beforeAll, describe, expect, test } from 'vitest';
import { OutwaitStack } from '../../cdk/stack.js';

describe('the stack', () => {
  let template: Template;

  beforeAll(() => {
    // Bundles are tested elsewhere; without them a synth takes seconds less.
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    template = Template.fromStack(new OutwaitStack(app, 'Test', { config: 'examples/outwait.config.ts' }));
  });

  test('keeps the table when the stack goes, and can restore it', () => {
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Retain',
      Properties: Match.objectLike({
        BillingMode: 'PAY_PER_REQUEST',
        GlobalSecondaryIndexes: Match.arrayWith([
          Match.objectLike({
            IndexName: 'due',
            KeySchema: [
              { AttributeName: 'dueShard', KeyType: 'HASH' },
              { AttributeName: 'dueAtMs', KeyType: 'RANGE' },
            ],
          }),
          Match.objectLike({ IndexName: 'list' }),
        ]),
        Replicas: [
          Match.objectLike({
            DeletionProtectionEnabled: true,
            PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          }),
        ],
      }),
    });
  });

  test('takes turns from a FIFO queue, one run at a time, whose messages outlive a crashed turn', () => {
    template.hasResourceProperties('AWS::SQS::Queue', {
      FifoQueue: true,
      VisibilityTimeout: 90,
      RedrivePolicy: Match.objectLike({ maxReceiveCount: 5 }),
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 60,
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
    });
  });

  test('reports each failed message of a batch on its own', () => {
    template.resourceCountIs('AWS::Lambda::EventSourceMapping', 3);
    template.allResourcesProperties('AWS::Lambda::EventSourceMapping', {
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  test('gives every queue that is received from a dead-letter queue that is kept for 14 days', () => {
    const queues = Object.values(template.findResources('AWS::SQS::Queue')) as {
      Properties: Record<string, unknown>;
    }[];
    expect(queues.filter((queue) => queue.Properties['RedrivePolicy'] !== undefined)).toHaveLength(3);
    expect(queues.filter((queue) => queue.Properties['MessageRetentionPeriod'] === 1_209_600)).toHaveLength(3);
  });

  test('runs long steps for up to 15 minutes, from a standard queue whose messages outlive that six times', () => {
    template.hasResourceProperties('AWS::SQS::Queue', { FifoQueue: Match.absent(), VisibilityTimeout: 5_400 });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 900,
      Environment: { Variables: Match.objectLike({ OUTWAIT_STEP_QUEUE_URL: Match.anyValue() }) },
    });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 1,
      ScalingConfig: { MaximumConcurrency: 20 },
    });
  });

  test('sweeps every minute', () => {
    template.hasResourceProperties('AWS::Events::Rule', { ScheduleExpression: 'rate(1 minute)' });
  });

  test('lets the sweep read the table, and write the runs that schedules start', () => {
    const actions = actionsOf(template, 'schedule');
    expect(actions).toEqual(expect.arrayContaining(['dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem']));
    expect(actions.filter((action) => action.endsWith('Table') && action !== 'dynamodb:DescribeTable')).toEqual([]);
  });

  test.each([
    ['api', ['turnQueue', 'workQueue']],
    ['turn', ['turnQueue', 'workQueue', 'stepQueue']],
    ['poll', ['turnQueue', 'workQueue']],
    ['step', ['turnQueue', 'stepQueue']],
    ['schedule', ['turnQueue', 'workQueue', 'stepQueue']],
  ])('lets the function %s send to the queues that it sends to', (name, targets) => {
    const sends = statementsOf(template, name).filter(({ Action }) => [Action].flat().includes('sqs:SendMessage'));
    const ids = sends.map(({ Resource }) => (Resource as { 'Fn::GetAtt': [string, string] })['Fn::GetAtt'][0]);
    expect(ids.map((id) => id.replace(/[0-9A-F]{8}$/, ''))).toEqual(targets);
  });

  test('has no key for payloads unless one is given', () => {
    expect(JSON.stringify(template.toJSON())).not.toContain('OUTWAIT_PAYLOAD_KMS_KEY');
  });

  test('with a key for payloads lets every function make and open data keys, and nothing more', () => {
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    const payloadKey = new Key(new Stack(app, 'Keys'), 'Payload');
    const encrypted = Template.fromStack(
      new OutwaitStack(app, 'Encrypted', { config: 'examples/outwait.config.ts', payloadKey }),
    );
    for (const name of ['api', 'turn', 'poll', 'step', 'schedule']) {
      const actions = actionsOf(encrypted, name).filter((action) => action.startsWith('kms:'));
      expect([name, actions]).toEqual([name, ['kms:GenerateDataKey', 'kms:Decrypt']]);
    }
    encrypted.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ OUTWAIT_PAYLOAD_KMS_KEY: Match.anyValue() }) },
    });
  });
});

interface Statement {
  readonly Action: string | string[];
  readonly Resource: unknown;
}

/** What the role of a function may do. */
function statementsOf(template: Template, name: string): readonly Statement[] {
  const policies = Object.entries(template.findResources('AWS::IAM::Policy')) as [
    string,
    { Properties: { PolicyDocument: { Statement: Statement[] } } },
  ][];
  const policy = policies.find(([id]) => id.startsWith(name))?.[1];
  return policy?.Properties.PolicyDocument.Statement ?? [];
}

function actionsOf(template: Template, name: string): readonly string[] {
  return statementsOf(template, name).flatMap(({ Action }) => Action);
}
