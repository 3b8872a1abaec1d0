import { Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { describe, expect, test } from 'vitest';
import { Outwait } from '../../../cdk/outwait.js';
import { parseSettings } from '../../../cdk/settings.js';
import { addFailedRuns } from './failed-runs.js';
import { addReports } from './own-app.js';
import { anApp, resourceOf, statementsOf, synthesize } from './synthesis.js';

const topic = 'arn:aws:sns:eu-west-1:111111111111:alarms';
const certificateArn = 'arn:aws:acm:eu-west-1:111111111111:certificate/1';
const arn = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111111111111:secret:${name}-abcdef`;
const config = 'examples/outwait.config.ts';

describe('the settings of a stack', () => {
  test('are an object in the context, or its JSON, and the app may be a context of its own', () => {
    expect(parseSettings({ app: 'a.ts' })).toEqual({ app: 'a.ts' });
    expect(parseSettings('{"app":"a.ts","removalPolicy":"destroy"}', 'b.ts')).toEqual({
      app: 'b.ts',
      removalPolicy: 'destroy',
    });
  });

  test.each([
    [undefined, 'outwait.app: '],
    [{ app: 'a.ts', removal: 'destroy' }, 'outwait: '],
    [{ app: 'a.ts', functions: { trun: {} } }, 'outwait.functions'],
    [{ app: 'a.ts', functions: { turn: { maxConcurrency: 1 } } }, 'outwait.functions.turn.maxConcurrency: '],
    [{ app: 'a.ts', functions: { turn: { memoryMb: 64 } } }, 'outwait.functions.turn.memoryMb: '],
    [{ app: 'a.ts', startsMaxConcurrency: 1 }, 'outwait.startsMaxConcurrency: '],
    [{ app: 'a.ts', stackName: 'two words' }, 'outwait.stackName: '],
    [{ app: 'a.ts', plainPayloads: 'no' }, 'outwait.plainPayloads: '],
    [{ app: 'a.ts', payloadKeyArn: 'alias/mine' }, 'outwait.payloadKeyArn: Invalid input: expected the ARN'],
    [
      { app: 'a.ts', tokenKeysSecretArn: `${arn('tokens')}-` },
      'outwait.tokenKeysSecretArn: Invalid input: expected a complete ARN',
    ],
    [
      { app: 'a.ts', tokenKeysSecretArn: arn('*') },
      'outwait.tokenKeysSecretArn: Invalid input: expected a complete ARN',
    ],
    [
      { app: 'a.ts', payloadKeyArn: 'arn:aws:kms:eu-west-1:111111111111:alias/mine' },
      'outwait.payloadKeyArn: Invalid input: expected the ARN of a KMS key',
    ],
    [
      { app: 'a.ts', alarmsTopicArn: 'arn:aws:sqs:eu-west-1:111111111111:alarms' },
      'outwait.alarmsTopicArn: Invalid input: expected the ARN of an SNS topic',
    ],
    [
      { app: 'a.ts', domain: { name: 'a.example.com', certificateArn: topic } },
      'outwait.domain.certificateArn: Invalid input: expected the ARN of an ACM certificate',
    ],
    [{ app: 'a.ts', eventBus: '*' }, 'outwait.eventBus: Invalid input: expected the name or ARN of an EventBridge bus'],
    [
      { app: 'a.ts', eventBus: 'arn:aws:events:eu-west-1:111111111111:event-bus/*' },
      'outwait.eventBus: Invalid input: expected the name or ARN of an EventBridge bus',
    ],
    [{ app: 'a.ts', tableName: '*' }, 'outwait.tableName: Invalid input: expected a table name'],
    ['[]', 'outwait: Invalid input: expected object, received array'],
    ['null', 'outwait: Invalid input: expected object, received null'],
    [{ app: 'a.ts', dueShards: 15 }, 'outwait.dueShards: '],
    [{ app: 'a.ts', staleTasksAlarm: -1 }, 'outwait.staleTasksAlarm: '],
    [{ app: 'a.ts', dueShards: 32.5 }, 'outwait.dueShards: '],
    [
      { app: 'a.ts', authorizer: { kind: 'jwt', issuer: 'http://issuer', audience: [] } },
      'outwait.authorizer.issuer: ',
    ],
    ['{', 'the context outwait must be an object, or an object as JSON'],
  ])('%j is refused, and the setting that is wrong is named', (context, named) => {
    expect(() => parseSettings(context)).toThrow(named);
    expect(() => parseSettings(context)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  });

  test.each([
    [{ secrets: ['*'] }, 'secrets must be names or ARNs without wildcards, got "*"'],
    [{ secrets: [arn('prod/?')] }, 'secrets must be names or ARNs without wildcards, got "arn:'],
    [{ parameters: ['/prod/*'] }, 'parameters must be names or ARNs without wildcards, got "/prod/*"'],
    [{ environment: { 'TIER=': 'gold', B: '1' } }, 'environment has names that Lambda does not accept: "TIER=", "B"'],
  ])('%j is refused by the construct', (settings, message) => {
    expect(() => synthesize(settings)).toThrow(message);
  });

  test('refuse a retention that CloudWatch does not know', () => {
    expect(() => synthesize({ logRetentionDays: 31 })).toThrow(
      /^outwait.logRetentionDays must be one of 1, 3, .* got 31$/,
    );
  });

  test('lead to a configuration that is there', () => {
    expect(() => new Outwait(new Stack(anApp()), 'Outwait', { app: 'nowhere.ts' })).toThrow(
      'there is no configuration at nowhere.ts',
    );
  });

  test('can have everything removed with the stack', () => {
    const { template } = synthesize({ removalPolicy: 'destroy' });
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Delete',
      Properties: { Replicas: [Match.objectLike({ DeletionProtectionEnabled: false })] },
    });
    template.allResources('AWS::SecretsManager::Secret', { DeletionPolicy: 'Delete' });
  });

  test.each([
    [{}, []],
    [{ staleTasksAlarm: 0 }, [0]],
    [{ staleTasksAlarm: 25 }, [25]],
  ])('have an alarm for stale tasks only where they name a number: %j', (settings, thresholds) => {
    const alarms = Object.entries(
      synthesize({ ...settings, alarmsTopicArn: topic }).template.findResources('AWS::CloudWatch::Alarm'),
    );
    const stale = alarms.filter(([id]) => id.startsWith('OutwaitStaleTasksAlarm'));
    expect(stale.map(([, { Properties }]) => (Properties as { Threshold: unknown }).Threshold)).toEqual(thresholds);
    for (const [, { Properties }] of stale)
      expect(Properties).toMatchObject({
        MetricName: 'StaleTasks',
        Namespace: 'Outwait',
        Dimensions: [{ Name: 'Table' }],
        Statistic: 'Sum',
        Period: 300,
        EvaluationPeriods: 3,
        TreatMissingData: 'notBreaching',
        AlarmActions: [topic],
        AlarmDescription: expect.stringContaining('docs/operations.md#stale-tasks') as unknown,
      });
  });

  test.each([-1, 1.5, Number.NaN])('refuse %d stale tasks', (staleTasksAlarm) => {
    expect(() => new Outwait(new Stack(anApp()), 'Outwait', { app: config, staleTasksAlarm })).toThrow(
      `staleTasksAlarm must be a whole number of at least 0, got ${staleTasksAlarm}`,
    );
  });

  test('name the topic of alarms, the retention of logs, and the runbook', () => {
    const runbook = 'https://wiki.example.com/outwait';
    const { template } = synthesize({ alarmsTopicArn: topic, logRetentionDays: 7, runbook, dashboard: false });
    template.allResourcesProperties('AWS::CloudWatch::Alarm', {
      AlarmActions: [topic],
      OKActions: [topic],
      AlarmDescription: Match.stringLikeRegexp(`What to do: ${runbook}#[a-z-]+$`),
    });
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 });
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 0);
  });

  test('give each function its memory and concurrency, and all of them an environment', () => {
    const { template } = synthesize({
      functions: { turn: { memoryMb: 2_048, maxConcurrency: 40 }, api: { reservedConcurrency: 10 } },
      startsMaxConcurrency: 7,
      environment: { OUTWAIT_LOG_LEVEL: 'debug', REPORTS_URL: 'https://reports.example.com/mcp' },
    });
    template.hasResourceProperties('AWS::Lambda::Function', { Timeout: 60, MemorySize: 2_048 });
    template.hasResourceProperties('AWS::Lambda::Function', { Timeout: 29, ReservedConcurrentExecutions: 10 });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 1,
      ScalingConfig: { MaximumConcurrency: 40 },
    });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 7 },
    });
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({
          OUTWAIT_LOG_LEVEL: 'debug',
          REPORTS_URL: 'https://reports.example.com/mcp',
          OUTWAIT_TABLE: Match.anyValue(),
        }),
      },
    });
  });

  test('say over how many partitions of the due index all functions spread markers', () => {
    expect(JSON.stringify(synthesize().template.toJSON())).not.toContain('OUTWAIT_DUE_SHARDS');
    synthesize({ dueShards: 64 }).template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ OUTWAIT_DUE_SHARDS: '64' }) },
    });
  });

  test.each([
    ['default', /^arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus\/default$/],
    ['arn:aws:events:eu-west-1:222222222222:event-bus/reports', /:222222222222:event-bus\/reports$/],
  ])(
    'name the bus %s, which turns alone may put events on, and of which those that start runs know',
    (eventBus, arn) => {
      const { template } = synthesize({ eventBus });
      const knowing = Object.keys(
        template.findResources('AWS::Lambda::Function', {
          Properties: { Environment: { Variables: { OUTWAIT_EVENT_BUS: Match.anyValue() } } },
        }),
      );
      expect(knowing.map((id) => /^Outwait([A-Z][a-z]+)Function/.exec(id)?.[1]).sort()).toEqual([
        'Api',
        'Schedule',
        'Turn',
      ]);
      const putting = ['Api', 'Turn', 'Poll', 'Step', 'Schedule'].flatMap((name) =>
        statementsOf(template, `Outwait${name}Function`).flatMap((statement) =>
          statement.Action === 'events:PutEvents' ? [[name, resourceOf(statement)]] : [],
        ),
      );
      expect(putting).toEqual([['Turn', expect.stringMatching(arn)]]);
    },
  );

  test('name the topics of notices, to which the poll function alone may publish', () => {
    const arn = 'arn:aws:sns:eu-west-1:111111111111:finance';
    const { template } = synthesize({ noticeTopicArns: [arn] });
    const publishing = ['Api', 'Turn', 'Poll', 'Step', 'Schedule'].flatMap((name) =>
      statementsOf(template, `Outwait${name}Function`).flatMap((statement) =>
        statement.Action === 'sns:Publish' ? [[name, resourceOf(statement)]] : [],
      ),
    );
    expect(publishing).toEqual([['Poll', arn]]);
  });

  test('have no bus unless it is named', () => {
    expect(JSON.stringify(synthesize().template.toJSON())).not.toMatch(/OUTWAIT_EVENT_BUS|PutEvents/);
  });

  test.each([15, 257, 16.5, Number.NaN])('refuse %d such partitions', (dueShards) => {
    expect(() => new Outwait(new Stack(anApp()), 'Outwait', { app: config, dueShards })).toThrow(
      `dueShards must be a whole number from 16 to 256, got ${dueShards}`,
    );
  });

  test('must not set what the construct sets', () => {
    expect(() => synthesize({ environment: { OUTWAIT_TABLE: 'mine' } })).toThrow(
      'environment must not set what the construct sets: OUTWAIT_TABLE',
    );
    expect(() => synthesize({ functions: { api: { maxConcurrency: 5 } } })).toThrow(
      'functions.api.maxConcurrency has no effect, since no queue invokes it; use reservedConcurrency',
    );
    expect(() => synthesize({ authorizer: { kind: 'iam' }, managementTokenSecretArn: arn('management') })).toThrow(
      'managementToken has no effect with an authorizer',
    );
  });

  test('may put the API under a name of its own', () => {
    const { template } = synthesize({ domain: { name: 'runs.example.com', certificateArn } });
    template.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'runs.example.com',
      DomainNameConfigurations: [Match.objectLike({ CertificateArn: certificateArn })],
    });
    template.resourceCountIs('AWS::ApiGatewayV2::ApiMapping', 1);
    for (const [name, attribute] of [
      ['DomainTarget', 'RegionalDomainName'],
      ['DomainHostedZoneId', 'RegionalHostedZoneId'],
    ] as const)
      template.hasOutput(name, {
        Value: { 'Fn::GetAtt': [Match.stringLikeRegexp('^OutwaitDomain'), attribute] },
      });
  });

  test.each([
    [{ kind: 'iam' }, { AuthorizationType: 'AWS_IAM' }],
    [
      { kind: 'jwt', issuer: 'https://issuer.example.com', audience: ['outwait'], scopes: ['runs'] },
      { AuthorizationType: 'JWT', AuthorizationScopes: ['runs'] },
    ],
  ])('put an authorizer before the management routes and before no other: %j', (authorizer, expected) => {
    const { template } = synthesize({ authorizer });
    const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route')) as {
      readonly Properties: { readonly RouteKey: string; readonly AuthorizationType: string };
    }[];
    const open = routes.filter(({ Properties }) => Properties.AuthorizationType === 'NONE');
    expect(open.map(({ Properties }) => Properties.RouteKey).sort()).toEqual([
      'ANY /activities/external/batch',
      'ANY /activities/external/complete',
      'ANY /activities/external/fail',
      'ANY /activities/external/heartbeat',
      'ANY /activities/external/{token}/complete',
      'ANY /activities/external/{token}/fail',
      'ANY /activities/external/{token}/heartbeat',
      'ANY /healthz',
      'ANY /hooks/{name}',
      'ANY /push/a2a/{pushToken}',
    ]);
    for (const { Properties } of routes.filter((route) => !open.includes(route))) {
      expect(Properties).toMatchObject(expected);
    }
    // The stack then has no management token, and the function knows it from its environment.
    template.resourceCountIs('AWS::SecretsManager::Secret', 1);
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 29,
      Environment: { Variables: Match.objectLike({ OUTWAIT_MANAGEMENT_ACCESS: 'authorizer' }) },
    });
  });

  test('name the secrets of remote servers, which only those that call them may read', () => {
    const whole = arn('supplier');
    const { template } = synthesize({
      secrets: ['prod/reports', whole],
      parameters: ['/prod/reports/key', 'arn:aws:ssm:eu-west-1:222222222222:parameter/prod/shared'],
    });
    const named = (functionId: string) =>
      statementsOf(template, functionId)
        .filter((statement) => /supplier|prod/.test(resourceOf(statement)))
        .map((statement) => [statement.Action, resourceOf(statement).replace(/^.*AWS::AccountId:/, '')]);
    for (const name of ['OutwaitApiFunction', 'OutwaitTurnFunction', 'OutwaitPollFunction', 'OutwaitStepFunction']) {
      expect(named(name)).toEqual([
        ['secretsmanager:GetSecretValue', 'secret:prod/reports-??????'],
        ['secretsmanager:GetSecretValue', whole],
        ['ssm:GetParameter', 'parameter/prod/reports/key'],
        ['ssm:GetParameter', 'arn:aws:ssm:eu-west-1:222222222222:parameter/prod/shared'],
      ]);
    }
    expect(named('OutwaitScheduleFunction')).toEqual([]);
  });

  test('tell the agents another address than that of the API', () => {
    const { template } = synthesize({ publicUrl: 'https://flows.example.com' });
    const told = Object.values(template.findResources('AWS::Lambda::Function')).map((found) => {
      const { Environment } = found['Properties'] as { Environment?: { Variables: Record<string, unknown> } };
      return Environment?.Variables['OUTWAIT_PUBLIC_URL'];
    });
    expect(told.filter((url) => url !== undefined)).toEqual(Array(4).fill('https://flows.example.com'));
    expect(() => synthesize({ publicUrl: 'http://flows.example.com' })).toThrow('outwait.publicUrl');
    expect(() => synthesize({ publicUrl: 'https://flows.example.com/?a' })).toThrow('publicUrl must be an https URL');
  });

  test('take secrets that are there already', () => {
    const { template } = synthesize({
      tokenKeysSecretArn: arn('tokens'),
      managementTokenSecretArn: arn('management'),
    });
    template.resourceCountIs('AWS::SecretsManager::Secret', 0);
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 29,
      Environment: {
        Variables: Match.objectLike({
          OUTWAIT_TOKEN_KEYS_SECRET: arn('tokens'),
          OUTWAIT_MANAGEMENT_TOKEN_SECRET: arn('management'),
        }),
      },
    });
    expect(statementsOf(template, 'OutwaitApiFunction').map(resourceOf)).toEqual(
      expect.arrayContaining([arn('tokens'), arn('management')]),
    );
  });

  test('F92 take secrets of further management tokens, which count as well', () => {
    const { template } = synthesize({
      managementTokenSecretArn: arn('management'),
      otherManagementTokenSecretArns: [arn('spare')],
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 29,
      Environment: {
        Variables: Match.objectLike({ OUTWAIT_MANAGEMENT_TOKEN_SECRET: `${arn('management')},${arn('spare')}` }),
      },
    });
    expect(statementsOf(template, 'OutwaitApiFunction').map(resourceOf)).toEqual(
      expect.arrayContaining([arn('management'), arn('spare')]),
    );
    expect(() => synthesize({ authorizer: { kind: 'iam' }, otherManagementTokenSecretArns: [arn('spare')] })).toThrow(
      'otherManagementTokens have no effect with an authorizer',
    );
  });

  test('take an existing table, such as a restored one', () => {
    const { template } = synthesize({ tableName: 'restored' });
    template.resourceCountIs('AWS::DynamoDB::GlobalTable', 0);
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ OUTWAIT_TABLE: 'restored' }) },
    });
    const resources = statementsOf(template, 'OutwaitScheduleFunction').map(resourceOf);
    expect(resources.filter((name) => /:table\/restored(\/index\/due)?$/.test(name))).toHaveLength(2);
  });

  test('say how many requests are let in', () => {
    const { template } = synthesize({ throttle: { perSecond: 5, burst: 7 } });
    template.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      DefaultRouteSettings: { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 7 },
    });
  });

  test('have no VPC unless one is named', () => {
    synthesize().template.allResourcesProperties('AWS::Lambda::Function', { VpcConfig: Match.absent() });
  });

  test('put the functions into a VPC that is there', () => {
    const vpc = {
      id: 'vpc-11111111',
      subnetIds: ['subnet-1', 'subnet-2'],
      availabilityZones: ['eu-west-1a', 'eu-west-1b'],
    };
    const { template } = synthesize({ vpc });
    template.allResourcesProperties('AWS::Lambda::Function', {
      VpcConfig: Match.objectLike({ SubnetIds: ['subnet-1', 'subnet-2'] }),
    });
    template.resourceCountIs('AWS::EC2::SecurityGroup', 5);
  });

  test('put the functions behind security groups that are there', () => {
    const vpc = { id: 'vpc-1', subnetIds: ['subnet-1'], availabilityZones: ['eu-west-1a'], securityGroupIds: ['sg-1'] };
    const { template } = synthesize({ vpc });
    template.allResourcesProperties('AWS::Lambda::Function', {
      VpcConfig: { SubnetIds: ['subnet-1'], SecurityGroupIds: ['sg-1'] },
    });
    template.resourceCountIs('AWS::EC2::SecurityGroup', 0);
  });
});

describe('a CDK app of ones own', () => {
  test('grants the functions what its steps need', () => {
    const template = Template.fromStack(addReports(anApp()));
    for (const name of ['OutwaitTurnFunction', 'OutwaitStepFunction']) {
      expect(statementsOf(template, name).flatMap(({ Action }) => Action)).toContain('s3:PutObject');
    }
    template.hasResourceProperties('AWS::Lambda::Function', { Timeout: 60, MemorySize: 2_048 });
  });
});

describe('a CDK app that notifies of failed runs', () => {
  test('has a rule on the bus that the functions know', () => {
    const template = Template.fromStack(addFailedRuns(anApp()));
    template.hasResourceProperties('AWS::Events::Rule', {
      EventBusName: { Ref: 'BusEA82B648' },
      EventPattern: { source: ['outwait'], 'detail-type': ['RunFailed'], detail: { workflow: ['monthlyReport'] } },
      Targets: [Match.objectLike({ InputPath: '$.detail' })],
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 60,
      Environment: { Variables: Match.objectLike({ OUTWAIT_EVENT_BUS: { 'Fn::GetAtt': ['BusEA82B648', 'Arn'] } }) },
    });
  });
});

describe('a key for payloads', () => {
  test('is not there unless it is given', () => {
    expect(JSON.stringify(synthesize().template.toJSON())).not.toContain('OUTWAIT_PAYLOAD_KMS_KEY');
  });

  test('may be named by its ARN', () => {
    const payloadKeyArn = 'arn:aws:kms:eu-west-1:111111111111:key/1';
    const { template } = synthesize({ payloadKeyArn });
    for (const name of ['Api', 'Turn', 'Poll', 'Step', 'Schedule']) {
      const ofKeys = statementsOf(template, `Outwait${name}Function`).filter(({ Action }) =>
        [Action].flat().some((action) => action.startsWith('kms:')),
      );
      expect(ofKeys.map(resourceOf)).toEqual([payloadKeyArn]);
    }
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ OUTWAIT_PAYLOAD_KMS_KEY: payloadKeyArn }) },
    });
  });

  test('F90 may be all that functions read', () => {
    const payloadKeyArn = 'arn:aws:kms:eu-west-1:111111111111:key/1';
    const { template } = synthesize({ payloadKeyArn, plainPayloads: 'refuse' });
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ OUTWAIT_PLAIN_PAYLOADS: 'refuse' }) },
    });
    expect(() => synthesize({ plainPayloads: 'refuse' })).toThrow('plainPayloads: refuse needs a payloadKey');
  });

  test('lets every function make and open data keys, and nothing more', () => {
    const app = anApp();
    const payloadKey = new Key(new Stack(app, 'Keys'), 'Payload');
    const stack = new Stack(app, 'Encrypted');
    new Outwait(stack, 'Outwait', { app: config, payloadKey });
    const template = Template.fromStack(stack);
    for (const name of ['Api', 'Turn', 'Poll', 'Step', 'Schedule']) {
      const actions = statementsOf(template, `Outwait${name}Function`)
        .flatMap(({ Action }) => Action)
        .filter((action) => action.startsWith('kms:'));
      expect([name, actions]).toEqual([name, ['kms:GenerateDataKey', 'kms:Decrypt']]);
    }
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ OUTWAIT_PAYLOAD_KMS_KEY: Match.anyValue() }) },
    });
  });
});
