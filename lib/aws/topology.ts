// What a deployment consists of, as data: the CDK stack builds it, local mode imitates it.

export { tableIndexes } from '../store/table.js';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs, turnVisibilityMs } from '../base/limits.js';

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
}

export type FunctionName = 'api' | 'turn' | 'poll' | 'step' | 'schedule';
export type QueueName = 'turn' | 'work' | 'step';

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
};

export const functions: Readonly<Record<FunctionName, FunctionTopology>> = {
  // An HTTP API answers for us after 30 s.
  api: { timeoutMs: 29_000, memoryMb: 512 },
  turn: { timeoutMs: turnTimeoutMs, memoryMb: 1_024 },
  poll: { timeoutMs: pollTimeoutMs, memoryMb: 512 },
  step: { timeoutMs: stepFunctionTimeoutMs, memoryMb: 1_024 },
  schedule: { timeoutMs: 60_000, memoryMb: 512 },
};

export const schedule = { everyMs: sweepIntervalMs } as const;

/** Paths of the HTTP API that lead to the `api` function, any method: it answers 404 and 405 in its own form. */
export const httpPaths = [
  '/healthz',
  '/runs',
  '/runs/{proxy+}',
  '/servers',
  '/remote-tasks',
  '/schedules',
  '/schedules/{proxy+}',
  '/inputs',
  '/inputs/{proxy+}',
  '/activities/external',
  '/activities/external/{proxy+}',
] as const;

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
