import type { EpochMs } from '../base/time.js';

/** The time of an event. */
export interface At {
  /** When it happened, by the clock of the process that recorded it. */
  readonly atMs: EpochMs;
}

/** The caller who asked for it. Missing if it was none with a name. */
export interface ByCaller {
  readonly by?: string;
}
