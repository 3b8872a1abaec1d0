import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Log } from '../base/log.js';
import type { Clock } from '../base/time.js';
import type { MemoryQueue } from '../queue/memory-queue.js';
import { toSqsEvent } from './sqs-event.js';

export interface EventSourceOptions {
  /** Name of the queue, as in its ARN. */
  readonly name: string;
  readonly queue: MemoryQueue;
  readonly batchSize: number;
  /** Invocations at a time. */
  readonly maxConcurrency: number;
  readonly invoke: (event: SQSEvent) => Promise<SQSBatchResponse>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Timers hold at most 2^31 - 1 ms; looking once an hour without need costs nothing. */
const timerMaxMs = 3_600_000;

/**
 * Feeds a handler from a queue as Lambda's event source mapping does: batches, partial failures, invocations side by
 * side. What a batch reports as failed, or all of it when the handler throws, stays hidden until its visibility is over.
 * Invokes as soon as there is a message: the window in which Lambda gathers a batch saves money, and here is none to save.
 */
export class EventSource {
  readonly #options: EventSourceOptions;
  #inFlight = 0;
  #timer: NodeJS.Timeout | undefined;
  #lookIsDue = false;
  #stopped = false;

  constructor(options: EventSourceOptions) {
    this.#options = options;
  }

  /** Something may have become available. Cheap; returns before anything is received. */
  wake(): void {
    if (this.#lookIsDue || this.#stopped) return;
    this.#lookIsDue = true;
    setImmediate(() => {
      this.#lookIsDue = false;
      this.#look();
    });
  }

  /** Receives nothing from now on; what is in flight goes on. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #look(): void {
    clearTimeout(this.#timer);
    const { queue, batchSize, maxConcurrency, clock } = this.#options;
    while (!this.#stopped && this.#inFlight < maxConcurrency) {
      const messages = queue.receive(batchSize);
      if (messages.length === 0) break;
      void this.#handle(messages);
    }
    // At full concurrency the end of an invocation looks again.
    const nextAtMs = queue.nextChangeAtMs();
    if (this.#stopped || nextAtMs === undefined || this.#inFlight >= maxConcurrency) return;
    const delayMs = Math.min(Math.max(nextAtMs - clock.nowMs(), 1), timerMaxMs);
    this.#timer = setTimeout(() => {
      this.#look();
    }, delayMs);
  }

  async #handle(messages: ReturnType<MemoryQueue['receive']>): Promise<void> {
    const { name, queue, invoke, log } = this.#options;
    this.#inFlight += 1;
    try {
      const { batchItemFailures } = await invoke(toSqsEvent(name, messages));
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      for (const message of messages) if (!failed.has(message.messageId)) queue.deleteMessage(message.receiptHandle);
    } catch (error) {
      log.error('invocation failed', { queue: name, error });
    } finally {
      this.#inFlight -= 1;
      this.wake();
    }
  }
}
