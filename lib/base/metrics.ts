/** Metrics of the engine. They hold no data of runs, servers or callers. docs/operations.md lists them. */
export type MetricName = PlainMetricName | keyof MetricLabels;

/** Metrics without labels. */
export type PlainMetricName =
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
  /**
   * 1 for each read of a remote task that has not changed for longer than `staleAfter`. Old tasks are read every five
   * minutes, unless their server asks for less: the sum of five minutes is about the number of stale tasks.
   */
  | 'StaleTasks'
  /** 1 for each management request without the right bearer token. */
  | 'ManagementAuthFailures'
  /** Streams to callers that are open, at each request for one more. */
  | 'OpenStreams'
  /** 1 for each commit that was lost to another owner of the run, who had written first. */
  | 'CommitConflicts';

/**
 * Metrics with labels, which become dimensions. A label takes one of few values, all of them words or names of ours: of
 * the configuration, or of the protocol of the engine. Never an id, nor text of a server or caller.
 */
export interface MetricLabels {
  /** Polls of remote tasks that were sent, by server and kind of reply. */
  readonly Polls: Labels<'server' | 'result'>;
  /** Verified pushes of agents, by result: poked (the task is read now), noted, mismatch (another task), over. */
  readonly PushesReceived: Labels<'result'>;
  /** Replies of a server that broke its protocol. */
  readonly ProtocolViolations: Labels<'server'>;
  /** Requests that were refused with 401, 403 or 429, by status; 404: they named a run of another tenant. */
  readonly Refusals: Labels<'status'>;
  /** Starts of remote tasks that were sent, by server and kind of reply. */
  readonly RemoteStarts: Labels<'server' | 'result'>;
  /** Runs that ended, by workflow and how: completed, failed, cancelled, terminated, continued. */
  readonly RunsEnded: Labels<'workflow' | 'end'>;
  /** Runs whose first turn began, by workflow. */
  readonly RunsStarted: Labels<'workflow'>;
  /** Settlements of waits, by source. */
  readonly Settlements: Labels<'source'>;
  /** Attempts of steps that ended, by workflow and result: completed, retried, failed. */
  readonly StepAttempts: Labels<'workflow' | 'result'>;
}

export type MetricLabel = 'end' | 'result' | 'server' | 'source' | 'status' | 'workflow';
type Labels<Name extends MetricLabel> = Readonly<Record<Name, string>>;

export interface Metrics {
  put(name: PlainMetricName, value: number): void;
  put<Name extends keyof MetricLabels>(name: Name, value: number, labels: MetricLabels[Name]): void;
  /** Writes what was gathered. Called at the end of each invocation. Default: everything is written when it is put. */
  flush?(): void;
}
