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
  /** Concurrent invocations. */
  readonly maxConcurrency: number;
  readonly invoke: (event: SQSEvent) => Promise<SQSBatchResponse>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Longest timer: setTimeout takes at most 2^31 - 1 ms, and a needless check per hour costs nothing. */
const timerMaxMs = 3_600_000;

/**
 * Feeds a handler from a queue like Lambda's event source mapping: batches, partial failures, concurrent invocations.
 * Failed messages, or the whole batch if the handler throws, stay hidden until their visibility timeout ends. Invokes
 * as soon as there is a message: Lambda's batching window saves money, which does not matter here.
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

  /** Schedules a check for available messages. Cheap; returns before anything is received. */
  wake(): void {
    if (this.#lookIsDue || this.#stopped) return;
    this.#lookIsDue = true;
    setImmediate(() => {
      this.#lookIsDue = false;
      this.#look();
    });
  }

  /** Stops receiving; invocations in flight continue. */
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
    // At full concurrency the end of an invocation triggers the next check.
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
