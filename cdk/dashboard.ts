import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type Alarm, AlarmStatusWidget, Dashboard, GraphWidget, type IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { ownMetric } from './alarms.js';
import type { OutwaitFunctions } from './functions.js';
import type { OutwaitQueues } from './queues.js';

export interface DashboardParts {
  readonly alarms: readonly Alarm[];
  readonly table: ITableV2;
  readonly queues: OutwaitQueues;
  readonly functions: OutwaitFunctions;
  readonly api: HttpApi;
}

/** One page: the alarms, whether work is done in time, what waits, and what fails. */
export function createDashboard(
  scope: Construct,
  { alarms, table, queues, functions, api }: DashboardParts,
): Dashboard {
  const minute = Duration.minutes(1);
  const fiveMinutes = Duration.minutes(5);
  const dashboard = new Dashboard(scope, 'Dashboard');
  dashboard.addWidgets(new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24 }));
  dashboard.addWidgets(
    graph('Due and late (ms)', [
      ownMetric(table, 'OldestDueAgeMs', 'Maximum', minute),
      ownMetric(table, 'SweepLagMs', 'Maximum', minute),
    ]),
    graph('Blocked runs', [ownMetric(table, 'BlockedRuns', 'Sum', Duration.hours(1))]),
    graph(
      'Messages that wait',
      Object.entries(queues.work).map(([name, queue]) =>
        queue.metricApproximateNumberOfMessagesVisible({ label: name, period: minute }),
      ),
    ),
    graph(
      'Messages put aside',
      Object.entries(queues.deadLetters).map(([name, queue]) =>
        queue.metricApproximateNumberOfMessagesVisible({ label: name, period: minute }),
      ),
    ),
  );
  const ofEach = (metricOf: (user: OutwaitFunctions['api'], label: string) => IMetric): IMetric[] =>
    Object.entries(functions).map(([name, user]) => metricOf(user, name));
  dashboard.addWidgets(
    graph(
      'Invocations',
      ofEach((user, label) => user.metricInvocations({ label, period: fiveMinutes })),
    ),
    graph(
      'Duration, p95',
      ofEach((user, label) => user.metricDuration({ label, period: fiveMinutes, statistic: 'p95' })),
    ),
    graph(
      'Errors',
      ofEach((user, label) => user.metricErrors({ label, period: fiveMinutes })),
    ),
    graph(
      'Throttles',
      ofEach((user, label) => user.metricThrottles({ label, period: fiveMinutes })),
    ),
  );
  dashboard.addWidgets(
    graph('Requests', [api.metricCount(), api.metricClientError(), api.metricServerError()]),
    graph('Latency of requests', [api.metricLatency({ statistic: 'p50' }), api.metricLatency({ statistic: 'p95' })]),
    graph('Units of the table', [
      table.metricConsumedReadCapacityUnits({ period: fiveMinutes }),
      table.metricConsumedWriteCapacityUnits({ period: fiveMinutes }),
    ]),
    graph('Conditions that did not hold', [table.metricConditionalCheckFailedRequests({ period: fiveMinutes })]),
  );
  dashboard.addWidgets(
    graph('Requests refused', [
      ownMetric(table, 'PushAuthFailures', 'Sum', fiveMinutes),
      ownMetric(table, 'ManagementAuthFailures', 'Sum', fiveMinutes),
    ]),
  );
  return dashboard;
}

function graph(title: string, left: IMetric[]): GraphWidget {
  return new GraphWidget({ title, left, width: 6 });
}
