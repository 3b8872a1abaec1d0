import type { RunId, WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';

/** What has come to a run from outside: the settlement of a wait, or an inbox item. */
export type News = { readonly waitId: WaitId } | { readonly inboxId: string };

/** A start of an attempt of a step that the log has and that no process died of: the `begun`-th one of that attempt. */
export interface UnharmedStart {
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly begun: number;
}

/** Asks for one turn of a run. FIFO queue, group = run id. */
export interface TurnMessage {
  readonly runId: RunId;
  /** What a turn that gave up began and could not record: the next one does not count it against the step. */
  readonly unharmed?: readonly UnharmedStart[];
  /** What the turn is asked for. A process that remembers the run reads only that. Missing: not known, so it looks at all. */
  readonly news?: readonly News[];
}

/** Asks for one read of a remote task. Standard queue. */
export interface PollMessage {
  readonly kind: 'poll';
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** Of the remote task, by its name: reads are limited by server. */
  readonly server?: string;
  /** The due instant it was sent for; a message for another instant than the item's is stale. Missing: poll now (a poke). */
  readonly dueAtMs?: EpochMs;
  /** Set when a worker delayed itself within its claim: how often, and the due instant that it claimed. */
  readonly hop?: { readonly count: number; readonly claimedDueAtMs: EpochMs };
}

/** A wake that is delayed goes through the standard queue: a FIFO queue has no delay per message. */
export interface DelayedWakeMessage {
  readonly kind: 'wake';
  readonly runId: RunId;
  /** The due instant it was sent for: one turn is enough, however many messages were sent for it. */
  readonly dueAtMs: EpochMs;
}

/** Asks a worker to run an attempt of a long step. Standard queue of its own: an attempt holds its function for minutes. */
export interface StepMessage {
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** The due instant it was sent for; a message for another instant than the item's is stale. */
  readonly dueAtMs: EpochMs;
  /** From the worker of this claim, which lives and gives the attempt up: it counts for nothing, and its lease is over. */
  readonly unharmed?: string;
}

/** Asks a worker to make a start of a remote task that may take minutes. Standard queue of its own: it waits, and works little. */
export interface StartMessage {
  readonly kind: 'start';
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** The due instant it was sent for; a message for another instant than the item's is stale. */
  readonly dueAtMs: EpochMs;
  /** The wait is closed, and the start is of unknown fate: it is made again to learn of the task that is to be cancelled. */
  readonly forCancel?: true;
}

export type WorkMessage = PollMessage | DelayedWakeMessage;

/**
 * Where hints go. Every message can be lost, doubled, late or out of order; the sweep rebuilds what is missing.
 * Each method throws when the queue does not take the message.
 */
export interface Queues {
  /** `dedupId`: SQS drops a second message of the same id within five minutes, so it is fresh for each wake. */
  sendTurn(message: TurnMessage, dedupId: string): Promise<void>;
  /** `delayMs` up to 900 s, rounded up to whole seconds. */
  sendWork(message: WorkMessage, delayMs: number): Promise<void>;
  /** `delayMs` as with `sendWork`. */
  sendStep(message: StepMessage, delayMs: number): Promise<void>;
  /** `delayMs` as with `sendWork`. */
  sendStart(message: StartMessage, delayMs: number): Promise<void>;
}
