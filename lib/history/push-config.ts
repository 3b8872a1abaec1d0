import type { RunId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';

/** Where the end of a run is told, as its start has asked for. Sealed as a whole. */
export interface RunCallback {
  readonly url: string;
  /** Secret of Standard Webhooks: `whsec_` and base64. */
  readonly secret: string;
  /** The run that was started, unless it is this one. */
  readonly startedRunId?: RunId;
}

/** Where the news of a task go, and what the receiver wants to see. Sealed as a whole: a URL may hold a secret. */
export interface PushReceiver {
  readonly url: string;
  /** Signs the pushes (Standard Webhooks). Callbacks only. */
  readonly secret?: string;
  /** Callbacks only: the run that was started, unless it is the one that has ended. */
  readonly startedRunId?: RunId;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

/** How far the news of a task have been pushed to one receiver. */
export interface PushState {
  /** The first run of the task; of a callback, the run that has ended. */
  readonly taskId: RunId;
  readonly configId: string;
  readonly createdAtMs: EpochMs;
  /** Revision of A2A in which the pushes are written. `callback`: the end of a run is told, to no caller of A2A. */
  readonly wire: '1.0' | '0.3' | 'callback';
  /** Generation up to which everything was sent, given up or passed over. */
  readonly cursor: number;
  /** Generation up to which news are known to be owed. */
  readonly owed: number;
  /** Failed tries in a row of the next push. */
  readonly failures: number;
  /** Refusals in a row for want of a right. */
  readonly refusals: number;
  readonly dueAtMs?: EpochMs;
  readonly writerId?: string;
  /** Until when the writer may send. */
  readonly claimUntilMs?: EpochMs;
  /** Set once the receiver has refused for good. */
  readonly closedAtMs?: EpochMs;
  readonly removedAtMs?: EpochMs;
}

export interface PushConfigRecord extends PushState {
  readonly receiver: PushReceiver;
}
