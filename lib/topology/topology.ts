// Parts of a deployment, as data: the CDK stack builds them, local mode imitates them.

export { tableIndexes, tableKey } from '../store/table.js';
import type { MetricLabel, MetricName } from '../base/metrics.js';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs, turnVisibilityMs } from '../base/limits.js';

/**
 * Seconds since 1970 after which DynamoDB may delete an item. Nothing sets it yet; a table keeps its one such attribute
 * for good.
 */
export const tableTtlAttribute = 'expiresAtS';

/**
 * Receives after which a message is moved to the dead-letter queue. Throttled receives count, so it is more than a few.
 */
const maxReceiveCount = 5;

/** Timeout of `poll`: 5 rounds of reads of up to 30 s, 8 at a time, plus a margin. */
const pollTimeoutMs = 180_000;

/** Timeout of `serve`: the longest for which API Gateway streams a response. */
const serveTimeoutMs = 900_000;

/** Name of the stage of the REST API of served workflows, the first segment of its paths without a domain of its own. */
export const serveStage = 'live';

export interface QueueTopology {
  readonly fifo: boolean;
  readonly visibilityMs: number;
  readonly maxReceiveCount: number;
  readonly deadLetterRetentionDays: number;
  /** Settings with which Lambda receives from the queue. */
  readonly eventSource: {
    readonly batchSize: number;
    /** Time for which Lambda may gather messages before it invokes; 0 for none, the only value for a FIFO queue. */
    readonly batchingWindowMs: number;
    /** Concurrent invocations. */
    readonly maxConcurrency: number;
  };
}

export interface FunctionTopology {
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /**
   * Reaction to recursion: Lambda counts how often one event leads back to a function through queues, and stops it at
   * about 16. A run that goes from turn to poll to turn, or to a step and back, does so within one such chain as often
   * as its workflow waits, and is bounded by the workflow. `terminate` is for functions that no message leads to.
   */
  readonly recursiveLoop: 'allow' | 'terminate';
}

/** `serve` is part of a deployment only if its app serves workflows. */
export type FunctionName = 'api' | 'turn' | 'poll' | 'step' | 'schedule' | 'serve';
export type QueueName = 'turn' | 'work' | 'step' | 'start' | 'slow';

const work: QueueTopology = {
  fifo: false,
  // Six times the timeout of the function plus the window, as AWS recommends.
  visibilityMs: 6 * pollTimeoutMs + 2_000,
  maxReceiveCount,
  deadLetterRetentionDays: 14,
  // Shares one invocation among many reads, which the window gathers.
  eventSource: { batchSize: 40, batchingWindowMs: 2_000, maxConcurrency: 20 },
};

export const queues: Readonly<Record<QueueName, QueueTopology>> = {
  turn: {
    fifo: true,
    visibilityMs: turnVisibilityMs,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // Takes one run per invocation: a turn may hold 45 s of steps, and another run must not wait for them.
    eventSource: { batchSize: 1, batchingWindowMs: 0, maxConcurrency: 100 },
  },
  work,
  // Holds reads of servers that answer slowly, whose invocations would otherwise be missing for the others.
  slow: work,
  step: {
    fifo: false,
    // Six times the timeout. The lease replaces a dead worker sooner.
    visibilityMs: 6 * stepFunctionTimeoutMs,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // Takes one attempt per invocation, which may need all of the function's time.
    eventSource: { batchSize: 1, batchingWindowMs: 0, maxConcurrency: 20 },
  },
  start: {
    fifo: false,
    // Same as for long steps, which the same function runs.
    visibilityMs: 6 * stepFunctionTimeoutMs,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // Runs ten starts side by side in one invocation, since they only wait.
    eventSource: { batchSize: 10, batchingWindowMs: 0, maxConcurrency: 50 },
  },
};

export const functions: Readonly<Record<FunctionName, FunctionTopology>> = {
  // Ends before 30 s, when an HTTP API answers in its place.
  api: { timeoutMs: 29_000, memoryMb: 512, recursiveLoop: 'terminate' },
  turn: { timeoutMs: turnTimeoutMs, memoryMb: 1_024, recursiveLoop: 'allow' },
  // Allows recursion: polls also delay themselves, at most 10 times within one claim.
  poll: { timeoutMs: pollTimeoutMs, memoryMb: 512, recursiveLoop: 'allow' },
  step: { timeoutMs: stepFunctionTimeoutMs, memoryMb: 1_024, recursiveLoop: 'allow' },
  schedule: { timeoutMs: 60_000, memoryMb: 512, recursiveLoop: 'terminate' },
  // Ends streams itself, before API Gateway would. Small, since its time is what a stream costs.
  serve: { timeoutMs: serveTimeoutMs, memoryMb: 256, recursiveLoop: 'terminate' },
};

export const schedule = {
  everyMs: sweepIntervalMs,
  /** Age at which a tick is dropped: the next one makes up for it. */
  eventMaxAgeMs: 2 * sweepIntervalMs,
  eventRetries: 2,
  deadLetterRetentionDays: 14,
} as const;

/** Metrics that the functions write themselves. */
export const metrics = {
  namespace: 'Outwait',
  dimension: 'Table',
  units: {
    OldestDueAgeMs: 'Milliseconds',
    SweepLagMs: 'Milliseconds',
    BlockedRuns: 'Count',
    PushAuthFailures: 'Count',
    StaleTasks: 'Count',
    ManagementAuthFailures: 'Count',
    NewlyBlockedRuns: 'Count',
    HandlerFailures: 'Count',
    CommitConflicts: 'Count',
    OpenStreams: 'Count',
    Polls: 'Count',
    ProtocolViolations: 'Count',
    PushesReceived: 'Count',
    Refusals: 'Count',
    RemoteStarts: 'Count',
    RunsEnded: 'Count',
    RunsStarted: 'Count',
    Settlements: 'Count',
    StepAttempts: 'Count',
  },
  /** Dimensions of the labels of a metric, beside the table. */
  labelDimensions: {
    end: 'End',
    result: 'Result',
    server: 'Server',
    source: 'Source',
    status: 'Status',
    workflow: 'Workflow',
  },
  /** Metrics of one version of a function instead of the whole deployment, and the functions that write them. */
  byVersion: { NewlyBlockedRuns: ['turn'], HandlerFailures: ['api', 'turn', 'poll', 'step', 'serve'] },
  versionDimensions: { function: 'Function', version: 'Version' },
} as const satisfies {
  readonly namespace: string;
  readonly dimension: string;
  readonly units: Readonly<Record<MetricName, string>>;
  readonly labelDimensions: Readonly<Record<MetricLabel, string>>;
  readonly byVersion: Readonly<Partial<Record<MetricName, readonly FunctionName[]>>>;
  readonly versionDimensions: Readonly<Record<'function' | 'version', string>>;
};

/** Limits on the requests of all callers together. Beyond them API Gateway answers 429. */
export const httpThrottle = { perSecond: 200, burst: 400 } as const;

/** Size above which API Gateway and Lambda refuse a request. */
export const gatewayBodyMaxBytes = 6 * 1024 * 1024;

/** Bundler settings, the same for a deployment and for local mode. */
export const bundling = {
  format: 'esm',
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  minify: true,
  // Keeps class names, which are part of errors.
  keepNames: true,
  sourcemap: true,
  // A map then is smaller than the code; the sources lie where they are.
  sourcesContent: false,
  splitting: true,
  // Defines require, which a CommonJS package inside an ES module still calls.
  banner:
    "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
} as const;
