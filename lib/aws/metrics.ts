import type { MetricName, Metrics } from '../base/metrics.js';
import type { Clock } from '../base/time.js';
import type { PublishedVersion } from '../topology/env.js';
import { metrics } from '../topology/topology.js';

export interface MetricsOptions {
  /** Value of the one dimension of most metrics, which distinguishes the deployments of an account. */
  readonly table: string;
  /** Function and version that run. Without it, metrics by version are not written: no alarm uses them. */
  readonly version?: PublishedVersion | undefined;
  readonly clock: Clock;
  /** Receives a line without its end. Default: the standard output. */
  readonly write?: (line: string) => void;
}

/**
 * Writes log lines in CloudWatch's embedded metric format. These are not part of the log: its level does not hide them.
 */
export function createMetrics({ table, version, clock, write = toStandardOutput }: MetricsOptions): Metrics {
  const ofTable = { [metrics.dimension]: table };
  const ofVersion = version === undefined ? undefined : dimensionsOf(version);
  return {
    put: (name, value) => {
      const dimensions = name in metrics.byVersion ? ofVersion : ofTable;
      if (dimensions === undefined) return;
      write(
        JSON.stringify({
          _aws: { Timestamp: clock.nowMs(), CloudWatchMetrics: [directiveOf(name, Object.keys(dimensions))] },
          ...dimensions,
          [name]: value,
        }),
      );
    },
  };
}

function dimensionsOf({ functionName, version }: PublishedVersion): Readonly<Record<string, string>> {
  return { [metrics.versionDimensions.function]: functionName, [metrics.versionDimensions.version]: version };
}

function directiveOf(name: MetricName, dimensions: readonly string[]): object {
  return {
    Namespace: metrics.namespace,
    Dimensions: [dimensions],
    Metrics: [{ Name: name, Unit: metrics.units[name] }],
  };
}

function toStandardOutput(line: string): void {
  process.stdout.write(`${line}\n`);
}
