import type { EpochMs } from '../base/time.js';

/** The time of an event. */
export interface At {
  /** When it happened, by the clock of the process that recorded it. */
  readonly atMs: EpochMs;
}
