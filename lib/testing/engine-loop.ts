import { setImmediate as eventLoop } from 'node:timers/promises';
import { stepFunctionTimeoutMs, sweepIntervalMs, turnTimeoutMs } from '../base/limits.js';
import type { EpochMs } from '../base/time.js';
import type { Deps } from '../operations/deps.js';
import { makeRemoteStart } from '../operations/remote-task/make-remote-start.js';
import { isScheduleWaiting, tickSchedules } from '../operations/schedules/tick-schedules.js';
import { runLongStep } from '../operations/steps/run-long-step.js';
import { fanOutDue } from '../operations/sweep/fan-out-due.js';
import { handleWork } from '../operations/sweep/handle-work.js';
import { runTurn } from '../operations/turn/run-turn.js';
import type { ReceivedMessage } from '../queue/memory-queue.js';
import type { MemoryQueues } from '../queue/memory-queues.js';
import { oneTurnFor } from '../queue/one-turn.js';
import { loadServerLimiter } from '../remote/guard/server-guard.js';
import type { StartMessage, StepMessage, TurnMessage, WorkMessage } from '../queue/queue.js';
import type { Changes } from './changes.js';
import type { TestDeps } from './test-deps.js';
import type { VirtualClock } from './virtual-clock.js';

/** Does what Lambda and the schedule do for the engine: passes each message to its handler, and sweeps. */
export class EngineLoop {
  readonly #deps: Deps;
  readonly #clock: VirtualClock;
  readonly #queues: MemoryQueues;
  readonly #changes: Changes;
  readonly #ticks: boolean;
  #lastSweepAtMs: EpochMs;
  /** Running attempts of long steps. */
  readonly #attempts = new Map<Promise<void>, StepMessage>();
  /** Unanswered starts of workers; time passes meanwhile. */
  readonly #starts = new Set<Promise<void>>();

  /** `ticks`: whether schedules start runs. */
  constructor({ deps, clock, queues, changes }: TestDeps, { ticks = false }: { readonly ticks?: boolean } = {}) {
    this.#deps = deps;
    this.#clock = clock;
    this.#queues = queues;
    this.#changes = changes;
    this.#ticks = ticks;
    this.#lastSweepAtMs = clock.nowMs();
  }

  /**
   * Handles every message that is visible now, and those that result from it. `waitForSteps`: also waits until the
   * attempts of long steps, which run for real, have ended.
   */
  async runUntilQuiet(waitForSteps: boolean): Promise<void> {
    try {
      await this.#handleAll(waitForSteps);
    } finally {
      await this.#deps.spans?.flush();
    }
  }

  async #handleAll(waitForSteps: boolean): Promise<void> {
    // Loads what calls of limited servers need: virtual time must not pass meanwhile.
    await Promise.all([loadServerLimiter(), this.#deps.store.servers.limits()]);
    for (;;) {
      if (this.#clock.nowMs() - this.#lastSweepAtMs >= sweepIntervalMs) {
        this.#lastSweepAtMs = this.#clock.nowMs();
        await fanOutDue(this.#deps);
        if (this.#ticks) await tickSchedules(this.#deps);
      }
      // Lets the real work of steps proceed, and allows a test that loops for ever to be aborted.
      await eventLoop();
      const change = this.#changes.next();
      const turns = this.#queues.turn.receive(10);
      const work = this.#queues.work.receive(10);
      const steps = this.#queues.step.receive(10);
      const starts = this.#queues.start.receive(10);
      for (const message of steps) this.#beginStep(message);
      for (const message of starts) this.#beginStart(message);
      if (turns.length + work.length + steps.length + starts.length === 0) {
        if (await this.#startsGoOn(change)) continue;
        if (this.#attempts.size === 0 || !waitForSteps) return;
        if (await this.#isUnwantedUnderWay()) this.#clock.moveTo(this.#clock.nextDelayAtMs() ?? 0);
        else await Promise.race([change, ...this.#attempts.keys()]);
        continue;
      }
      await Promise.all([
        ...[...byRun(turns).values()].map((messages) => this.#takeTurn(messages)),
        ...work.map((message) => this.#doWork(message)),
      ]);
    }
  }

  async #takeTurn(messages: readonly ReceivedMessage[]): Promise<void> {
    const endsAtMs = this.#clock.nowMs() + turnTimeoutMs;
    const message = oneTurnFor(messages.map(({ body }) => JSON.parse(body) as TurnMessage));
    if (message !== undefined)
      await runTurn(this.#deps, message, { remainingMs: () => endsAtMs - this.#clock.nowMs() });
    for (const { receiptHandle } of messages) this.#queues.turn.deleteMessage(receiptHandle);
  }

  async #doWork({ body, receiptHandle }: ReceivedMessage): Promise<void> {
    await handleWork(this.#deps, JSON.parse(body) as WorkMessage);
    this.#queues.work.deleteMessage(receiptHandle);
  }

  /** Begins an attempt without waiting for it: a cancel must reach a running step. */
  #beginStep({ body, receiptHandle }: ReceivedMessage): void {
    const message = JSON.parse(body) as StepMessage;
    const endsAtMs = this.#clock.nowMs() + stepFunctionTimeoutMs;
    const attempt = runLongStep(this.#deps, message, { remainingMs: () => endsAtMs - this.#clock.nowMs() }).then(() => {
      this.#queues.step.deleteMessage(receiptHandle);
    });
    const ended = attempt.finally(() => {
      this.#attempts.delete(ended);
    });
    this.#attempts.set(ended, message);
  }

  /** Begins a start of a worker without waiting for it: while the worker waits for its server, time passes. */
  #beginStart({ body, receiptHandle }: ReceivedMessage): void {
    const endsAtMs = this.#clock.nowMs() + stepFunctionTimeoutMs;
    const limits = { remainingMs: () => endsAtMs - this.#clock.nowMs() };
    const start = makeRemoteStart(this.#deps, JSON.parse(body) as StartMessage, limits).then(() => {
      this.#queues.start.deleteMessage(receiptHandle);
    });
    const ended = start.finally(() => {
      this.#starts.delete(ended);
    });
    this.#starts.add(ended);
  }

  /** Lets workers do what they can without time passing. Returns true if a queue has changed. */
  async #startsGoOn(change: Promise<void>): Promise<boolean> {
    if (this.#starts.size === 0) return false;
    let isNew = false;
    const noted = (): void => {
      isNew = true;
    };
    change.then(noted, noted);
    for (let round = 0; round < 10; round++) await eventLoop();
    return isNew;
  }

  async #isUnwantedUnderWay(): Promise<boolean> {
    for (const { runId, waitId } of this.#attempts.values())
      if ((await this.#deps.store.tokens.read(runId, waitId))?.settlement !== undefined) return true;
    return false;
  }

  /** Returns the next instant at which something is due. */
  async nextAtMs(): Promise<EpochMs> {
    return Math.min(
      await this.#nextSweepAtMs(),
      this.#queues.nextChangeAtMs() ?? Infinity,
      this.#clock.nextDelayAtMs() ?? Infinity,
    );
  }

  /** Returns the next sweep that finds something. A sweep finds what is due within the next interval. */
  async #nextSweepAtMs(): Promise<EpochMs> {
    const schedules = this.#ticks ? this.#deps.app.schedules : [];
    const waiting = await Promise.all(schedules.map((schedule) => isScheduleWaiting(this.#deps, schedule)));
    if (waiting.some(Boolean)) return this.#lastSweepAtMs + sweepIntervalMs;
    const dueShards = await this.#deps.store.lists.readDueShards();
    const pages = await Promise.all(
      Array.from({ length: dueShards }, (_, shard) => this.#deps.store.lists.due(shard, Number.MAX_SAFE_INTEGER, 1)),
    );
    const ticks = await Promise.all(schedules.map((schedule) => schedule.nextAfterMs(this.#lastSweepAtMs)));
    const earliestDueAtMs = Math.min(
      ...pages.flatMap((page) => page.rows.map((row) => row.dueAtMs)),
      ...ticks.map((atMs) => atMs ?? Infinity),
    );
    const nextAtMs = this.#lastSweepAtMs + sweepIntervalMs;
    const idleMs = Math.max(0, earliestDueAtMs - sweepIntervalMs - nextAtMs);
    return nextAtMs + Math.floor(idleMs / sweepIntervalMs) * sweepIntervalMs;
  }
}

/** Groups messages by run: those of one run that are received together need only one turn. */
function byRun(messages: readonly ReceivedMessage[]): Map<string | undefined, ReceivedMessage[]> {
  const runs = new Map<string | undefined, ReceivedMessage[]>();
  for (const message of messages) runs.set(message.groupId, [...(runs.get(message.groupId) ?? []), message]);
  return runs;
}
