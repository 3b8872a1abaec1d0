import { readFileSync } from 'node:fs';
import { Stack } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, test } from 'vitest';
import { Outwait } from '../../../cdk/outwait.js';
import type { OutwaitRollout } from '../../../cdk/props.js';
import { parseSettings } from '../../../cdk/settings.js';
import { rights } from '../../support/rights.js';
import { anApp, resourceOf, statementsOf, synthesize } from './synthesis.js';

const names = ['Api', 'Turn', 'Poll', 'Step', 'Schedule'] as const;
const canary = { kind: 'canary', percent: 10, minutes: 15 } as const;
let plain: Template;
let template: Template;

beforeAll(() => {
  plain = synthesize().template;
  template = synthesize({ rollout: canary }).template;
});

interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly UpdatePolicy?: object;
  readonly DependsOn?: readonly string[];
  readonly Properties: Readonly<Record<string, unknown>>;
}

function all(type: string, from = template): readonly (readonly [string, Resource])[] {
  return Object.entries(from.findResources(type) as Record<string, Resource>);
}

/** Returns the only resource of this type whose logical id begins like this. */
function one(type: string, id: string, from = template): readonly [string, Resource] {
  const [found, ...others] = all(type, from).filter(([logicalId]) => new RegExp(`^${id}[0-9A-F]{8}`).test(logicalId));
  expect([found, others]).toEqual([expect.anything(), []]);
  return found!;
}

const aliasOf = (name: string): string => one('AWS::Lambda::Alias', `Outwait${name}FunctionAliaslive`)[0];
const versionOf = (name: string, from = template): string =>
  one('AWS::Lambda::Version', `Outwait${name}FunctionCurrentVersion`, from)[0];

describe('a rollout', () => {
  test('does not exist unless it is configured', () => {
    for (const type of ['AWS::Lambda::Version', 'AWS::Lambda::Alias', 'AWS::CodeDeploy::DeploymentGroup'])
      expect(all(type, plain)).toEqual([]);
    expect(synthesize().outwait.aliases).toBeUndefined();
  });

  test('takes nothing away and replaces nothing that holds state or is called by its name', () => {
    const stateful = [
      'AWS::DynamoDB::GlobalTable',
      'AWS::SQS::Queue',
      'AWS::SecretsManager::Secret',
      'AWS::Lambda::Function',
      'AWS::Logs::LogGroup',
      'AWS::ApiGatewayV2::Api',
      'AWS::ApiGatewayV2::Integration',
      'AWS::Events::Rule',
    ];
    const idsOf = (from: Template) => stateful.flatMap((type) => all(type, from).map(([id]) => id)).sort();
    expect(idsOf(template)).toEqual(idsOf(plain));
    expect(idsOf(plain)).toContain('OutwaitTableB6755FAF');
  });

  test.each(names)('has an alias of %s that leads to its published version', (name) => {
    expect(one('AWS::Lambda::Alias', `Outwait${name}FunctionAliaslive`)[1].Properties).toEqual({
      Name: 'live',
      FunctionName: { Ref: expect.stringMatching(`^Outwait${name}Function`) as unknown },
      FunctionVersion: { 'Fn::GetAtt': [versionOf(name), 'Version'] },
    });
  });

  test('keeps former versions, whose last invocations may still run, but not one that was rolled back', () => {
    expect(all('AWS::Lambda::Version')).toHaveLength(5);
    for (const [, version] of all('AWS::Lambda::Version'))
      expect(version).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
  });

  test('publishes a version for another size or environment, and none for a concurrency', () => {
    const turnOf = (settings: object): string =>
      versionOf('Turn', synthesize({ rollout: canary, ...settings }).template);
    expect(turnOf({})).toBe(versionOf('Turn'));
    expect(turnOf({ functions: { turn: { maxConcurrency: 50, reservedConcurrency: 50 } } })).toBe(versionOf('Turn'));
    expect(turnOf({ functions: { turn: { memoryMb: 2_048 } } })).not.toBe(versionOf('Turn'));
    expect(turnOf({ environment: { REPORTS_URL: 'x' } })).not.toBe(versionOf('Turn'));
    // The version of another function does not change.
    const larger = synthesize({ rollout: canary, functions: { turn: { memoryMb: 2_048 } } }).template;
    expect(versionOf('Poll', larger)).toBe(versionOf('Poll'));
  });
});

describe('events lead to the alias and to nothing else', () => {
  test.each([
    ['Turn', { BatchSize: 1, ScalingConfig: { MaximumConcurrency: 100 } }],
    ['Poll', { BatchSize: 40, MaximumBatchingWindowInSeconds: 2, ScalingConfig: { MaximumConcurrency: 20 } }],
    ['Step', { BatchSize: 1, ScalingConfig: { MaximumConcurrency: 20 } }],
    ['Step', { BatchSize: 10, ScalingConfig: { MaximumConcurrency: 50 } }],
  ])('messages for %s, as many at a time as ever', (name, expected) => {
    expect(all('AWS::Lambda::EventSourceMapping')).toHaveLength(5);
    const sources = all('AWS::Lambda::EventSourceMapping').filter(([id]) =>
      id.startsWith(`Outwait${name}FunctionAliaslive`),
    );
    const [, { Properties }] = sources.find(([, source]) => source.Properties['BatchSize'] === expected.BatchSize)!;
    expect(Properties).toMatchObject({ ...expected, FunctionResponseTypes: ['ReportBatchItemFailures'] });
    expect(Properties['FunctionName']).toEqual({
      'Fn::Join': ['', [{ 'Fn::Select': [6, { 'Fn::Split': [':', { Ref: aliasOf(name) }] }] }, ':live']],
    });
  });

  test('the tick of each minute, with its retries, which an alias has of its own', () => {
    const alias = { Ref: aliasOf('Schedule') };
    const [[, rule]] = all('AWS::Events::Rule') as [[string, Resource]];
    expect(rule.Properties['Targets']).toEqual([
      {
        Arn: alias,
        DeadLetterConfig: { Arn: { 'Fn::GetAtt': ['OutwaitSweepDeadLetters3D6C650A', 'Arn'] } },
        Id: 'Target0',
        RetryPolicy: { MaximumEventAgeInSeconds: 120, MaximumRetryAttempts: 2 },
      },
    ]);
    expect(all('AWS::Lambda::EventInvokeConfig')).toHaveLength(1);
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      Qualifier: { 'Fn::Select': [7, { 'Fn::Split': [':', alias] }] },
      MaximumEventAgeInSeconds: 120,
      MaximumRetryAttempts: 2,
    });
  });

  test('requests', () => {
    const [[, integration]] = all('AWS::ApiGatewayV2::Integration') as [[string, Resource]];
    expect(integration.Properties['IntegrationUri']).toEqual({ Ref: aliasOf('Api') });
  });

  test('and only that may be called', () => {
    const called = all('AWS::Lambda::Permission').map(([, { Properties }]) => [
      Properties['Principal'],
      Properties['FunctionName'],
    ]);
    expect(called.sort()).toEqual([
      ['apigateway.amazonaws.com', { Ref: aliasOf('Api') }],
      ['events.amazonaws.com', { Ref: aliasOf('Schedule') }],
    ]);
  });

  test.each(names)('while the rights of %s, its loops and what is set for it stay as they are', (name) => {
    const actions = (from: Template) =>
      statementsOf(from, `Outwait${name}Function`).flatMap(({ Action }) => [Action].flat());
    expect(actions(template)).toEqual(actions(plain));
    expect(actions(template)).toEqual(expect.arrayContaining([rights[name][0].split(' ')[0]]));
    const [, { Properties }] = one('AWS::Lambda::Function', `Outwait${name}Function`);
    expect(Properties).toEqual(one('AWS::Lambda::Function', `Outwait${name}Function`, plain)[1].Properties);
  });
});

describe('CodeDeploy', () => {
  test.each([
    [canary, { Type: 'TimeBasedCanary', TimeBasedCanary: { CanaryInterval: 15, CanaryPercentage: 10 } }],
    [
      { kind: 'linear', percent: 20, everyMinutes: 5 },
      { Type: 'TimeBasedLinear', TimeBasedLinear: { LinearInterval: 5, LinearPercentage: 20 } },
    ],
  ])('shifts traffic as configured: %j', (rollout, expected) => {
    synthesize({ rollout }).template.hasResourceProperties('AWS::CodeDeploy::DeploymentConfig', {
      ComputePlatform: 'Lambda',
      TrafficRoutingConfig: expected,
    });
  });

  test.each(names)(
    'shifts %s by a group that is there before, and rolls it back when either alarm goes off',
    (name) => {
      const [, alias] = one('AWS::Lambda::Alias', `Outwait${name}FunctionAliaslive`);
      const [groupId, group] = one('AWS::CodeDeploy::DeploymentGroup', `Outwait${name}FunctionAliasliveRollout`);
      expect(alias.UpdatePolicy).toEqual({
        CodeDeployLambdaAliasUpdate: {
          ApplicationName: { Ref: expect.stringMatching(/^OutwaitRolloutApplication/) as unknown },
          DeploymentGroupName: { Ref: groupId },
        },
      });
      expect(alias.DependsOn).toEqual([groupId]);
      expect(group.Properties).toMatchObject({
        AlarmConfiguration: {
          Enabled: true,
          Alarms: [
            { Name: { Ref: expect.stringMatching(/^OutwaitRolloutErrorsAlarm/) as unknown } },
            { Name: { Ref: expect.stringMatching(/^OutwaitRolloutBlockedAlarm/) as unknown } },
          ],
        },
        AutoRollbackConfiguration: { Enabled: true, Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'] },
        ServiceRoleArn: { 'Fn::GetAtt': [expect.stringMatching(/^OutwaitRolloutRole/), 'Arn'] },
      });
      expect(group.DependsOn).toEqual(
        expect.arrayContaining([expect.stringMatching(/^OutwaitRolloutRoleDefaultPolicy/)]),
      );
    },
  );

  test('may do that with these aliases and look at alarms, and nothing else', () => {
    const [, role] = one('AWS::IAM::Role', 'OutwaitRolloutRole');
    expect(role.Properties['ManagedPolicyArns']).toBeUndefined();
    const allowed = statementsOf(template, 'OutwaitRollout').flatMap(({ Action, Resource, Effect }) =>
      [Resource].flat().map((resource) => [Effect, Action, resourceOf({ Effect, Action, Resource: resource })]),
    );
    expect(allowed).toEqual([
      ...names.map((name) => ['Allow', ['lambda:GetAlias', 'lambda:UpdateAlias'], `Outwait${name}Function`]),
      ...names.map((name) => ['Allow', 'lambda:GetProvisionedConcurrencyConfig', `Outwait${name}Function:*`]),
      ['Allow', 'cloudwatch:DescribeAlarms', 'arn:AWS::Partition:cloudwatch:AWS::Region:AWS::AccountId:alarm:*'],
    ]);
  });

  test('is not asked to shift all at once, which is what a fix needs that an alarm would hold up', () => {
    const atOnce = synthesize({ rollout: { kind: 'allAtOnce' } }).template;
    expect(all('AWS::Lambda::Alias', atOnce)).toHaveLength(5);
    for (const [, { UpdatePolicy }] of all('AWS::Lambda::Alias', atOnce)) expect(UpdatePolicy).toBeUndefined();
    expect(all('AWS::CodeDeploy::Application', atOnce)).toEqual([]);
    expect(all('AWS::CloudWatch::Alarm', atOnce)).toHaveLength(all('AWS::CloudWatch::Alarm', plain).length);
    // A later rollout finds the same aliases.
    expect(all('AWS::Lambda::Alias', atOnce).map(([id]) => id)).toEqual(names.map(aliasOf));
  });
});

interface MetricStat {
  readonly Metric: {
    readonly Namespace: string;
    readonly MetricName: string;
    readonly Dimensions: readonly { readonly Name: string; readonly Value: unknown }[];
  };
  readonly Period: number;
  readonly Stat: string;
}

describe('the alarms that roll back', () => {
  test('count what the incoming versions alone have done wrong, of each function', () => {
    const [, { Properties }] = one('AWS::CloudWatch::Alarm', 'OutwaitRolloutErrorsAlarm');
    expect(Properties).toMatchObject({
      EvaluationPeriods: 5,
      DatapointsToAlarm: 1,
      Threshold: 0,
      ComparisonOperator: 'GreaterThanThreshold',
      TreatMissingData: 'notBreaching',
    });
    const metrics = (Properties['Metrics'] as readonly { readonly MetricStat?: MetricStat }[]).flatMap(
      ({ MetricStat: stat }) => stat ?? [],
    );
    const functionOf = (name: string) => ({ Ref: one('AWS::Lambda::Function', `Outwait${name}Function`)[0] });
    const numberOf = (name: string) => ({ 'Fn::GetAtt': [versionOf(name), 'Version'] });
    expect(metrics).toEqual([
      ...names.map((name) => ({
        Metric: {
          Namespace: 'AWS/Lambda',
          MetricName: 'Errors',
          Dimensions: [
            { Name: 'ExecutedVersion', Value: numberOf(name) },
            { Name: 'FunctionName', Value: functionOf(name) },
            { Name: 'Resource', Value: { 'Fn::Join': ['', [functionOf(name), ':live']] } },
          ],
        },
        Period: 60,
        Stat: 'Sum',
      })),
      // The sweep throws for what it cannot do.
      ...(['Api', 'Turn', 'Poll', 'Step'] as const).map((name) => ({
        Metric: {
          Namespace: 'Outwait',
          MetricName: 'HandlerFailures',
          Dimensions: [
            { Name: 'Function', Value: functionOf(name) },
            { Name: 'Version', Value: numberOf(name) },
          ],
        },
        Period: 60,
        Stat: 'Sum',
      })),
    ]);
  });

  test('count the runs that the incoming version of the turns has blocked, minute by minute', () => {
    expect(one('AWS::CloudWatch::Alarm', 'OutwaitRolloutBlockedAlarm')[1].Properties).toMatchObject({
      Namespace: 'Outwait',
      MetricName: 'NewlyBlockedRuns',
      Dimensions: [
        { Name: 'Function', Value: { Ref: expect.stringMatching(/^OutwaitTurnFunction/) as unknown } },
        { Name: 'Version', Value: { 'Fn::GetAtt': [versionOf('Turn'), 'Version'] } },
      ],
      Period: 60,
      Statistic: 'Sum',
      EvaluationPeriods: 5,
      DatapointsToAlarm: 1,
      Threshold: 0,
    });
  });

  test('have their sections in the runbook, and leave the others and the dashboard as they are', () => {
    const runbook = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    for (const [id, heading] of [
      ['OutwaitRolloutErrorsAlarm', 'Rollout errors'],
      ['OutwaitRolloutBlockedAlarm', 'Rollout blocked runs'],
    ] as const) {
      const [, { Properties }] = one('AWS::CloudWatch::Alarm', id);
      expect(Properties['AlarmDescription']).toContain(`operations.md#${heading.toLowerCase().replaceAll(' ', '-')}`);
      expect(headings).toContain(heading);
    }
    for (const [id, alarm] of all('AWS::CloudWatch::Alarm', plain))
      expect(Object.fromEntries(all('AWS::CloudWatch::Alarm'))[id]).toEqual(alarm);
    const [[, { Properties }]] = all('AWS::CloudWatch::Dashboard') as [[string, Resource]];
    expect(JSON.stringify(Properties)).not.toContain(':live');
  });
});

test('alarms that roll back notify no topic, since the deployment fails', () => {
  const alarmsTopicArn = 'arn:aws:sns:eu-west-1:111111111111:alarms';
  const told = all('AWS::CloudWatch::Alarm', synthesize({ rollout: canary, alarmsTopicArn }).template).map(
    ([id, { Properties }]) => [id.startsWith('OutwaitRollout'), Properties['AlarmActions']] as const,
  );
  expect(told.filter(([isOfRollout]) => isOfRollout)).toEqual([
    [true, undefined],
    [true, undefined],
  ]);
  for (const [, actions] of told.filter(([isOfRollout]) => !isOfRollout)) expect(actions).toEqual([alarmsTopicArn]);
});

describe('the setting', () => {
  test.each([
    [{ kind: 'canary', percent: 10 }, 'outwait.rollout.minutes: '],
    [{ kind: 'canary', percent: 10, everyMinutes: 5 }, 'outwait.rollout.minutes: '],
    [{ kind: 'blueGreen' }, 'outwait.rollout.kind: '],
    [{ kind: 'allAtOnce', percent: 10 }, 'outwait.rollout: '],
    [{ kind: 'linear', percent: 0, everyMinutes: 5 }, 'outwait.rollout.percent: '],
  ])('%j is refused, and what is wrong is named', (rollout, named) => {
    const parse = (): unknown => parseSettings({ app: 'a.ts', rollout });
    expect(parse).toThrow(named);
    expect(parse).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  });

  test.each<[OutwaitRollout, string]>([
    [{ kind: 'canary', percent: 100, minutes: 5 }, 'rollout.percent must be a whole number from 1 to 99, got 100'],
    [{ kind: 'canary', percent: 2.5, minutes: 5 }, 'rollout.percent must be a whole number from 1 to 99, got 2.5'],
    [{ kind: 'canary', percent: 5, minutes: 2_881 }, 'rollout.minutes must be a whole number from 1 to 2880, got 2881'],
    [{ kind: 'canary', percent: 5, minutes: 0 }, 'rollout.minutes must be a whole number from 1 to 2880, got 0'],
    // Nine shifts follow the first one.
    [
      { kind: 'linear', percent: 10, everyMinutes: 321 },
      'rollout.everyMinutes must be a whole number from 1 to 320, got 321',
    ],
  ])('%j would be refused by CodeDeploy, and is when the stack is made', (rollout, message) => {
    const create = (): unknown =>
      new Outwait(new Stack(anApp()), 'Outwait', { app: 'examples/outwait.config.ts', rollout });
    expect(create).toThrow(message);
    expect(create).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  });

  test('may take as long as CodeDeploy lets it', () => {
    synthesize({ rollout: { kind: 'canary', percent: 99, minutes: 2_880 } });
    synthesize({ rollout: { kind: 'linear', percent: 10, everyMinutes: 320 } });
  });
});
