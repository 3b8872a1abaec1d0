import type { Duration } from '../base/time.js';

/** Options of `ctx.startRun`. */
export interface RunStartOptions {
  /**
   * Starts of one workflow with the same key are one run, whoever starts it, for as long as the run is kept. Default: a key
   * of the call, the same on each attempt and replay.
   */
  readonly key?: string;
  /** Shown in lists and filtered by: at most 10, names of at most 64 characters, values of at most 256. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Runs of one workflow with the same concurrency key are never under way at the same time. */
  readonly concurrencyKey?: string;
  /** The run starts after this delay; at most 365 days. */
  readonly delay?: Duration;
  /** The run fails with `RUN_TIMED_OUT` unless it ends within this time from its start. */
  readonly timeout?: Duration;
}
