import type { Template } from 'aws-cdk-lib/assertions';
import { Match } from 'aws-cdk-lib/assertions';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { rights } from '../../support/rights.js';
import { resourceOf, statementsOf, synthesize } from './synthesis.js';

let template: Template;

beforeAll(() => {
  ({ template } = synthesize());
});

interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

function all(type: string): readonly (readonly [string, Resource])[] {
  return Object.entries(template.findResources(type) as Record<string, Resource>);
}

/** Returns the only resource of this type whose logical id begins like this. */
function one(type: string, id: string): Resource['Properties'] {
  const found = all(type).filter(([logicalId]) => new RegExp(`^${id}[0-9A-F]{8}$`).test(logicalId));
  expect(found).toHaveLength(1);
  return found[0]![1].Properties;
}

describe('what must not be lost', () => {
  test('keeps its logical ids: another id is another table', () => {
    const stateful = ['AWS::DynamoDB::GlobalTable', 'AWS::SQS::Queue', 'AWS::SecretsManager::Secret'];
    expect(stateful.flatMap((type) => all(type).map(([id]) => id)).sort()).toEqual([
      'OutwaitManagementTokenF491CB95',
      'OutwaitSlowDeadLetters235A48E0',
      'OutwaitSlowQueue5475C202',
      'OutwaitStartDeadLetters8C3AD2B9',
      'OutwaitStartQueue44598559',
      'OutwaitStepDeadLetters858CFFF2',
      'OutwaitStepQueue82FBAD31',
      'OutwaitSweepDeadLetters3D6C650A',
      'OutwaitTableB6755FAF',
      'OutwaitTokenKeysA87853B2',
      'OutwaitTurnDeadLettersA4584795',
      'OutwaitTurnQueue1642E296',
      'OutwaitWorkDeadLettersAD78F005',
      'OutwaitWorkQueue5C3EA705',
    ]);
  });

  test('stays when the stack goes: the table and the secrets, and nothing else', () => {
    const kept = Object.entries(template.toJSON()['Resources'] as Record<string, Resource>)
      .filter(([, { DeletionPolicy }]) => DeletionPolicy === 'Retain')
      .map(([id]) => id.slice(0, -8));
    expect(kept.sort()).toEqual(['OutwaitManagementToken', 'OutwaitTable', 'OutwaitTokenKeys']);
  });

  test('is in a table that is paid per request, protected and can be restored, with its indexes and a time to live', () => {
    template.hasResourceProperties('AWS::DynamoDB::GlobalTable', {
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      TimeToLiveSpecification: { AttributeName: 'expiresAtS', Enabled: true },
      GlobalSecondaryIndexes: [
        {
          IndexName: 'due',
          KeySchema: [
            { AttributeName: 'dueShard', KeyType: 'HASH' },
            { AttributeName: 'dueAtMs', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['settledAtMs', 'server', 'stepFailures'] },
        },
        {
          IndexName: 'list',
          KeySchema: [
            { AttributeName: 'listPartition', KeyType: 'HASH' },
            { AttributeName: 'listSort', KeyType: 'RANGE' },
          ],
          Projection: {
            ProjectionType: 'INCLUDE',
            NonKeyAttributes: ['workflow', 'status', 'createdAtMs', 'endedAtMs', 'tags'],
          },
        },
        {
          IndexName: 'task',
          KeySchema: [
            { AttributeName: 'taskPartition', KeyType: 'HASH' },
            { AttributeName: 'taskSort', KeyType: 'RANGE' },
          ],
          Projection: {
            ProjectionType: 'INCLUDE',
            NonKeyAttributes: ['workflow', 'taskState', 'taskStatusAtMs', 'taskContext'],
          },
        },
        {
          IndexName: 'tenant',
          KeySchema: [
            { AttributeName: 'tenantPartition', KeyType: 'HASH' },
            { AttributeName: 'listSort', KeyType: 'RANGE' },
          ],
          Projection: {
            ProjectionType: 'INCLUDE',
            NonKeyAttributes: ['workflow', 'status', 'createdAtMs', 'endedAtMs', 'tags'],
          },
        },
      ],
      Replicas: [
        Match.objectLike({
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        }),
      ],
    });
  });
});

describe('queues', () => {
  test.each([
    // The turn queue: the timeout of 60 s plus 30 s. A crashed turn keeps its run locked that long.
    ['OutwaitTurnQueue', { FifoQueue: true, VisibilityTimeout: 90 }, 'OutwaitTurnDeadLetters'],
    // The other queues: at least six times the timeout, plus the window.
    ['OutwaitWorkQueue', { VisibilityTimeout: 1_082 }, 'OutwaitWorkDeadLetters'],
    ['OutwaitStepQueue', { VisibilityTimeout: 5_400 }, 'OutwaitStepDeadLetters'],
    ['OutwaitStartQueue', { VisibilityTimeout: 5_400 }, 'OutwaitStartDeadLetters'],
    ['OutwaitSlowQueue', { VisibilityTimeout: 1_082 }, 'OutwaitSlowDeadLetters'],
  ])('%s hides a message while it is worked on, and puts it aside after five receives', (id, expected, deadLetters) => {
    expect(one('AWS::SQS::Queue', id)).toEqual({
      ...expected,
      RedrivePolicy: {
        maxReceiveCount: 5,
        deadLetterTargetArn: { 'Fn::GetAtt': [expect.stringMatching(`^${deadLetters}`), 'Arn'] },
      },
    });
  });

  test.each(['Turn', 'Work', 'Step', 'Start', 'Slow', 'Sweep'])(
    'dead letters of the %s are kept for 14 days and raise an alarm',
    (name) => {
      const queue = one('AWS::SQS::Queue', `Outwait${name}DeadLetters`);
      expect(queue['MessageRetentionPeriod']).toBe(1_209_600);
      expect(one('AWS::CloudWatch::Alarm', `Outwait${name}DeadLettersAlarm`)).toMatchObject({
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Dimensions: [
          {
            Name: 'QueueName',
            Value: { 'Fn::GetAtt': [expect.stringMatching(`^Outwait${name}DeadLetters`), 'QueueName'] },
          },
        ],
        ComparisonOperator: 'GreaterThanThreshold',
        Threshold: 0,
        EvaluationPeriods: 1,
      });
    },
  );

  test('refuse callers without TLS', () => {
    expect(all('AWS::SQS::QueuePolicy')).toHaveLength(11);
    template.allResourcesProperties('AWS::SQS::QueuePolicy', {
      PolicyDocument: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      }),
    });
  });

  test.each([
    ['Turn', 'Turn', { BatchSize: 1, ScalingConfig: { MaximumConcurrency: 100 } }],
    ['Work', 'Poll', { BatchSize: 40, MaximumBatchingWindowInSeconds: 2, ScalingConfig: { MaximumConcurrency: 20 } }],
    ['Slow', 'Poll', { BatchSize: 40, MaximumBatchingWindowInSeconds: 2, ScalingConfig: { MaximumConcurrency: 20 } }],
    ['Step', 'Step', { BatchSize: 1, ScalingConfig: { MaximumConcurrency: 20 } }],
    ['Start', 'Step', { BatchSize: 10, ScalingConfig: { MaximumConcurrency: 50 } }],
  ])('the %s queue leads to the function %s, which reports each failed message on its own', (queue, name, expected) => {
    const sources = all('AWS::Lambda::EventSourceMapping').map(([, { Properties }]) => Properties);
    expect(sources).toHaveLength(5);
    expect(sources).toContainEqual({
      ...expected,
      EventSourceArn: { 'Fn::GetAtt': [expect.stringMatching(`^Outwait${queue}Queue`), 'Arn'] },
      FunctionName: { Ref: expect.stringMatching(`^Outwait${name}Function`) as unknown },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });
});

describe('functions', () => {
  test.each([
    ['Api', 29, 512, 'Terminate'],
    ['Turn', 60, 1_024, 'Allow'],
    ['Poll', 180, 512, 'Allow'],
    ['Step', 900, 1_024, 'Allow'],
    ['Schedule', 60, 512, 'Terminate'],
  ])('%s has %i s, %i MB, and a loop by way of queues is to %s', (name, timeout, memory, loop) => {
    expect(one('AWS::Lambda::Function', `Outwait${name}Function`)).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Timeout: timeout,
      MemorySize: memory,
      RecursiveLoop: loop,
    });
  });

  test('have no secret in their environment, only where it is', () => {
    const ofAll = {
      OUTWAIT_TABLE: { Ref: 'OutwaitTableB6755FAF' },
      OUTWAIT_TURN_QUEUE_URL: { Ref: 'OutwaitTurnQueue1642E296' },
      OUTWAIT_WORK_QUEUE_URL: { Ref: 'OutwaitWorkQueue5C3EA705' },
      OUTWAIT_STEP_QUEUE_URL: { Ref: 'OutwaitStepQueue82FBAD31' },
      OUTWAIT_START_QUEUE_URL: { Ref: 'OutwaitStartQueue44598559' },
      OUTWAIT_SLOW_QUEUE_URL: { Ref: 'OutwaitSlowQueue5475C202' },
      OUTWAIT_TOKEN_KEYS_SECRET: { Ref: 'OutwaitTokenKeysA87853B2' },
    };
    expect(one('AWS::Lambda::Function', 'OutwaitScheduleFunction')['Environment']).toEqual({ Variables: ofAll });
    // Turn and step tell servers where to push, poll tells people where to answer, api reads it in tokens of pushes.
    const reached = { ...ofAll, OUTWAIT_PUBLIC_URL: { 'Fn::GetAtt': ['OutwaitApi745CEB61', 'ApiEndpoint'] } };
    for (const name of ['Turn', 'Step', 'Poll']) {
      expect(one('AWS::Lambda::Function', `Outwait${name}Function`)['Environment']).toEqual({ Variables: reached });
    }
    expect(one('AWS::Lambda::Function', 'OutwaitApiFunction')['Environment']).toEqual({
      Variables: { ...reached, OUTWAIT_MANAGEMENT_TOKEN_SECRET: { Ref: 'OutwaitManagementTokenF491CB95' } },
    });
    expect(JSON.stringify(template.toJSON())).not.toMatch(/\{\{resolve:/);
  });

  test('keep their logs for a month', () => {
    expect(all('AWS::Logs::LogGroup')).toHaveLength(6);
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 30 });
  });

  const receiving = (queue: string) =>
    ['ReceiveMessage', 'ChangeMessageVisibility', 'GetQueueUrl', 'DeleteMessage', 'GetQueueAttributes'].map(
      (action) => `sqs:${action} ${queue}`,
    );
  test.each([
    ['Api', []],
    ['Turn', receiving('TurnQueue')],
    ['Poll', [...receiving('WorkQueue'), ...receiving('SlowQueue')]],
    ['Step', [...receiving('StepQueue'), ...receiving('StartQueue')]],
    [
      'Schedule',
      [
        'sqs:SendMessage SweepDeadLetters',
        'sqs:GetQueueAttributes SweepDeadLetters',
        'sqs:GetQueueUrl SweepDeadLetters',
      ],
    ],
  ] as const)('%s may do what it does, receive what leads to it, log, and nothing else', (name, byLambda) => {
    const allowed = statementsOf(template, `Outwait${name}Function`).flatMap((statement) =>
      [statement.Action].flat().map((action) => `${action} ${resourceOf(statement).replace(/^Outwait/, '')}`),
    );
    const log = [`logs:CreateLogStream ${name}FunctionLog`, `logs:PutLogEvents ${name}FunctionLog`];
    expect(allowed).toEqual([...log, ...rights[name], ...byLambda]);
  });

  test('have a role each, without policies of AWS', () => {
    expect(all('AWS::IAM::Role')).toHaveLength(5);
    template.allResourcesProperties('AWS::IAM::Role', { ManagedPolicyArns: Match.absent() });
  });
});

describe('the sweep', () => {
  test('runs every minute, is repeated, and what fails for good is put aside', () => {
    const deadLetters = { 'Fn::GetAtt': ['OutwaitSweepDeadLetters3D6C650A', 'Arn'] };
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 minute)',
      Targets: [
        Match.objectLike({
          DeadLetterConfig: { Arn: deadLetters },
          RetryPolicy: { MaximumEventAgeInSeconds: 120, MaximumRetryAttempts: 2 },
        }),
      ],
    });
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      DestinationConfig: { OnFailure: { Destination: deadLetters } },
      MaximumEventAgeInSeconds: 120,
      MaximumRetryAttempts: 2,
    });
  });
});

describe('the HTTP API', () => {
  test('asks the function only when it may', () => {
    const [[permission]] = all('AWS::Lambda::Permission').filter(
      ([, { Properties }]) => Properties['Principal'] === 'apigateway.amazonaws.com',
    ) as [[string, Resource]];
    const [[, integration]] = all('AWS::ApiGatewayV2::Integration') as [[string, Resource & { DependsOn: string[] }]];
    expect(integration.DependsOn).toEqual([permission]);
  });

  test('has these routes and no others, without an authorizer', () => {
    const routes = all('AWS::ApiGatewayV2::Route').map(([, { Properties }]) => Properties);
    expect(routes.map((route) => route['RouteKey']).sort()).toEqual([
      'ANY /activities/external',
      'ANY /activities/external/batch',
      'ANY /activities/external/complete',
      'ANY /activities/external/fail',
      'ANY /activities/external/heartbeat',
      'ANY /activities/external/{token}/complete',
      'ANY /activities/external/{token}/fail',
      'ANY /activities/external/{token}/heartbeat',
      'ANY /healthz',
      'ANY /hooks/{name}',
      'ANY /inputs',
      'ANY /inputs/{inputId}',
      'ANY /keys',
      'ANY /keys/{name}/revoke',
      'ANY /keys/{name}/rotate',
      'ANY /push/a2a/{pushToken}',
      'ANY /remote-tasks',
      'ANY /remote-tasks/{server}',
      'ANY /runs',
      'ANY /runs/{runId}',
      'ANY /runs/{runId}/cancel',
      'ANY /runs/{runId}/events',
      'ANY /runs/{runId}/history',
      'ANY /runs/{runId}/pause',
      'ANY /runs/{runId}/queries/{name}',
      'ANY /runs/{runId}/result',
      'ANY /runs/{runId}/resume',
      'ANY /runs/{runId}/retry-now',
      'ANY /runs/{runId}/signals/{name}',
      'ANY /runs/{runId}/terminate',
      'ANY /runs/{runId}/waits/{waitId}/cancel-remote',
      'ANY /runs/{runId}/waits/{waitId}/poll',
      'ANY /runs/{runId}/waits/{waitId}/settle',
      'ANY /runs/{runId}/why',
      'ANY /schedules',
      'ANY /schedules/{name}/pause',
      'ANY /schedules/{name}/resume',
      'ANY /servers',
    ]);
    expect(routes.every((route) => route['AuthorizationType'] === 'NONE')).toBe(true);
  });

  test('is throttled, and its log has the route and not the path, in which a token may be', () => {
    const stage = one('AWS::ApiGatewayV2::Stage', 'OutwaitStage') as {
      readonly DefaultRouteSettings: object;
      readonly AccessLogSettings: { readonly Format: string };
    };
    expect(stage.DefaultRouteSettings).toEqual({ ThrottlingBurstLimit: 400, ThrottlingRateLimit: 200 });
    const fields = Object.values(JSON.parse(stage.AccessLogSettings.Format) as Record<string, string>);
    expect(fields).toContain('$context.routeKey');
    expect(fields.filter((field) => /path|uri|resourcePath|query/i.test(field))).toEqual([]);
  });
});

describe('the outputs', () => {
  test('have what users and operators ask for', () => {
    const outputs = template.toJSON()['Outputs'] as Readonly<Record<string, { readonly Value: unknown }>>;
    const dashboard = { Ref: 'OutwaitDashboardA968B81E' };
    const region = { Ref: 'AWS::Region' };
    expect(Object.fromEntries(Object.entries(outputs).map(([name, { Value }]) => [name, Value]))).toEqual({
      ApiUrl: { 'Fn::GetAtt': ['OutwaitApi745CEB61', 'ApiEndpoint'] },
      TableName: { Ref: 'OutwaitTableB6755FAF' },
      TokenKeysSecret: { Ref: 'OutwaitTokenKeysA87853B2' },
      ManagementTokenSecret: { Ref: 'OutwaitManagementTokenF491CB95' },
      // A reference to a queue is its URL.
      TurnQueueUrl: { Ref: 'OutwaitTurnQueue1642E296' },
      WorkQueueUrl: { Ref: 'OutwaitWorkQueue5C3EA705' },
      StepQueueUrl: { Ref: 'OutwaitStepQueue82FBAD31' },
      StartQueueUrl: { Ref: 'OutwaitStartQueue44598559' },
      SlowQueueUrl: { Ref: 'OutwaitSlowQueue5475C202' },
      TurnDeadLettersUrl: { Ref: 'OutwaitTurnDeadLettersA4584795' },
      WorkDeadLettersUrl: { Ref: 'OutwaitWorkDeadLettersAD78F005' },
      StepDeadLettersUrl: { Ref: 'OutwaitStepDeadLetters858CFFF2' },
      StartDeadLettersUrl: { Ref: 'OutwaitStartDeadLetters8C3AD2B9' },
      SlowDeadLettersUrl: { Ref: 'OutwaitSlowDeadLetters235A48E0' },
      SweepDeadLettersUrl: { Ref: 'OutwaitSweepDeadLetters3D6C650A' },
      DashboardName: dashboard,
      DashboardUrl: {
        'Fn::Join': [
          '',
          [
            'https://',
            region,
            '.console.aws.amazon.com/cloudwatch/home?region=',
            region,
            '#dashboards/dashboard/',
            dashboard,
          ],
        ],
      },
    });
  });

  test('leave out what does not exist', () => {
    const { template: less } = synthesize({ authorizer: { kind: 'iam' }, dashboard: false });
    const names = Object.keys(less.toJSON()['Outputs'] as object);
    expect(names).toContain('TokenKeysSecret');
    expect(names.filter((name) => /^(ManagementTokenSecret|Dashboard|Domain)/.test(name))).toEqual([]);
  });

  test('are those that the runbook and the page about deploying name', () => {
    const pages = ['operations', 'deploy'].map((name) =>
      readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8'),
    );
    const named = pages.flatMap((page) => [...page.matchAll(/<([A-Z][a-z]+[A-Z][A-Za-z]+)>/g)].map(([, name]) => name));
    expect(named).toContain('TurnDeadLettersUrl');
    const outputs = Object.keys(template.toJSON()['Outputs'] as object);
    expect(named.filter((name) => !outputs.includes(name!))).toEqual([]);
  });
});

describe('alarms', () => {
  test('are these, and each says which section of the runbook to read', () => {
    const runbook = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const anchors = all('AWS::CloudWatch::Alarm').map(
      ([, { Properties }]) =>
        / What to do: docs\/operations\.md#([a-z-]+)$/.exec(String(Properties['AlarmDescription']))?.[1],
    );
    expect(anchors.sort()).toEqual([
      'blocked-runs',
      'management-auth-failures',
      'oldest-due',
      'push-auth-failures',
      'recursion',
      'slow-dead-letters',
      'start-dead-letters',
      'step-dead-letters',
      'sweep-dead-letters',
      'sweep-lag',
      'turn-dead-letters',
      'work-dead-letters',
    ]);
    const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading]) =>
      heading!.toLowerCase().replaceAll(' ', '-'),
    );
    expect(anchors.filter((anchor) => !headings.includes(anchor!))).toEqual([]);
  });

  test('watch the metrics that the functions write, by the table', () => {
    const dimension = [{ Name: 'Table', Value: { Ref: 'OutwaitTableB6755FAF' } }];
    expect(one('AWS::CloudWatch::Alarm', 'OutwaitOldestDueAlarm')).toMatchObject({
      Namespace: 'Outwait',
      MetricName: 'OldestDueAgeMs',
      Dimensions: dimension,
      Threshold: 300_000,
      EvaluationPeriods: 3,
    });
    // A sweep that does not run reports nothing, and that is the worst case.
    expect(one('AWS::CloudWatch::Alarm', 'OutwaitSweepLagAlarm')).toMatchObject({
      MetricName: 'SweepLagMs',
      Dimensions: dimension,
      Threshold: 120_000,
      TreatMissingData: 'breaching',
    });
    // A blocked run is retried at least once an hour.
    expect(one('AWS::CloudWatch::Alarm', 'OutwaitBlockedRunsAlarm')).toMatchObject({
      MetricName: 'BlockedRuns',
      Dimensions: dimension,
      Period: 3_600,
      EvaluationPeriods: 2,
      DatapointsToAlarm: 1,
    });
  });

  test.each([
    ['OutwaitPushAuthAlarm', 'PushAuthFailures'],
    ['OutwaitManagementAuthAlarm', 'ManagementAuthFailures'],
  ])('%s goes off when more than 20 requests are refused in five minutes', (id, name) => {
    expect(one('AWS::CloudWatch::Alarm', id)).toMatchObject({
      Namespace: 'Outwait',
      MetricName: name,
      Dimensions: [{ Name: 'Table', Value: { Ref: 'OutwaitTableB6755FAF' } }],
      Statistic: 'Sum',
      Period: 300,
      EvaluationPeriods: 1,
      Threshold: 20,
      ComparisonOperator: 'GreaterThanThreshold',
      TreatMissingData: 'notBreaching',
    });
    expect(JSON.stringify(one('AWS::CloudWatch::Dashboard', 'OutwaitDashboard'))).toContain(name);
  });

  test('watch every function for loops that Lambda cuts', () => {
    const { Metrics } = one('AWS::CloudWatch::Alarm', 'OutwaitRecursionAlarm') as {
      readonly Metrics: readonly { readonly MetricStat?: { readonly Metric: { readonly MetricName: string } } }[];
    };
    const names = Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric.MetricName ?? []);
    expect(names).toEqual(Array.from({ length: 5 }, () => 'RecursiveInvocationsDropped'));
  });
});
