import { defined } from '../lib/base/defined.js';
import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, MathExpression, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { metrics } from '../lib/topology/topology.js';
import type { MetricName } from '../lib/base/metrics.js';
import type { OutwaitFunctions } from './functions.js';
import type { OutwaitQueues } from './queues.js';

export interface AlarmParts {
  readonly table: ITableV2;
  readonly functions: OutwaitFunctions;
  readonly deadLetters: OutwaitQueues['deadLetters'];
  /** Stale tasks above which there is an alarm; undefined: at no number. */
  readonly staleTasksAlarm: number | undefined;
}

export interface AlarmRule {
  readonly id: string;
  /** Anchor of the section in the runbook. */
  readonly anchor: string;
  readonly says: string;
  readonly metric: Metric | MathExpression;
  /** Alarms if the metric is above this, */
  readonly above: number;
  /** in each of so many periods, */
  readonly periods: number;
  /** or in so many of them. */
  readonly breaching?: number;
  readonly missing: TreatMissingData;
}

/** Returns rules for each way in which a deployment can stop working, or be attacked, unnoticed. */
export function alarmRules(parts: AlarmParts): readonly AlarmRule[] {
  return [
    ...lateWork(parts),
    ...deadLetterRules(parts),
    recursion(parts),
    ...refusals(parts),
    ...staleTasks(parts),
    ...serving(parts),
  ];
}

function lateWork({ table }: AlarmParts): readonly AlarmRule[] {
  return [
    {
      id: 'OldestDueAlarm',
      anchor: 'oldest-due',
      says: 'Something has been due for more than five minutes.',
      metric: ownMetric(table, 'OldestDueAgeMs', 'Maximum', Duration.minutes(1)),
      above: 300_000,
      periods: 3,
      // Leaves a missing sweep to another alarm.
      missing: TreatMissingData.IGNORE,
    },
    {
      id: 'SweepLagAlarm',
      anchor: 'sweep-lag',
      says: 'The sweep is late, fails, or does not run.',
      metric: ownMetric(table, 'SweepLagMs', 'Maximum', Duration.minutes(1)),
      above: 120_000,
      periods: 3,
      missing: TreatMissingData.BREACHING,
    },
    {
      id: 'BlockedRunsAlarm',
      anchor: 'blocked-runs',
      says: 'The deployed code does not fit the history of a run.',
      // Covers two hours, since a blocked run may rest for one until it is looked at again.
      metric: ownMetric(table, 'BlockedRuns', 'Sum', Duration.hours(1)),
      above: 0,
      periods: 2,
      breaching: 1,
      missing: TreatMissingData.NOT_BREACHING,
    },
  ];
}

function deadLetterRules({ deadLetters }: AlarmParts): readonly AlarmRule[] {
  return (['Turn', 'Work', 'Step', 'Start', 'Slow', 'Sweep'] as const).map((name): AlarmRule => ({
    id: `${name}DeadLettersAlarm`,
    anchor: `${name.toLowerCase()}-dead-letters`,
    says: `Messages were moved to the ${name.toLowerCase()} dead-letter queue.`,
    // Counts messages in the queue, not messages sent there, which leaves out those that Lambda moves.
    metric: deadLetters[lowerCase(name)].metricApproximateNumberOfMessagesVisible({
      period: Duration.minutes(1),
      statistic: 'Maximum',
    }),
    above: 0,
    periods: 1,
    missing: TreatMissingData.NOT_BREACHING,
  }));
}

function recursion({ functions }: AlarmParts): AlarmRule {
  return {
    id: 'RecursionAlarm',
    anchor: 'recursion',
    says: 'Lambda has stopped a loop of invocations.',
    metric: new MathExpression({
      expression: 'SUM(METRICS())',
      label: 'RecursiveInvocationsDropped',
      period: Duration.minutes(5),
      usingMetrics: Object.fromEntries(
        Object.entries(functions).map(([name, user]) => [
          name,
          user.metric('RecursiveInvocationsDropped', { statistic: 'Sum', period: Duration.minutes(5) }),
        ]),
      ),
    }),
    above: 0,
    periods: 1,
    missing: TreatMissingData.NOT_BREACHING,
  };
}

function refusals({ table }: AlarmParts): readonly AlarmRule[] {
  return [
    {
      id: 'PushAuthAlarm',
      anchor: 'push-auth-failures',
      says: 'Requests try to settle waits with invalid tokens, or are sent to hooks by unknown senders.',
      metric: ownMetric(table, 'PushAuthFailures', 'Sum', Duration.minutes(5)),
      ...manyRefusals,
    },
    {
      id: 'ManagementAuthAlarm',
      anchor: 'management-auth-failures',
      says: 'Requests to the management API or to served workflows have no valid token.',
      metric: ownMetric(table, 'ManagementAuthFailures', 'Sum', Duration.minutes(5)),
      ...manyRefusals,
    },
  ];
}

/** Long silent tasks are normal for some servers, so only the operator knows how many are too many. */
function staleTasks({ table, staleTasksAlarm: above }: AlarmParts): readonly AlarmRule[] {
  if (above === undefined) return [];
  return [
    {
      id: 'StaleTasksAlarm',
      anchor: 'stale-tasks',
      says: 'More remote tasks than expected no longer change.',
      // Old tasks are read every five minutes.
      metric: ownMetric(table, 'StaleTasks', 'Sum', Duration.minutes(5)),
      above,
      periods: 3,
      missing: TreatMissingData.NOT_BREACHING,
    },
  ];
}

/** A stream takes up one invocation for as long as it is open, so clients that follow many tasks can use all of them. */
function serving({ functions: { serve } }: AlarmParts): readonly AlarmRule[] {
  if (serve === undefined) return [];
  return [
    {
      id: 'ServeThrottlesAlarm',
      anchor: 'serve-throttles',
      says: 'Callers of served workflows are turned away, since too many calls and streams are open at once.',
      metric: serve.metricThrottles({ statistic: 'Sum', period: Duration.minutes(5) }),
      above: 20,
      periods: 1,
      missing: TreatMissingData.NOT_BREACHING,
    },
  ];
}

/** Ignores a few: a caller's mistake, or a passing scanner. A relay with a wrong key repeats itself more often. */
const manyRefusals = { above: 20, periods: 1, missing: TreatMissingData.NOT_BREACHING } as const;

export interface AlarmNotice {
  /** Receives alarm and OK notifications. Default: none. */
  readonly topic?: ITopic | undefined;
  /** Document with a section for each alarm. */
  readonly runbook: string;
}

export function createAlarms(scope: Construct, rules: readonly AlarmRule[], { topic, runbook }: AlarmNotice): Alarm[] {
  return rules.map((rule) => createAlarm(scope, rule, topic, runbook));
}

/** Returns a metric that the functions write themselves. */
export function ownMetric(table: ITableV2, name: MetricName, statistic: 'Maximum' | 'Sum', period: Duration): Metric {
  return new Metric({
    namespace: metrics.namespace,
    metricName: name,
    dimensionsMap: { [metrics.dimension]: table.tableName },
    statistic,
    period,
  });
}

function createAlarm(scope: Construct, rule: AlarmRule, topic: ITopic | undefined, runbook: string): Alarm {
  const alarm = new Alarm(scope, rule.id, {
    alarmDescription: `${rule.says} What to do: ${runbook}#${rule.anchor}`,
    metric: rule.metric,
    threshold: rule.above,
    comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: rule.periods,
    ...defined({ datapointsToAlarm: rule.breaching }),
    treatMissingData: rule.missing,
  });
  if (topic !== undefined) {
    alarm.addAlarmAction(new SnsAction(topic));
    alarm.addOkAction(new SnsAction(topic));
  }
  return alarm;
}

function lowerCase<Name extends string>(name: Name): Lowercase<Name> {
  return name.toLowerCase() as Lowercase<Name>;
}
