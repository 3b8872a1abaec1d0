import type { EpochMs } from '../base/time.js';

/** Where in its history an execution is. The execution moves it, its parts read it. */
export interface Position {
  /** False while recorded events are replayed. */
  isLive: boolean;
  /** True while the workflow's own code may run: between an event and the end of its microtasks. */
  isAdvancing: boolean;
  /** The time of the last event: the clock of the workflow. */
  nowMs: EpochMs;
  eventCount: number;
}
