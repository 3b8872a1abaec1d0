import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
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

  test('lets the sweep read the table and nothing more', () => {
    const policies = Object.entries(template.findResources('AWS::IAM::Policy')) as [
      string,
      { Properties: { PolicyDocument: { Statement: { Action: string | string[] }[] } } },
    ][];
    const sweep = policies.find(([name]) => name.startsWith('schedule'))?.[1];
    const actions = sweep?.Properties.PolicyDocument.Statement.flatMap(({ Action }) => Action) ?? [];
    expect(actions).toContain('dynamodb:Query');
    expect(actions.filter((action) => /Put|Update|Delete|Write/.test(action))).toEqual([]);
  });
});
