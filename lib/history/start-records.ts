import type { RunId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';

/** The run to which an id of a caller points, and how often that has changed. */
export interface RunName {
  readonly runId: RunId;
  readonly generation: number;
}

/** When the last runs of a throttle begin, oldest first, and how often that has changed. */
export interface ThrottleState {
  readonly startsAtMs: readonly EpochMs[];
  readonly generation: number;
}

/** The run that a start with an idempotency key has led to, if starts of its workflow are debounced. */
export interface KnownStart {
  readonly runId: RunId;
  readonly sentDigest?: string;
}

/** Place of a run in its lane: the runs of one workflow that have the same concurrency key, in the order of acceptance. */
export interface LanePlace {
  /** The concurrency key. */
  readonly key: string;
  /** The run does not begin before this run of the lane, including its continuations, has ended. */
  readonly afterRunId?: RunId;
  /** When that run was created: another one with its id is not the one that is waited for. */
  readonly afterCreatedAtMs?: EpochMs;
  /** Whether the run asks those before it to cancel. */
  readonly replaces?: boolean;
  /** The run that waits for this one, and is told of its end. */
  readonly nextRunId?: RunId;
}

/** State of a run that waits for the last of several starts. */
export interface DebouncedStart {
  /** The run begins at the latest then. */
  readonly untilMs: EpochMs;
  /** Fresh with each start: the run begins only with the input of the last one. */
  readonly startId: string;
}
