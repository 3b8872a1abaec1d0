import { setImmediate as eventLoop } from 'node:timers/promises';
import { EngineError } from '../../lib/base/errors.js';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs } from '../../lib/base/limits.js';
import type { Deps } from '../../lib/operations/deps.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../lib/operations/sweep/handle-work.js';
import { makeRemoteStart } from '../../lib/operations/remote-task/make-remote-start.js';
import { runLongStep } from '../../lib/operations/steps/run-long-step.js';
import { loadRareParts } from '../../lib/operations/turn/load-rare-parts.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { oneTurnFor } from '../../lib/queue/one-turn.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { ReceivedMessage } from '../../lib/queue/memory-queue.js';
import type { StartMessage, StepMessage, TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import { startMs, type Started } from './support.js';
import { storeProxy } from '../support/store-proxy.js';

// Loads lazy modules first: loading takes real time, in which the virtual clock would move on.
await loadRareParts();

/** A call of the store, by the name of its method, as in `tokens.put`. */
export interface StoreCall {
  readonly method: string;
  readonly args: readonly unknown[];
  /** Seconds since the start of the test. */
  readonly atS: number;
}

/** Returns `deps` with a store that refuses the calls that `refuses` selects, as a throttled store does. */
export function throttled(deps: Deps, refuses: (call: StoreCall) => boolean): Deps {
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown =>
        refuses({ method: name, args, atS: (deps.clock.nowMs() - startMs) / 1_000 })
          ? Promise.reject(new EngineError('STORE_UNAVAILABLE', 'throttled'))
          : Reflect.apply(value, target, args);
    },
  });
  return { ...deps, store };
}

/** Returns the types of the events that a call of `commit`, or of a commit with an end, would write. */
export function eventsOf({ method, args }: StoreCall): readonly string[] {
  if (!method.startsWith('log.commit')) return [];
  return (args[1] as { events: readonly { type: string }[] }).events.map(({ type }) => type);
}

/**
 * Runs everything as Lambda and SQS would: functions with their timeouts, redelivered messages with their receive
 * counts, and a sweep each minute. The clock advances when there is nothing left to do.
 */
export class Host {
  readonly #run: Started;
  readonly #deps: Deps;
  readonly #queues: MemoryQueues;
  #lastSweepAtMs: number;
  #underWay = 0;
  turns = 0;

  constructor(run: Started, deps: Deps) {
    this.#run = run;
    this.#deps = deps;
    const { queues } = run.app.deps;
    if (!(queues instanceof MemoryQueues)) throw new TypeError('the host needs the queues of a test app');
    this.#queues = queues;
    this.#lastSweepAtMs = run.app.clock.nowMs();
  }

  /** Runs until the run has ended, or until that many seconds after the start of the test. */
  async toEnd(untilS = 3_600): Promise<Started> {
    const { app, runId } = this.#run;
    for (;;) {
      this.#receive();
      for (let round = 0; round < 10; round++) await eventLoop();
      if (this.#underWay === 0 && (await app.show(runId)).endedAtMs !== undefined) return this.#run;
      const nowMs = app.clock.nowMs();
      const instants = [
        app.clock.nextDelayAtMs(),
        this.#queues.nextChangeAtMs(),
        this.#lastSweepAtMs + sweepIntervalMs,
      ];
      const nextAtMs = Math.min(...instants.filter((atMs) => atMs !== undefined && atMs > nowMs).map(Number));
      if (instants.some((atMs) => atMs !== undefined && atMs <= nowMs) && this.#receive() > 0) continue;
      if (nextAtMs > startMs + untilS * 1_000) return this.#run;
      app.clock.moveTo(nextAtMs);
      if (nextAtMs < this.#lastSweepAtMs + sweepIntervalMs) continue;
      this.#lastSweepAtMs = nextAtMs;
      await fanOutDue(app.deps);
    }
  }

  #receive(): number {
    const { turn, work, step, start } = this.#queues;
    const turns = turn.receive(10);
    const others = [
      ...work.receive(10).map((message) => {
        this.#handle(work, [message], () => handleWork(this.#deps, JSON.parse(message.body) as WorkMessage));
      }),
      ...step.receive(10).map((message) => {
        this.#handle(step, [message], () => this.#step(message));
      }),
      ...start.receive(10).map((message) => {
        this.#handle(start, [message], () => this.#start(message));
      }),
    ];
    // All turns are of one run.
    if (turns.length > 0) this.#handle(turn, turns, () => this.#turn(turns));
    return turns.length + others.length;
  }

  async #turn(messages: readonly ReceivedMessage[]): Promise<void> {
    this.turns++;
    const message = oneTurnFor(messages.map(({ body }) => JSON.parse(body) as TurnMessage));
    if (message === undefined) return;
    const deliveryCount = Math.max(...messages.map(({ receiveCount }) => receiveCount));
    await runTurn(this.#deps, message, { remainingMs: this.#timer(turnTimeoutMs), deliveryCount });
  }

  async #step({ body }: ReceivedMessage): Promise<void> {
    await runLongStep(this.#deps, JSON.parse(body) as StepMessage, { remainingMs: this.#timer(stepFunctionTimeoutMs) });
  }

  async #start({ body }: ReceivedMessage): Promise<void> {
    const limits = { remainingMs: this.#timer(stepFunctionTimeoutMs) };
    await makeRemoteStart(this.#deps, JSON.parse(body) as StartMessage, limits);
  }

  #timer(timeoutMs: number): () => number {
    const { clock } = this.#run.app;
    const endsAtMs = clock.nowMs() + timeoutMs;
    return () => endsAtMs - clock.nowMs();
  }

  #handle(
    queue: { deleteMessage(receiptHandle: string): unknown },
    messages: readonly ReceivedMessage[],
    work: () => Promise<unknown>,
  ): void {
    this.#underWay++;
    work()
      .then(
        () => {
          for (const { receiptHandle } of messages) queue.deleteMessage(receiptHandle);
        },
        () => undefined,
      )
      .finally(() => {
        this.#underWay--;
      });
  }
}
