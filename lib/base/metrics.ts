/** What the engine tells of itself in numbers. Nothing of a run, a server or a caller is part of any. */
export type MetricName =
  /** How long the oldest marker that the sweep found had been due. Beyond a few minutes somebody does not do the work. */
  | 'OldestDueAgeMs'
  /** From the instant of a sweep's tick to the end of that sweep. */
  | 'SweepLagMs'
  /** 1 for each look at a run that the code does not fit. A run that stays blocked is looked at once an hour at least. */
  | 'BlockedRuns'
  /** 1 for each of these looks that found a run which was not blocked before. */
  | 'NewlyBlockedRuns'
  /** 1 for each message that is given back because of an error, and for each request that is answered with 500. */
  | 'HandlerFailures'
  /** 1 for each request to a capability route, and each entry of a batch, without a token that this deployment has made. */
  | 'PushAuthFailures'
  /** 1 for each management request without the right bearer token. */
  | 'ManagementAuthFailures';

export interface Metrics {
  put(name: MetricName, value: number): void;
}
