import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import { queueDelayMaxMs } from '../base/limits.js';
import type { Clock, EpochMs } from '../base/time.js';
import { FairLanes } from './fair-lanes.js';
import { Heap } from './heap.js';

/** Time within which SQS deduplicates messages with the same deduplication id. */
const dedupWindowMs = 300_000;

export interface MemoryQueueOptions {
  /** Shown in message ids and errors. */
  readonly name: string;
  readonly kind: 'fifo' | 'standard';
  /** How long a received message is hidden. */
  readonly visibilityMs: number;
  /** After this many receives without a delete, the next receive moves the message to `deadLetters` instead. */
  readonly maxReceiveCount: number;
  /** If missing, a message can be received any number of times. */
  readonly deadLetters?: MemoryQueue;
  readonly clock: Clock;
  /** Called after each change that can make `nextChangeAtMs` earlier. Must not throw. */
  readonly onChange?: () => void;
}

export interface QueueMessage {
  readonly body: string;
  /** Required for FIFO. Standard: whose message it is; no group holds up the others. */
  readonly groupId?: string;
  /** FIFO only, and required there. */
  readonly dedupId?: string;
  /** Standard only; up to 900 s, rounded up to whole seconds. */
  readonly delayMs?: number;
}

export interface ReceivedMessage {
  readonly messageId: string;
  /** Identifies this receive; a later receive of the same message has another handle. */
  readonly receiptHandle: string;
  readonly body: string;
  /** 1 for the first receive. */
  readonly receiveCount: number;
  readonly sentAtMs: EpochMs;
  readonly groupId?: string;
}

interface Message {
  readonly messageId: string;
  /** Order of sending. */
  readonly number: number;
  readonly body: string;
  readonly groupId: string | undefined;
  readonly sentAtMs: EpochMs;
  availableAtMs: EpochMs;
  receiveCount: number;
}

/**
 * A unit of availability: a message of a standard queue, or a message group of a FIFO queue. A group is available if
 * none of its messages is in flight; its messages are received in the order in which they were sent.
 */
interface Lane {
  readonly messages: Message[];
  /** Its only valid entry in the heap, if any. */
  entry: LaneEntry | undefined;
}

/** An entry of the heap; stale if it is no longer the entry of its lane. */
interface LaneEntry {
  readonly lane: Lane;
  readonly availableAtMs: EpochMs;
  readonly number: number;
}

/**
 * A queue in memory with the rules of SQS: at-least-once delivery, visibility, receive count, redrive to a dead-letter
 * queue; standard: a delay per message, and the message of the group with the fewest in flight first; FIFO: order and
 * one batch in flight per message group, deduplication for five minutes. Its content is lost when the process ends; the
 * sweep rebuilds it. Each call costs O(log n), and a receive of a standard queue also O(groups).
 */
export class MemoryQueue {
  readonly #options: MemoryQueueOptions;
  readonly #heap = new Heap<LaneEntry>(
    (a, b) => a.availableAtMs < b.availableAtMs || (a.availableAtMs === b.availableAtMs && a.number < b.number),
  );
  readonly #groups = new Map<string, Lane>();
  /** Standard only: messages that are available, by group. */
  readonly #fair = new FairLanes<Lane>();
  /** All messages, in flight or not, by message id. */
  readonly #messages = new Map<string, { readonly message: Message; readonly lane: Lane }>();
  /** When a deduplication id was first seen, oldest first. */
  readonly #seen = new Map<string, { readonly atMs: EpochMs; readonly messageId: string }>();
  #sentCount = 0;

  constructor(options: MemoryQueueOptions) {
    this.#options = options;
  }

  /** Number of messages that were neither deleted nor moved away, in flight or not. */
  get size(): number {
    return this.#messages.size;
  }

  /**
   * Sends a message and returns its id; for a known deduplication id that of the first message.
   * @throws EngineError `INTERNAL` if SQS would refuse it
   */
  send(message: QueueMessage): string {
    const nowMs = this.#options.clock.nowMs();
    const { kind } = this.#options;
    const delayMs = message.delayMs ?? 0;
    if (kind === 'standard' && !(delayMs >= 0 && delayMs <= queueDelayMaxMs))
      throw this.#refuse(`a delay of 0 to ${queueDelayMaxMs} ms, got ${delayMs}`);
    if (kind === 'fifo' && delayMs !== 0) throw this.#refuse('no delay per message');
    if (kind === 'fifo' && (message.groupId === undefined || message.dedupId === undefined))
      throw this.#refuse('a group id and a deduplication id');

    if (message.dedupId !== undefined) {
      this.#forgetOldIds(nowMs);
      const first = this.#seen.get(message.dedupId);
      if (first !== undefined) return first.messageId;
    }
    const number = ++this.#sentCount;
    const messageId = `${this.#options.name}-${number}`;
    if (message.dedupId !== undefined) this.#seen.set(message.dedupId, { atMs: nowMs, messageId });
    this.#add({
      messageId,
      number,
      body: message.body,
      groupId: message.groupId,
      sentAtMs: nowMs,
      availableAtMs: nowMs + Math.ceil(delayMs / 1_000) * 1_000,
      receiveCount: 0,
    });
    return messageId;
  }

  /** Receives up to `max` available messages, and hides them from now on. */
  receive(max: number): ReceivedMessage[] {
    const nowMs = this.#options.clock.nowMs();
    const received: ReceivedMessage[] = [];
    if (this.#options.kind === 'standard') return this.#receiveFairly(nowMs, max);
    while (received.length < max) {
      const entry = this.#earliest();
      if (entry === undefined || entry.availableAtMs > nowMs) break;
      this.#heap.pop();
      const { lane } = entry;
      lane.entry = undefined;
      this.#receiveFrom(lane, nowMs, max, received);
      this.#schedule(lane);
    }
    return received;
  }

  #receiveFairly(nowMs: EpochMs, max: number): ReceivedMessage[] {
    for (;;) {
      const entry = this.#earliest();
      if (entry === undefined || entry.availableAtMs > nowMs) break;
      this.#heap.pop();
      entry.lane.entry = undefined;
      const [message] = entry.lane.messages;
      if (message !== undefined) this.#fair.add(message.groupId, entry.lane);
    }
    const received: ReceivedMessage[] = [];
    while (received.length < max) {
      const lane = this.#fair.next();
      if (lane === undefined) break;
      // Gone, or hidden again, since it became available.
      if (lane.entry !== undefined || (lane.messages[0]?.availableAtMs ?? Infinity) > nowMs) continue;
      this.#receiveFrom(lane, nowMs, max, received);
      if (lane.messages.length > 0) this.#fair.enter(lane.messages[0]?.groupId, lane);
      this.#schedule(lane);
    }
    return received;
  }

  #receiveFrom(lane: Lane, nowMs: EpochMs, max: number, received: ReceivedMessage[]): void {
    for (const message of [...lane.messages]) {
      if (received.length >= max) return;
      if (message.receiveCount >= this.#options.maxReceiveCount && this.#options.deadLetters !== undefined) {
        this.#remove(lane, message);
        this.#options.deadLetters.#accept(message, nowMs);
        continue;
      }
      message.receiveCount += 1;
      message.availableAtMs = nowMs + this.#options.visibilityMs;
      received.push({
        messageId: message.messageId,
        receiptHandle: receiptHandleOf(message),
        body: message.body,
        receiveCount: message.receiveCount,
        sentAtMs: message.sentAtMs,
        ...defined({ groupId: message.groupId }),
      });
    }
  }

  /**
   * Returns true if the message is deleted. An outdated handle deletes nothing, nor does one of a FIFO queue whose
   * visibility is over.
   */
  deleteMessage(receiptHandle: string): boolean {
    const found = this.#inFlight(receiptHandle);
    if (found === undefined) return false;
    this.#remove(found.lane, found.message);
    this.#schedule(found.lane);
    this.#options.onChange?.();
    return true;
  }

  /**
   * Hides the message for `visibilityMs` from now; 0 makes it available at once. Returns false for an outdated handle.
   */
  changeVisibility(receiptHandle: string, visibilityMs: number): boolean {
    const found = this.#inFlight(receiptHandle);
    if (found === undefined) return false;
    this.#fair.leave(found.lane);
    found.message.availableAtMs = this.#options.clock.nowMs() + visibilityMs;
    this.#schedule(found.lane);
    this.#options.onChange?.();
    return true;
  }

  /** Returns the earliest instant, maybe past, at which a receive finds something; undefined if the queue is empty. */
  nextChangeAtMs(): EpochMs | undefined {
    while (this.#fair.peek()?.messages.length === 0) this.#fair.next();
    return this.#fair.peek()?.messages[0]?.availableAtMs ?? this.#earliest()?.availableAtMs;
  }

  /** Accepts a message moved from another queue: it keeps its id and its body. */
  #accept(message: Message, nowMs: EpochMs): void {
    this.#add({ ...message, number: ++this.#sentCount, availableAtMs: nowMs, receiveCount: 0 });
  }

  #add(message: Message): void {
    const lane = this.#laneOf(message.groupId);
    lane.messages.push(message);
    this.#messages.set(message.messageId, { message, lane });
    this.#schedule(lane);
    this.#options.onChange?.();
  }

  #laneOf(groupId: string | undefined): Lane {
    if (groupId === undefined || this.#options.kind === 'standard') return { messages: [], entry: undefined };
    let lane = this.#groups.get(groupId);
    if (lane === undefined) {
      lane = { messages: [], entry: undefined };
      this.#groups.set(groupId, lane);
    }
    return lane;
  }

  #remove(lane: Lane, message: Message): void {
    this.#messages.delete(message.messageId);
    this.#fair.leave(lane);
    lane.messages.splice(lane.messages.indexOf(message), 1);
    const { groupId } = message;
    if (lane.messages.length === 0 && groupId !== undefined) this.#groups.delete(groupId);
  }

  #inFlight(receiptHandle: string): { readonly message: Message; readonly lane: Lane } | undefined {
    const found = this.#messages.get(receiptHandle.slice(0, receiptHandle.lastIndexOf('/')));
    if (found === undefined || receiptHandleOf(found.message) !== receiptHandle) return undefined;
    if (this.#options.kind === 'fifo' && found.message.availableAtMs <= this.#options.clock.nowMs()) return undefined;
    return found;
  }

  /** Updates the entry of the lane if it has become available at another instant. */
  #schedule(lane: Lane): void {
    const [head] = lane.messages;
    if (head === undefined) {
      lane.entry = undefined;
      return;
    }
    let availableAtMs = head.availableAtMs;
    // A message in flight locks its group, whatever its position: messages received together are deleted in any order.
    for (const message of lane.messages)
      if (message.receiveCount > 0) availableAtMs = Math.max(availableAtMs, message.availableAtMs);
    if (lane.entry?.availableAtMs === availableAtMs) return;
    lane.entry = { lane, availableAtMs, number: head.number };
    this.#heap.push(lane.entry);
  }

  #earliest(): LaneEntry | undefined {
    for (;;) {
      const entry = this.#heap.peek();
      if (entry === undefined || entry === entry.lane.entry) return entry;
      this.#heap.pop();
    }
  }

  #forgetOldIds(nowMs: EpochMs): void {
    for (const [id, { atMs }] of this.#seen) {
      if (nowMs - atMs < dedupWindowMs) return;
      this.#seen.delete(id);
    }
  }

  #refuse(expected: string): EngineError {
    return new EngineError('INTERNAL', `queue ${this.#options.name} (${this.#options.kind}) takes ${expected}`);
  }
}

function receiptHandleOf(message: Message): string {
  return `${message.messageId}/${message.receiveCount}`;
}
