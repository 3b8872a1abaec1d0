import { createHash } from 'node:crypto';
import type { SQSEvent } from 'aws-lambda';
import { pollHandler } from '../../lib/aws/poll-handler.js';
import { turnHandler, type QueueHandler } from '../../lib/aws/turn-handler.js';
import type { Random } from '../../lib/base/ids.js';
import { sweepIntervalMs, turnTimeoutMs } from '../../lib/base/limits.js';
import { silentLog } from '../../lib/base/log.js';
import type { EpochMs } from '../../lib/base/time.js';
import { drainMicrotasks } from '../../lib/process/drain.js';
import type { Deps } from '../../lib/operations/deps.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { WarmRuns } from '../../lib/operations/warm-runs.js';
import type { MemoryQueue, ReceivedMessage } from '../../lib/queue/memory-queue.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { Queues, TurnMessage } from '../../lib/queue/queue.js';
import { protectTransports } from '../../lib/remote/guard/protection.js';
import { loadServerLimiter } from '../../lib/remote/guard/server-guard.js';
import type { RemoteTransports } from '../../lib/remote/transport.js';
import { RunStore } from '../../lib/store/run-store.js';
import type { Table } from '../../lib/store/table.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { functions, queues as topology } from '../../lib/topology/topology.js';
import type { App } from '../../lib/workflow/app.js';
import { EventClock } from './event-clock.js';

/** Most messages of one request to SQS. */
const batchMax = 10;

export interface FleetOptions {
  readonly app: App;
  readonly table: Table;
  readonly dueShards?: number;
  /** The servers, on the clock of the fleet. */
  readonly transports: (clock: EventClock) => RemoteTransports;
  /** Handles a message of the turn queue in place of a turn: for waits that no run has. */
  readonly onTurn?: (message: TurnMessage, deps: Deps) => Promise<void>;
  /** Milliseconds by which the clock of a process is ahead, by its number. Default: none. */
  readonly skewMsOf?: (process: number) => number;
  /** Name of the message group of a poll, as the queues have it; `false` leaves it out. Default true. */
  readonly fair?: boolean;
}

/** Requests to SQS, and invocations, as they are charged. */
export interface FleetCounts {
  messages: number;
  sends: number;
  receives: number;
  deletes: number;
  pollInvocations: number;
  /** Time of all invocations that poll, together. */
  pollBusyMs: number;
  turnInvocations: number;
  sweeps: number;
}

/**
 * A deployment on a virtual clock: the handlers of the engine in as many processes as Lambda would have, with the batch
 * sizes, windows and limits of concurrency of the topology. Table and queues take no time, the servers do.
 */
export class Fleet {
  readonly clock = new EventClock(Date.UTC(2026, 0, 1));
  readonly queues: MemoryQueues;
  readonly counts: FleetCounts = {
    ...{ messages: 0, sends: 0, receives: 0, deletes: 0 },
    ...{ pollInvocations: 0, pollBusyMs: 0, turnInvocations: 0, sweeps: 0 },
  };
  /** The dependencies of whoever starts runs, and of the sweep. */
  readonly deps: Deps;
  readonly #options: FleetOptions;
  readonly #remote: RemoteTransports;
  readonly #sources: readonly Source[];
  #activity = 0;
  #processes = 0;
  #sweepAtMs: EpochMs;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#remote = options.transports(this.clock);
    this.queues = new MemoryQueues({
      ...topology,
      clock: this.clock,
      onChange: () => {
        this.#activity++;
      },
    });
    this.deps = this.newProcess();
    const { onTurn } = options;
    const polls = new Processes(() => pollHandler(this.#given()));
    const turns = new Processes(() => (onTurn === undefined ? turnHandler(this.#given()) : this.#turnTaker()));
    this.#sources = [new Source(this, 'work', polls), new Source(this, 'slow', polls), new Source(this, 'turn', turns)];
    this.#sweepAtMs = this.clock.nowMs() + sweepIntervalMs;
  }

  /** Loads what is loaded late: virtual time must not pass meanwhile. */
  async load(): Promise<void> {
    await Promise.all([loadServerLimiter(), this.deps.store.servers.limits()]);
  }

  noteActivity(): void {
    this.#activity++;
  }

  /** Creates the dependencies of a process, with memory of its own. */
  newProcess(): Deps {
    const { app, table, dueShards, skewMsOf } = this.#options;
    const number = this.#processes++;
    const skewMs = skewMsOf?.(number) ?? 0;
    const clock = { nowMs: () => this.clock.nowMs() + skewMs };
    const delay: Deps['delay'] = (delayMs, signal) => this.clock.delay(delayMs, signal);
    const random = seededRandom(number + 1);
    const store = new RunStore(table, dueShards === undefined ? {} : { dueShards });
    return {
      ...{ app, store, clock, delay, random, log: silentLog, drain: drainMicrotasks },
      queues: this.#sender(),
      transports: protectTransports(this.#remote, (name) => app.servers[name]?.limits, {
        ...{ states: store.servers, clock, random, delay, log: silentLog },
      }),
      tokens: new TokenKeys([{ keyId: 'bench', secret: new Uint8Array(32) }]),
      digest: (text) => createHash('sha256').update(text).digest('hex'),
      warmRuns: new WarmRuns(),
    };
  }

  /** Runs everything that is due until then. */
  async runUntil(untilMs: EpochMs): Promise<void> {
    for (;;) {
      await this.#settle();
      const nextAtMs = Math.min(
        this.#sweepAtMs,
        this.clock.nextAtMs(),
        ...this.#sources.map((source) => source.nextAtMs()),
      );
      if (nextAtMs > untilMs) break;
      this.clock.moveTo(nextAtMs);
      if (this.#sweepAtMs > nextAtMs) continue;
      this.#sweepAtMs += sweepIntervalMs;
      this.counts.sweeps++;
      void fanOutDue(this.deps).then(() => {
        this.noteActivity();
      });
    }
    this.clock.moveTo(untilMs);
    await this.#settle();
  }

  /** Lets everything happen that needs no time. */
  async #settle(): Promise<void> {
    let seen = -1;
    for (let quiet = 0; quiet < 2;) {
      for (const source of this.#sources) source.look();
      await new Promise(setImmediate);
      quiet = seen === this.#activity ? quiet + 1 : 0;
      seen = this.#activity;
    }
  }

  #given(): () => Deps {
    const deps = this.newProcess();
    return () => deps;
  }

  #turnTaker(): QueueHandler {
    const deps = this.newProcess();
    return async ({ Records }) => {
      for (const { body } of Records) await this.#options.onTurn?.(JSON.parse(body) as TurnMessage, deps);
      return { batchItemFailures: [] };
    };
  }

  /** Creates the sender of one process: messages of the same moment share requests of up to 10. */
  #sender(): Queues {
    const { queues, counts } = this;
    let waiting = 0;
    const send = async (sent: Promise<void>): Promise<void> => {
      counts.messages++;
      if (waiting++ === 0)
        setImmediate(() => {
          counts.sends += Math.ceil(waiting / batchMax);
          waiting = 0;
        });
      await sent;
    };
    const isFair = this.#options.fair ?? true;
    return {
      sendTurn: (message, dedupId) => queues.sendTurn(message, dedupId),
      sendWork: async (message, delayMs) =>
        send(
          isFair
            ? queues.sendWork(message, delayMs)
            : Promise.resolve(void queues.work.send({ body: JSON.stringify(message), delayMs })),
        ),
      sendStep: (message, delayMs) => queues.sendStep(message, delayMs),
      sendStart: (message, delayMs) => queues.sendStart(message, delayMs),
    };
  }
}

/** The processes of one function: a free one is used again, whichever queue the messages come from. */
class Processes {
  readonly #newHandler: () => QueueHandler;
  readonly #free: QueueHandler[] = [];

  constructor(newHandler: () => QueueHandler) {
    this.#newHandler = newHandler;
  }

  async use<Result>(work: (handler: QueueHandler) => Promise<Result>): Promise<Result> {
    const handler = this.#free.pop() ?? this.#newHandler();
    const result = await work(handler);
    this.#free.push(handler);
    return result;
  }
}

/** Receives from a queue as Lambda does, and invokes a process of its function. */
class Source {
  readonly #fleet: Fleet;
  readonly #name: 'work' | 'slow' | 'turn';
  readonly #queue: MemoryQueue;
  readonly #processes: Processes;
  #underWay = 0;
  /** When the messages that are gathered are handled. */
  #gatheredAtMs: EpochMs | undefined;
  /** Whether the last batch was full: the next one is not waited for. */
  #isBehind = false;

  constructor(fleet: Fleet, name: 'work' | 'slow' | 'turn', processes: Processes) {
    this.#fleet = fleet;
    this.#name = name;
    this.#queue = fleet.queues[name];
    this.#processes = processes;
  }

  /** Returns when a look may find something. */
  nextAtMs(): EpochMs {
    if (this.#isFull) return Infinity;
    return this.#gatheredAtMs ?? this.#queue.nextChangeAtMs() ?? Infinity;
  }

  look(): void {
    const nowMs = this.#fleet.clock.nowMs();
    const { batchSize, batchingWindowMs } = this.#settings;
    while (!this.#isFull && (this.#queue.nextChangeAtMs() ?? Infinity) <= nowMs) {
      this.#gatheredAtMs ??= nowMs + (this.#isBehind ? 0 : batchingWindowMs);
      if (this.#gatheredAtMs > nowMs) return;
      this.#gatheredAtMs = undefined;
      this.#receiveAll(batchSize);
    }
  }

  #receiveAll(batchSize: number): void {
    while (!this.#isFull) {
      const messages = this.#queue.receive(batchSize);
      this.#isBehind = messages.length === batchSize;
      if (messages.length === 0) return;
      void this.#invoke(messages);
    }
  }

  get #settings() {
    return topology[this.#name].eventSource;
  }

  get #isFull(): boolean {
    return this.#underWay >= this.#settings.maxConcurrency;
  }

  async #invoke(messages: readonly ReceivedMessage[]): Promise<void> {
    const { counts, clock } = this.#fleet;
    this.#underWay++;
    const startedAtMs = clock.nowMs();
    const timeoutMs = this.#name === 'turn' ? turnTimeoutMs : functions.poll.timeoutMs;
    const context = { getRemainingTimeInMillis: () => startedAtMs + timeoutMs - clock.nowMs() };
    const { batchItemFailures } = await this.#processes.use((handler) => handler(eventOf(messages), context));
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const done = messages.filter(({ messageId }) => !failed.has(messageId));
    for (const { receiptHandle } of done) this.#queue.deleteMessage(receiptHandle);
    if (this.#name === 'turn') counts.turnInvocations++;
    else {
      counts.pollInvocations++;
      counts.pollBusyMs += clock.nowMs() - startedAtMs;
      counts.receives += Math.ceil(messages.length / batchMax);
      counts.deletes += Math.ceil(done.length / batchMax);
    }
    this.#underWay--;
    this.#fleet.noteActivity();
  }
}

function eventOf(messages: readonly ReceivedMessage[]): SQSEvent {
  const Records = messages.map(({ messageId, body, receiptHandle, groupId }) => ({
    ...{ messageId, body, receiptHandle },
    attributes: { ApproximateReceiveCount: '1', ...(groupId === undefined ? {} : { MessageGroupId: groupId }) },
  }));
  return { Records } as unknown as SQSEvent;
}

/** Creates a mulberry32 generator, so that a figure is the same in each run. */
export function seededRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    fraction: () => next() / 2 ** 32,
    hex: (count) => Array.from({ length: count }, () => (next() & 0xff).toString(16).padStart(2, '0')).join(''),
  };
}
