import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import { EngineError } from '../base/errors.js';
import { utf8Bytes } from '../base/json.js';
import { busAnswerTimeoutMs } from '../base/limits.js';
import type { Clock, EpochMs } from '../base/time.js';
import type { LifecycleEvent } from '../history/lifecycle-event.js';
import { type EventBus, eventSource } from './event-bus.js';

/** Limits of one request to EventBridge. The byte limit has been 256 KiB for long; it may be higher now. */
const putEventsMaxEntries = 10;
const putEventsMaxBytes = 256 * 1024;
/** Attempts for entries that a request left out; a later turn publishes what is still missing. */
const busRounds = 3;
const busRoundBackoffMs = 100;
/** How long a process does not use the bus after a failure; otherwise each of its turns would wait for it. */
const busRestMs = 30_000;

export interface EventBridgeBusOptions {
  readonly client: EventBridgeClient;
  /** Name or ARN. */
  readonly bus: string;
  readonly clock: Clock;
  readonly delay: (delayMs: number) => Promise<void>;
  /** Longest wait until all entries of a request are taken, retries included; default 8,000. */
  readonly answerTimeoutMs?: number;
}

/**
 * Puts events on an EventBridge bus, in sequential requests of up to 10 entries. If a request is taken in part, only
 * the rest is retried. After a failure the bus is not used for half a minute, so that not every turn waits for it.
 * Throws EngineError `INTERNAL`.
 */
export class EventBridgeBus implements EventBus {
  readonly #options: EventBridgeBusOptions;
  #restsUntilMs: EpochMs = 0;

  constructor(options: EventBridgeBusOptions) {
    this.#options = options;
  }

  async publish(events: readonly LifecycleEvent[], hasTime = (): boolean => true): Promise<void> {
    const { clock } = this.#options;
    if (clock.nowMs() < this.#restsUntilMs) throw notTaken('it has just failed');
    for (const request of requestsOf(events.map((event) => this.#toEntry(event)))) {
      if (!hasTime()) throw notTaken('no time is left');
      try {
        await this.#put(request);
      } catch (error) {
        this.#restsUntilMs = clock.nowMs() + busRestMs;
        throw error;
      }
    }
  }

  #toEntry(event: LifecycleEvent): PutEventsRequestEntry {
    return {
      EventBusName: this.#options.bus,
      Source: eventSource,
      DetailType: event.type,
      Detail: JSON.stringify(event),
      Time: new Date(event.atMs),
      Resources: [],
    };
  }

  async #put(entries: readonly PutEventsRequestEntry[]): Promise<void> {
    // The timeouts of the client end with the first byte of an answer; the rest might never come.
    const signal = AbortSignal.timeout(this.#options.answerTimeoutMs ?? busAnswerTimeoutMs);
    let left = entries;
    for (let round = 1; ; round++) {
      const results = await this.#send(left, signal);
      const reasons = left.flatMap((_, at) => (results[at]?.EventId === undefined ? [results[at]?.ErrorCode] : []));
      left = left.filter((_, at) => results[at]?.EventId === undefined);
      if (left.length === 0) return;
      if (round === busRounds) throw notTaken(reasons[0] ?? 'no answer');
      await this.#options.delay(busRoundBackoffMs * round);
    }
  }

  async #send(
    entries: readonly PutEventsRequestEntry[],
    abortSignal: AbortSignal,
  ): Promise<readonly PutEventsResultEntry[]> {
    try {
      const command = new PutEventsCommand({ Entries: [...entries] });
      const { Entries = [] } = await this.#options.client.send(command, { abortSignal });
      return Entries;
    } catch (error) {
      if (abortSignal.aborted) throw notTaken('TimeoutError', error);
      throw notTaken(error instanceof Error ? error.name : 'unknown', error);
    }
  }
}

function notTaken(reason: string, cause?: unknown): EngineError {
  return new EngineError('INTERNAL', `the bus did not take an event (${reason})`, cause === undefined ? {} : { cause });
}

/** Splits entries into requests within the limits of EventBridge. */
function requestsOf(entries: readonly PutEventsRequestEntry[]): PutEventsRequestEntry[][] {
  const requests: PutEventsRequestEntry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = bytesOf(entry);
    const last = requests.at(-1);
    if (last !== undefined && last.length < putEventsMaxEntries && bytes + size <= putEventsMaxBytes) {
      last.push(entry);
      bytes += size;
    } else {
      requests.push([entry]);
      bytes = size;
    }
  }
  return requests;
}

/** Size of an entry as EventBridge counts it; 14 for the time. */
function bytesOf({ Source = '', DetailType = '', Detail = '' }: PutEventsRequestEntry): number {
  return 14 + utf8Bytes(Source) + utf8Bytes(DetailType) + utf8Bytes(Detail);
}
