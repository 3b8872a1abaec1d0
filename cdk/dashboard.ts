import { Duration } from 'aws-cdk-lib';
import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type Alarm, AlarmStatusWidget, Dashboard, GraphWidget, type IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
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
  /** API of served workflows, if any. */
  readonly serveApi: RestApi | undefined;
}

const minute = Duration.minutes(1);
const fiveMinutes = Duration.minutes(5);

/** Creates one page: the alarms, whether work is done in time, what waits, and what fails. */
export function createDashboard(scope: Construct, parts: DashboardParts): Dashboard {
  const dashboard = new Dashboard(scope, 'Dashboard');
  dashboard.addWidgets(new AlarmStatusWidget({ title: 'Alarms', alarms: [...parts.alarms], width: 24 }));
  for (const row of [workInTime, functionsAtWork, apiAndTable, refusals, served]) {
    const widgets = row(parts);
    if (widgets.length > 0) dashboard.addWidgets(...widgets);
  }
  return dashboard;
}

function workInTime({ table, queues }: DashboardParts): GraphWidget[] {
  const waitingIn = (kind: Readonly<Record<string, IQueue>>): IMetric[] =>
    Object.entries(kind).map(([name, queue]) =>
      queue.metricApproximateNumberOfMessagesVisible({ label: name, period: minute }),
    );
  return [
    graph('Due and late (ms)', [
      ownMetric(table, 'OldestDueAgeMs', 'Maximum', minute),
      ownMetric(table, 'SweepLagMs', 'Maximum', minute),
    ]),
    graph('Blocked runs', [ownMetric(table, 'BlockedRuns', 'Sum', Duration.hours(1))]),
    graph('Messages waiting', waitingIn(queues.work)),
    graph('Dead letters', waitingIn(queues.deadLetters)),
  ];
}

function functionsAtWork({ functions }: DashboardParts): GraphWidget[] {
  const ofEach = (metricOf: (user: OutwaitFunctions['api'], label: string) => IMetric): IMetric[] =>
    Object.entries(functions).map(([name, user]) => metricOf(user, name));
  return [
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
  ];
}

function apiAndTable({ api, table }: DashboardParts): GraphWidget[] {
  return [
    graph('Requests', [api.metricCount(), api.metricClientError(), api.metricServerError()]),
    graph('Request latency', [api.metricLatency({ statistic: 'p50' }), api.metricLatency({ statistic: 'p95' })]),
    graph('Table capacity units', [
      table.metricConsumedReadCapacityUnits({ period: fiveMinutes }),
      table.metricConsumedWriteCapacityUnits({ period: fiveMinutes }),
    ]),
    graph('Failed conditions', [table.metricConditionalCheckFailedRequests({ period: fiveMinutes })]),
  ];
}

function served({ serveApi, table, functions: { serve } }: DashboardParts): GraphWidget[] {
  if (serveApi === undefined || serve === undefined) return [];
  return [
    graph('Calls of served workflows', [
      serveApi.metricCount(),
      serveApi.metricClientError(),
      serveApi.metricServerError(),
    ]),
    graph('Calls at once, streams included', [
      serve.metric('ConcurrentExecutions', { statistic: 'Maximum', period: minute }),
      ownMetric(table, 'OpenStreams', 'Maximum', minute),
    ]),
  ];
}

function refusals({ table }: DashboardParts): GraphWidget[] {
  return [
    graph('Requests refused', [
      ownMetric(table, 'PushAuthFailures', 'Sum', fiveMinutes),
      ownMetric(table, 'ManagementAuthFailures', 'Sum', fiveMinutes),
    ]),
  ];
}

function graph(title: string, left: IMetric[]): GraphWidget {
  return new GraphWidget({ title, left, width: 6 });
}
