import type { MetricName, Metrics } from '../base/metrics.js';
import type { Clock } from '../base/time.js';
import { metrics } from './topology.js';

export interface MetricsOptions {
  /** The one dimension: it tells the deployments of an account apart. */
  readonly table: string;
  readonly clock: Clock;
  /** Takes a line without its end. Default: the standard output. */
  readonly write?: (line: string) => void;
}

/** Writes log lines in CloudWatch's embedded metric format. They are no part of the log: its level does not hide them. */
export function createMetrics({ table, clock, write = toStandardOutput }: MetricsOptions): Metrics {
  return {
    put: (name, value) => {
      write(
        JSON.stringify({
          _aws: { Timestamp: clock.nowMs(), CloudWatchMetrics: [directiveOf(name)] },
          [metrics.dimension]: table,
          [name]: value,
        }),
      );
    },
  };
}

function directiveOf(name: MetricName): object {
  return {
    Namespace: metrics.namespace,
    Dimensions: [[metrics.dimension]],
    Metrics: [{ Name: name, Unit: metrics.units[name] }],
  };
}

function toStandardOutput(line: string): void {
  process.stdout.write(`${line}\n`);
}
