import type { MetricLabel, MetricName, Metrics } from '../base/metrics.js';
import type { Clock } from '../base/time.js';
import type { PublishedVersion } from '../topology/env.js';
import { metrics } from '../topology/topology.js';

export interface MetricsOptions {
  /** Value of the first dimension of most metrics, which distinguishes the deployments of an account. */
  readonly table: string;
  /** Function and version that run. Without it, metrics by version are not written: no alarm uses them. */
  readonly version?: PublishedVersion | undefined;
  readonly clock: Clock;
  /** Receives a line without its end. Default: the standard output. */
  readonly write?: (line: string) => void;
}

type Dimensions = Readonly<Record<string, string>>;
type Labels = Readonly<Partial<Record<MetricLabel, string>>>;

/** Sums of metrics with the same dimensions. */
interface Gathered {
  readonly dimensions: Dimensions;
  readonly sums: Map<MetricName, number>;
}

/**
 * Writes log lines in CloudWatch's embedded metric format. These are not part of the log: its level does not hide them.
 * A metric without labels is written at once. Those with labels are counters, and there can be one for each message, so
 * they are summed until `flush`, and each set of dimensions is one line.
 */
export function createMetrics({ table, version, clock, write = toStandardOutput }: MetricsOptions): Metrics {
  const ofTable = { [metrics.dimension]: table };
  const ofVersion = version === undefined ? undefined : dimensionsOf(version);
  const gathered = new Map<string, Gathered>();
  const writeAll = (dimensions: Dimensions, values: ReadonlyMap<MetricName, number>): void => {
    const directive = directiveOf([...values.keys()], Object.keys(dimensions));
    write(
      JSON.stringify({
        _aws: { Timestamp: clock.nowMs(), CloudWatchMetrics: [directive] },
        ...dimensions,
        ...Object.fromEntries(values),
      }),
    );
  };
  return {
    put: (name: MetricName, value: number, labels?: Labels) => {
      if (labels !== undefined) {
        const dimensions = { ...ofTable, ...dimensionsOfLabels(labels) };
        const key = JSON.stringify(dimensions);
        const known = gathered.get(key) ?? { dimensions, sums: new Map<MetricName, number>() };
        known.sums.set(name, (known.sums.get(name) ?? 0) + value);
        gathered.set(key, known);
        return;
      }
      const dimensions = name in metrics.byVersion ? ofVersion : ofTable;
      if (dimensions !== undefined) writeAll(dimensions, new Map([[name, value]]));
    },
    flush: () => {
      const all = [...gathered.values()];
      gathered.clear();
      for (const { dimensions, sums } of all) writeAll(dimensions, sums);
    },
  };
}

function dimensionsOf({ functionName, version }: PublishedVersion): Dimensions {
  return { [metrics.versionDimensions.function]: functionName, [metrics.versionDimensions.version]: version };
}

function dimensionsOfLabels(labels: Labels): Dimensions {
  return Object.fromEntries(
    Object.entries(labels).map(([label, value]) => [metrics.labelDimensions[label as MetricLabel], value]),
  );
}

function directiveOf(names: readonly MetricName[], dimensions: readonly string[]): object {
  return {
    Namespace: metrics.namespace,
    Dimensions: [dimensions],
    Metrics: names.map((name) => ({ Name: name, Unit: metrics.units[name] })),
  };
}

function toStandardOutput(line: string): void {
  process.stdout.write(`${line}\n`);
}
