/** What the engine tells of itself in numbers. Each is of the whole deployment: nothing of a run or a server is part of it. */
export type MetricName =
  /** How long the oldest marker that the sweep found had been due. Beyond a few minutes somebody does not do the work. */
  | 'OldestDueAgeMs'
  /** From the instant of a sweep's tick to the end of that sweep. */
  | 'SweepLagMs'
  /** 1 for each look at a run that the code does not fit. A run that stays blocked is looked at once an hour at least. */
  | 'BlockedRuns';

export interface Metrics {
  put(name: MetricName, value: number): void;
}
