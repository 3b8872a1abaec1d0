// What a deployment consists of, as data: the CDK stack builds it, local mode imitates it.

export { tableIndexes, tableKey } from '../store/table.js';
import type { MetricName } from '../base/metrics.js';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs, turnVisibilityMs } from '../base/limits.js';

/** Seconds since 1970 after which DynamoDB may delete an item. Nothing sets it yet; a table has one such attribute for good. */
export const tableTtlAttribute = 'expiresAtS';

/** A message that this many receives did not get done is put aside. Throttled receives count, so it is more than a few. */
const maxReceiveCount = 5;

/** 5 rounds of reads of up to 30 s, 8 at a time, and some to spare. */
const pollTimeoutMs = 180_000;

export interface QueueTopology {
  readonly fifo: boolean;
  readonly visibilityMs: number;
  readonly maxReceiveCount: number;
  readonly deadLetterRetentionDays: number;
  /** How Lambda receives from it. */
  readonly eventSource: {
    readonly batchSize: number;
    /** How long Lambda may gather messages before it invokes; 0 for none, which is all that a FIFO queue has. */
    readonly batchingWindowMs: number;
    /** Invocations at a time. */
    readonly maxConcurrency: number;
  };
}

export interface FunctionTopology {
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /**
   * Lambda counts how often one event has led to a function again, by way of queues, and stops it at about 16. A run that
   * goes from turn to poll to turn, or to a step and back, does so as often as its workflow waits, within one such chain;
   * what bounds it is the workflow. `terminate` is for functions that no message leads to.
   */
  readonly recursiveLoop: 'allow' | 'terminate';
}

export type FunctionName = 'api' | 'turn' | 'poll' | 'step' | 'schedule';
export type QueueName = 'turn' | 'work' | 'step' | 'start';

export const queues: Readonly<Record<QueueName, QueueTopology>> = {
  turn: {
    fifo: true,
    visibilityMs: turnVisibilityMs,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // One run per invocation: a turn may hold 45 s of steps, and another run must not wait for them.
    eventSource: { batchSize: 1, batchingWindowMs: 0, maxConcurrency: 100 },
  },
  work: {
    fifo: false,
    // AWS asks for six times the timeout of the function and the window.
    visibilityMs: 6 * pollTimeoutMs + 2_000,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // Many reads share one invocation; the window is what gathers them.
    eventSource: { batchSize: 40, batchingWindowMs: 2_000, maxConcurrency: 20 },
  },
  step: {
    fifo: false,
    // Six times the timeout. A worker that dies is made up for sooner, by its lease.
    visibilityMs: 6 * stepFunctionTimeoutMs,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // An attempt may need all the time that its function has.
    eventSource: { batchSize: 1, batchingWindowMs: 0, maxConcurrency: 20 },
  },
  start: {
    fifo: false,
    // The function is that of long steps, so the time is too.
    visibilityMs: 6 * stepFunctionTimeoutMs,
    maxReceiveCount,
    deadLetterRetentionDays: 14,
    // Starts wait side by side, and do nothing else: ten of them share the time of one invocation.
    eventSource: { batchSize: 10, batchingWindowMs: 0, maxConcurrency: 50 },
  },
};

export const functions: Readonly<Record<FunctionName, FunctionTopology>> = {
  // An HTTP API answers for us after 30 s.
  api: { timeoutMs: 29_000, memoryMb: 512, recursiveLoop: 'terminate' },
  turn: { timeoutMs: turnTimeoutMs, memoryMb: 1_024, recursiveLoop: 'allow' },
  // Polls also delay themselves, at most 10 times within one claim.
  poll: { timeoutMs: pollTimeoutMs, memoryMb: 512, recursiveLoop: 'allow' },
  step: { timeoutMs: stepFunctionTimeoutMs, memoryMb: 1_024, recursiveLoop: 'allow' },
  schedule: { timeoutMs: 60_000, memoryMb: 512, recursiveLoop: 'terminate' },
};

export const schedule = {
  everyMs: sweepIntervalMs,
  /** A tick that is older has been made up for by the next one. */
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
    ManagementAuthFailures: 'Count',
    NewlyBlockedRuns: 'Count',
    HandlerFailures: 'Count',
  },
  /** Metrics of one version of a function in place of the whole deployment, and which functions write them. */
  byVersion: { NewlyBlockedRuns: ['turn'], HandlerFailures: ['api', 'turn', 'poll', 'step'] },
  versionDimensions: { function: 'Function', version: 'Version' },
} as const satisfies {
  readonly namespace: string;
  readonly dimension: string;
  readonly units: Readonly<Record<MetricName, string>>;
  readonly byVersion: Readonly<Partial<Record<MetricName, readonly FunctionName[]>>>;
  readonly versionDimensions: Readonly<Record<'function' | 'version', string>>;
};

/** Requests of all callers together. Beyond it API Gateway answers 429. */
export const httpThrottle = { perSecond: 200, burst: 400 } as const;

/** API Gateway and Lambda refuse a larger request. */
export const gatewayBodyMaxBytes = 6 * 1024 * 1024;

/** How code becomes a bundle, the same for a deployment and for local mode. */
export const bundling = {
  format: 'esm',
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  minify: true,
  // Class names are part of errors.
  keepNames: true,
  sourcemap: true,
  splitting: true,
  // A CommonJS package inside an ES module still calls require.
  banner:
    "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
} as const;
