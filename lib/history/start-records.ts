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
