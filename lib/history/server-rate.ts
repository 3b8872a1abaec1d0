import type { EpochMs } from '../base/time.js';

/** Kind of a request to a remote server: each kind has its share of a limit. */
export type RequestKind = 'starts' | 'reads';

/** What all workers together know about the rate of a remote server. */
export interface ServerRate {
  /** Number of the minute, by the clock that is ahead, in which these permits were leased. */
  readonly minute: number;
  /** Permits leased in that minute, of both kinds. */
  readonly requests: number;
  readonly starts: number;
  readonly reads: number;
  /** Reads of the minute before, if it is known. */
  readonly readsBefore?: number;
  /** End of each line: the instant that the next caller who has to wait is told. */
  readonly startsUntilMs: EpochMs;
  readonly readsUntilMs: EpochMs;
}

/** Permits of one minute for one kind of request. */
export interface PermitLease {
  readonly kind: RequestKind;
  readonly minute: number;
  readonly count: number;
}

/** Places in the line of one kind of request. */
export interface LinePart {
  readonly kind: RequestKind;
  /** The first of them is not before this. */
  readonly fromMs: EpochMs;
  readonly lengthMs: number;
}

/** A conditional write, and what the item has after it or had instead. */
export interface RateAnswer {
  readonly ok: boolean;
  readonly rate: ServerRate;
}
