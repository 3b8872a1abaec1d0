import { defined } from '../lib/base/defined.js';
import type { RunId } from '../lib/base/ids.js';
import { sweepIntervalMs, turnTimeoutMs, turnVisibilityMs } from '../lib/base/limits.js';
import type { EpochMs } from '../lib/base/time.js';
import type { EventBus } from '../lib/bus/event-bus.js';
import type { Deps } from '../lib/operations/deps.js';
import { fanOutDue } from '../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../lib/operations/sweep/handle-work.js';
import { runTurn } from '../lib/operations/turn/run-turn.js';
import { MemoryQueues } from '../lib/queue/memory-queues.js';
import type { TurnMessage, WorkMessage } from '../lib/queue/queue.js';
import type { RemoteTransports } from '../lib/remote/transport.js';
import type { PushSender } from '../lib/remote/push-sender.js';
import { RunStore } from '../lib/store/run-store.js';
import { dueShardOf } from '../lib/store/sharded-table.js';
import type { Table } from '../lib/store/table.js';
import { VirtualClock } from '../lib/testing/virtual-clock.js';
import type { AnyWorkflow } from '../lib/workflow/define-workflow.js';
import { benchDeps } from './deps.js';

export interface VirtualEngineOptions {
  readonly workflow: AnyWorkflow;
  readonly store: RunStore;
  /** The same table without a meter: sweeps serve all runs and are charged to none. */
  readonly unmetered: Table;
  readonly transports: RemoteTransports;
  /** Default: none. */
  readonly bus?: EventBus;
  /** Default: none. */
  readonly pushSender?: PushSender;
}

/**
 * The engine on a clock that skips idle time, so that hours of polling run in seconds. Handles one message at a time.
 */
export class VirtualEngine {
  readonly deps: Deps;
  turnInvocations = 0;
  pollInvocations = 0;
  readonly #clock = new VirtualClock(Date.UTC(2026, 0, 1));
  readonly #queues: MemoryQueues;
  readonly #sweepDeps: Deps;
  #nextSweepAtMs: EpochMs;

  constructor({ workflow, store, unmetered, transports, bus, pushSender }: VirtualEngineOptions) {
    const rules = { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 };
    this.#queues = new MemoryQueues({ turn: rules, work: rules, step: rules, clock: this.#clock });
    this.deps = {
      ...benchDeps(workflow),
      store,
      transports,
      ...defined({ bus, pushSender }),
      queues: this.#queues,
      clock: this.#clock,
      delay: (delayMs, signal) => this.#clock.delay(delayMs, signal),
    };
    this.#sweepDeps = { ...this.deps, store: new RunStore(unmetered) };
    this.#nextSweepAtMs = this.#clock.nowMs() + sweepIntervalMs;
  }

  pass(durationMs: number): void {
    this.#clock.moveTo(this.#clock.nowMs() + durationMs);
  }

  /** Handles every message that is visible now, and the messages that these cause. */
  async settleDown(): Promise<void> {
    for (;;) {
      const [turn] = this.#queues.turn.receive(1);
      const [work] = turn === undefined ? this.#queues.work.receive(1) : [];
      if (turn !== undefined) {
        this.turnInvocations += 1;
        await runTurn(this.deps, JSON.parse(turn.body) as TurnMessage, { remainingMs: () => turnTimeoutMs });
        this.#queues.turn.deleteMessage(turn.receiptHandle);
      } else if (work !== undefined) {
        this.pollInvocations += 1;
        await handleWork(this.deps, JSON.parse(work.body) as WorkMessage);
        this.#queues.work.deleteMessage(work.receiptHandle);
      } else {
        return;
      }
    }
  }

  /** Advances time until no message is left and nothing is due for the run, the only one of its table. */
  async runDry(runId: RunId): Promise<void> {
    for (;;) {
      await this.settleDown();
      const sweepAtMs = await this.#usefulSweepAtMs(runId);
      const nextAtMs = Math.min(sweepAtMs, this.#queues.nextChangeAtMs() ?? Infinity);
      if (nextAtMs === Infinity) return;
      this.#clock.moveTo(nextAtMs);
      if (nextAtMs !== sweepAtMs) continue;
      this.#nextSweepAtMs = sweepAtMs + sweepIntervalMs;
      await fanOutDue(this.#sweepDeps);
    }
  }

  /**
   * Returns the instant of the first sweep that finds something; earlier ones would only take time and change nothing.
   */
  async #usefulSweepAtMs(runId: RunId): Promise<EpochMs> {
    const { store } = this.#sweepDeps;
    const { rows } = await store.lists.due(dueShardOf(runId, store.dueShards), Number.MAX_SAFE_INTEGER, 1);
    const idleMs = Math.max(0, (rows[0]?.dueAtMs ?? Infinity) - sweepIntervalMs - this.#nextSweepAtMs);
    return this.#nextSweepAtMs + Math.ceil(idleMs / sweepIntervalMs) * sweepIntervalMs;
  }
}
