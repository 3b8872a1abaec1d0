import type { EpochMs } from '../../../lib/base/time.js';
import type { HistoryEvent, RunOutcome } from '../../../lib/history/event.js';
import type { InboxRecord, RunHead } from '../../../lib/history/records.js';
import type { RunState } from '../../../lib/history/run-state.js';
import type { Item } from '../../../lib/store/table.js';

/** A request that a run has accepted. */
export interface Accepted {
  readonly inboxId: string;
  readonly kind: InboxRecord['kind'];
  readonly name: string;
  /** Its caller did not send it earlier than this. */
  readonly begunAtMs: EpochMs;
  readonly appliedAtMs: EpochMs;
}

/** A run and those that continue it. */
export interface Chain {
  readonly runIds: string[];
  /** Accepted requests, in the order in which they took effect. */
  readonly accepted: Accepted[];
  /** State by the order of acceptance; unknown if two requests were in flight at once. */
  control: { readonly is: 'paused' | 'running' | 'unknown'; readonly sinceMs: EpochMs };
  terminatedAtMs: EpochMs | undefined;
  /** Whether one of its items was removed from the table. */
  hasLoss: boolean;
}

/** The oracles' knowledge of one run; updated with each write. */
export interface Book {
  readonly runId: string;
  readonly chain: Chain;
  readonly place: number;
  head: RunHead;
  seq: number;
  readonly events: HistoryEvent[];
  readonly state: RunState;
  readonly sources: Set<string>;
  readonly items: Map<string, Item>;
  startedAtMs: EpochMs | undefined;
  endedAtMs: EpochMs | undefined;
  ending: RunOutcome | undefined;
  /** Number of processes of the run that were lost with their work. */
  lost: number;
  /** Instant since which an item that the log refers to is missing. */
  goneSinceMs: EpochMs | undefined;
  /** Number of turns that gave up after half of their time without the store. */
  gaveUp: number;
  /** Work of steps, by their keys: how often it began, and how often it ended as a failure. */
  readonly work: Map<string, { began: number; failed: number }>;
  readonly errors: Map<string, number>;
}

export function isEnded(status: unknown): boolean {
  return status !== 'running' && status !== 'ending';
}

export function isForced(outcome: RunOutcome): boolean {
  return outcome.status === 'terminated' || isTimeout(outcome);
}

export function isTimeout(outcome: RunOutcome): boolean {
  return outcome.status === 'failed' && outcome.error.code === 'RUN_TIMED_OUT';
}

export const short = (runId: string): string => runId.slice(0, 4);
