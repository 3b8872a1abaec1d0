import type { EpochMs } from '../base/time.js';

/** State of a remote task in the words of its server. Untrusted: the texts are cut, and shown but never followed. */
export interface TaskProgress {
  readonly state: string;
  /** First 200 characters of the server's message, without control characters. */
  readonly message?: string;
  /** Progress as a number, if the server reports one, and its value at the end, if the server knows it. */
  readonly progress?: number;
  readonly total?: number;
  /** When a read, or the reply to the start, first showed this. */
  readonly atMs: EpochMs;
}

/** The last changes that were seen of a remote task, oldest first: never empty. */
export interface TaskTrail {
  readonly changes: readonly TaskProgress[];
  /** Number of all recorded changes, which is the number of the last one. */
  readonly count: number;
  /** Since when the task has had its last state. */
  readonly stateSinceMs: EpochMs;
}

/** What a server says of a running task. */
export interface SaidOfTask {
  readonly state: string;
  readonly note?: string;
  readonly progress?: number;
  readonly total?: number;
}
