import type { RunId, WaitId } from '../base/ids.js';
import type { EpochMs } from '../base/time.js';

/** News of a run from outside: the settlement of a wait, or an inbox item. */
export type News = { readonly waitId: WaitId } | { readonly inboxId: string };

/** A logged start of a step's attempt that no process died of: the `begun`-th one of that attempt. */
export interface UnharmedStart {
  readonly waitId: WaitId;
  readonly attempt: number;
  readonly begun: number;
}

/** Asks for one turn of a run. FIFO queue, group = run id. */
export interface TurnMessage {
  readonly runId: RunId;
  /** Starts that a turn which gave up made but could not record: the next turn does not count them against the step. */
  readonly unharmed?: readonly UnharmedStart[];
  /**
   * News that the turn is for. A process that remembers the run reads nothing else. Missing: unknown, so all is read.
   */
  readonly news?: readonly News[];
}

/** Asks for one read of a remote task. Standard queue. */
export interface PollMessage {
  readonly kind: 'poll';
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** Name of the remote task's server: reads are limited by server. */
  readonly server?: string;
  /** The due instant that it was sent for; stale if the item has another one. Missing: poll now (a poke). */
  readonly dueAtMs?: EpochMs;
  /**
   * Set if a worker delayed itself within its claim: how often, and the due instant that it claimed. `isAhead`: the
   * claim was made for this read alone, by the write that recorded the last one.
   */
  readonly hop?: { readonly count: number; readonly claimedDueAtMs: EpochMs; readonly isAhead?: true };
  /** Set if a push said that the task has ended: replicas of its server may lag behind that, so reads follow soon. */
  readonly saidEnded?: true;
  /** W3C trace context of the push that asked for the read; its span is linked to that. */
  readonly traceparent?: string;
  /** Id of the caller who asked for the read. */
  readonly by?: string;
  /** Set if its server answers slowly: the message is for the slow queue, and is read by whoever receives it. */
  readonly isSlow?: true;
}

/** A delayed wake. Uses the standard queue, since a FIFO queue has no delay per message. */
export interface DelayedWakeMessage {
  readonly kind: 'wake';
  readonly runId: RunId;
  /** The due instant that it was sent for: one turn is enough, however many messages were sent for it. */
  readonly dueAtMs: EpochMs;
}

/**
 * Asks a worker to run an attempt of a long step. Standard queue of its own: an attempt holds its function for minutes.
 */
export interface StepMessage {
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** The due instant that it was sent for; if the item has another one, the message is stale. */
  readonly dueAtMs: EpochMs;
  /** Claim of the worker that sent this. It is alive and gives up: no strike is counted, and its lease is over. */
  readonly unharmed?: string;
}

/** Asks a worker to make a start of a remote task that may take minutes. Standard queue of its own: it mostly waits. */
export interface StartMessage {
  readonly kind: 'start';
  readonly runId: RunId;
  readonly waitId: WaitId;
  /** The due instant that it was sent for; if the item has another one, the message is stale. */
  readonly dueAtMs: EpochMs;
  /**
   * Set for a start of unknown fate whose wait is closed: it is repeated to find the task, which is to be cancelled.
   */
  readonly forCancel?: true;
}

/** Asks for the pushes that a config of a task is due for. Standard queue. */
export interface PushMessage {
  readonly kind: 'push';
  /** The first run of the task. */
  readonly runId: RunId;
  readonly configId: string;
  /** Set if its receiver answers slowly, to a digest of it: the message is for the slow queue. */
  readonly slowReceiver?: string;
}

export type WorkMessage = PollMessage | DelayedWakeMessage | PushMessage;

/** Returns the message group of a message: what it reads or pushes from, so that the messages of others do not wait. */
export function groupOf(message: WorkMessage): string | undefined {
  if (message.kind === 'push') return message.slowReceiver ?? message.runId;
  return message.kind === 'poll' ? message.server : undefined;
}

/** Returns the queue of a message: servers and receivers of pushes that answer slowly have their own. */
export function queueOf(message: WorkMessage): 'work' | 'slow' {
  if (message.kind === 'push') return message.slowReceiver === undefined ? 'work' : 'slow';
  return message.kind === 'poll' && message.isSlow === true ? 'slow' : 'work';
}

/**
 * Destination of hints. Every message can be lost, duplicated, late or out of order; the sweep rebuilds what is
 * missing. Each method throws if the queue does not take the message.
 */
export interface Queues {
  /** `dedupId`: SQS deduplicates messages with the same id within five minutes, so it is fresh for each wake. */
  sendTurn(message: TurnMessage, dedupId: string): Promise<void>;
  /** `delayMs` up to 900 s, rounded up to whole seconds. */
  sendWork(message: WorkMessage, delayMs: number): Promise<void>;
  /** `delayMs` as with `sendWork`. */
  sendStep(message: StepMessage, delayMs: number): Promise<void>;
  /** `delayMs` as with `sendWork`. */
  sendStart(message: StartMessage, delayMs: number): Promise<void>;
}
