/** Metrics of the engine. They hold no data of runs, servers or callers. */
export type MetricName =
  /**
   * How long the oldest marker that the sweep found had been due. More than a few minutes means that work is not done.
   */
  | 'OldestDueAgeMs'
  /** Time from the tick of a sweep to the end of that sweep. */
  | 'SweepLagMs'
  /** 1 for each turn that finds its run blocked. A run that stays blocked has a turn at least once an hour. */
  | 'BlockedRuns'
  /** 1 for each of these turns whose run was not blocked before. */
  | 'NewlyBlockedRuns'
  /** 1 for each message that is returned to its queue because of an error, and for each request answered with 500. */
  | 'HandlerFailures'
  /**
   * 1 for each request to a capability route, and each entry of a batch, without a token that this deployment issued, and
   * for each request to a hook whose sender is not verified.
   */
  | 'PushAuthFailures'
  /** 1 for each management request without the right bearer token. */
  | 'ManagementAuthFailures'
  /** 1 for each request that is answered 401, 403 or 429, or that names a run of another tenant. */
  | 'Refusals';

export interface Metrics {
  put(name: MetricName, value: number): void;
}
