import type { EpochMs } from '../base/time.js';

/** Position of an execution in its history. The execution changes it, its parts read it. */
export interface Position {
  /** Whether events are new, not replayed. */
  isLive: boolean;
  /** Whether the workflow's code may run: from an event until the microtask queue is empty. */
  isAdvancing: boolean;
  /** Time of the last event: the clock of the workflow. */
  nowMs: EpochMs;
  eventCount: number;
}
