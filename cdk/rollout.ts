import { defined } from '../lib/base/defined.js';
import { ArnFormat, type CfnElement, Duration, Stack } from 'aws-cdk-lib';
import { type Alarm, MathExpression, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import {
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
  TrafficRouting,
} from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Alias, IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type FunctionName, metrics } from '../lib/topology/topology.js';
import { EngineError } from '../lib/base/errors.js';
import { acknowledge } from './acknowledgements.js';
import type { AlarmRule } from './alarms.js';
import type { OutwaitFunctions } from './functions.js';
import type { OutwaitRollout } from './props.js';

export type OutwaitAliases = Readonly<Record<Exclude<FunctionName, 'serve'>, Alias>> & {
  /** Missing if no workflows are served. */
  readonly serve?: Alias;
};

type GradualRollout = Exclude<OutwaitRollout, { kind: 'allAtOnce' }>;

/** Limit of CodeDeploy from the first shift of traffic to the last. */
const shiftMaxMinutes = 2_880;

/** Creates an alias `live` for each function, which points to a published version, not to the latest code. */
export function createAliases(functions: OutwaitFunctions): OutwaitAliases {
  const create = (name: Exclude<FunctionName, 'serve'>): Alias => functions[name].addAlias('live');
  return {
    api: create('api'),
    turn: create('turn'),
    poll: create('poll'),
    step: create('step'),
    schedule: create('schedule'),
    ...defined({ serve: functions.serve?.addAlias('live') }),
  };
}

/**
 * Returns alarm rules for a version while traffic is shifted to it. They count only this version: errors of the
 * previous one would otherwise keep its successor from being deployed. They notify no topic: a deployment that they
 * stop fails.
 */
export function rolloutAlarmRules(aliases: OutwaitAliases): readonly AlarmRule[] {
  const names = (Object.keys(aliases) as FunctionName[]).filter((name) => name !== 'serve');
  const common = {
    above: 0,
    // Evaluates five minutes: a data point belongs to the minute in which its invocation began, and may come some
    // minutes later.
    periods: 5,
    breaching: 1,
    missing: TreatMissingData.NOT_BREACHING,
  };
  const failing = {
    anchor: 'rollout-errors',
    says: 'The latest deployment fails.',
    ...common,
  };
  return [
    { id: 'RolloutErrorsAlarm', metric: failuresOf(aliases, names), ...failing },
    // By itself: an alarm takes ten metrics.
    ...(aliases.serve === undefined
      ? []
      : [{ id: 'RolloutServeErrorsAlarm', metric: failuresOf(aliases, ['serve']), ...failing }]),
    {
      id: 'RolloutBlockedAlarm',
      anchor: 'rollout-blocked-runs',
      says: 'The latest deployment does not fit the history of a run.',
      metric: ownMetricOf(aliases.turn, 'NewlyBlockedRuns'),
      ...common,
    },
  ];
}

/** Returns the sum of the errors of the functions and of the failures that they count themselves. */
function failuresOf(aliases: OutwaitAliases, names: readonly FunctionName[]): MathExpression {
  const counting: readonly FunctionName[] = metrics.byVersion.HandlerFailures;
  const metricsOf = (of: readonly FunctionName[], kind: string, metricOf: (alias: Alias) => Metric) =>
    of.flatMap((name): readonly (readonly [string, Metric])[] => {
      const alias = aliases[name];
      return alias === undefined ? [] : [[`${name}${kind}`, metricOf(alias)]];
    });
  const counted = names.filter((name) => counting.includes(name));
  const counts = [
    ...metricsOf(names, 'Errors', errorsOf),
    ...metricsOf(counted, 'Failures', (alias) => ownMetricOf(alias, 'HandlerFailures')),
  ];
  return new MathExpression({
    expression: 'SUM(METRICS())',
    label: 'Errors and failures',
    period: Duration.minutes(1),
    usingMetrics: Object.fromEntries(counts),
  });
}

/** Returns the errors of a version, which Lambda counts while an alias points to two of them. */
function errorsOf({ lambda, aliasName, version }: Alias): Metric {
  return new Metric({
    namespace: 'AWS/Lambda',
    metricName: 'Errors',
    dimensionsMap: {
      FunctionName: lambda.functionName,
      Resource: `${lambda.functionName}:${aliasName}`,
      ExecutedVersion: version.version,
    },
    statistic: 'Sum',
    period: Duration.minutes(1),
  });
}

function ownMetricOf({ lambda, version }: Alias, name: keyof typeof metrics.byVersion): Metric {
  return new Metric({
    namespace: metrics.namespace,
    metricName: name,
    dimensionsMap: {
      [metrics.versionDimensions.function]: lambda.functionName,
      [metrics.versionDimensions.version]: version.version,
    },
    statistic: 'Sum',
    period: Duration.minutes(1),
  });
}

/** Has CodeDeploy shift each alias to its next version step by step, and back if an alarm goes off. */
export function shiftGradually(
  scope: Construct,
  rollout: GradualRollout,
  { aliases, alarms }: { readonly aliases: OutwaitAliases; readonly alarms: readonly Alarm[] },
): void {
  const deploymentConfig = new LambdaDeploymentConfig(scope, 'Rollout', { trafficRouting: trafficRoutingOf(rollout) });
  const application = new LambdaApplication(scope, 'RolloutApplication');
  const role = createRole(scope, aliases);
  for (const alias of Object.values(aliases)) {
    const group = new LambdaDeploymentGroup(alias, 'Rollout', {
      alias,
      application,
      deploymentConfig,
      alarms: [...alarms],
      // Keeps CDK from adding an AWS policy with more rights than this role needs.
      role: role.withoutPolicyUpdates(),
    });
    group.node.addDependency(role);
    // Creates the group before the alias is updated; the update policy, which names it, does not ensure that.
    alias.node.defaultChild?.node.addDependency(group);
  }
}

/**
 * Creates a role with the rights of AWSCodeDeployRoleForLambdaLimited for these functions, without its hooks and
 * buckets.
 */
function createRole(scope: Construct, aliases: OutwaitAliases): Role {
  const role = new Role(scope, 'RolloutRole', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') });
  role.addToPolicy(
    new PolicyStatement({
      actions: ['lambda:GetAlias', 'lambda:UpdateAlias'],
      resources: Object.values(aliases).map(({ lambda }) => lambda.functionArn),
    }),
  );
  role.addToPolicy(
    new PolicyStatement({
      actions: ['lambda:GetProvisionedConcurrencyConfig'],
      // Covers metrics of the alias and of both versions.
      resources: Object.values(aliases).map(({ lambda }) => `${lambda.functionArn}:*`),
    }),
  );
  for (const { lambda } of Object.values(aliases))
    acknowledge(role, `IAM5[Resource::<${nameOf(lambda)}.Arn>:*]`, 'The versions are not known yet.');
  const alarms = Stack.of(scope).formatArn({
    service: 'cloudwatch',
    resource: 'alarm',
    resourceName: '*',
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: [alarms] }));
  acknowledge(
    role,
    'IAM5[Resource::arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>:alarm:*]',
    'CloudWatch may require the right on all alarms, whichever are named; a deployment that cannot see its alarms fails.',
  );
  return role;
}

function nameOf(resource: IFunction): string {
  return Stack.of(resource).getLogicalId(resource.node.defaultChild as CfnElement);
}

function trafficRoutingOf(rollout: GradualRollout): TrafficRouting {
  const percentage = rollout.percent;
  return rollout.kind === 'canary'
    ? TrafficRouting.timeBasedCanary({ interval: Duration.minutes(rollout.minutes), percentage })
    : TrafficRouting.timeBasedLinear({ interval: Duration.minutes(rollout.everyMinutes), percentage });
}

/**
 * Checks the rollout.
 * @throws EngineError `CONFIG_INVALID` for values that CodeDeploy would refuse
 */
export function checkRollout(rollout: OutwaitRollout): void {
  if (rollout.kind === 'allAtOnce') return;
  const { kind, percent } = rollout;
  if (!(Number.isInteger(percent) && percent >= 1 && percent <= 99))
    throw new EngineError('CONFIG_INVALID', `rollout.percent must be a whole number from 1 to 99, got ${percent}`);
  const name = kind === 'canary' ? 'minutes' : 'everyMinutes';
  const minutes = kind === 'canary' ? rollout.minutes : rollout.everyMinutes;
  const shifts = kind === 'canary' ? 1 : Math.ceil(100 / percent) - 1;
  const max = Math.floor(shiftMaxMinutes / shifts);
  if (!(Number.isInteger(minutes) && minutes >= 1 && minutes <= max))
    throw new EngineError('CONFIG_INVALID', `rollout.${name} must be a whole number from 1 to ${max}, got ${minutes}`);
}
