import { queues as topology } from '../lib/topology/topology.js';
import { turnTimeoutMs, turnVisibilityMs } from '../lib/base/limits.js';
import type { Deps } from '../lib/operations/deps.js';
import { runTurn } from '../lib/operations/turn/run-turn.js';
import { settleToken } from '../lib/operations/requests/settle-token.js';
import { startRun } from '../lib/operations/requests/start-run.js';
import { WarmRuns } from '../lib/operations/warm-runs.js';
import { MemoryQueues } from '../lib/queue/memory-queues.js';
import { oneTurnFor } from '../lib/queue/one-turn.js';
import type { TurnMessage } from '../lib/queue/queue.js';
import { RunStore } from '../lib/store/run-store.js';
import type { Table } from '../lib/store/table.js';
import { defineWorkflow, type AnyWorkflow } from '../lib/workflow/define-workflow.js';
import { CountingTable, type Reading } from './counting-table.js';
import { benchDeps } from './deps.js';
import { sequentialSteps } from './measure-replay.js';
import { scriptedRemote } from './remote.js';

/** Cost of a part of a run. */
export interface LargeRunCost extends Reading {
  readonly writes: number;
  readonly turns: number;
  readonly ms: number;
}

/** Whether the process keeps its runs warm between turns. */
export type Memory = 'warm' | 'cold';

const parallelWaits: AnyWorkflow = defineWorkflow<number, number>({
  name: 'bench',
  run: async (ctx, waits) => {
    const calls = Array.from({ length: waits }, () => ctx.callRemoteTask({ server: 'reports', tool: 'start_export' }));
    return (await Promise.all(calls)).length;
  },
});

/** Takes as many steps as make a history of `events`, then awaits two tokens, one after the other. */
const stepsAndTokens: AnyWorkflow = defineWorkflow<number, number>({
  name: 'bench',
  run: async (ctx, events) => {
    for (let step = 1; step < events / 2; step++) await ctx.step('step', () => step);
    for (const name of ['first', 'second']) await (await ctx.externalToken({ name })).outcome;
    return events;
  },
});

/**
 * Measures `steps` sequential steps, from the start to the end of their run; a turn has time for `stepsPerTurn` of
 * them.
 */
export async function costOfSteps(table: Table, steps: number, stepsPerTurn: number): Promise<LargeRunCost> {
  const driver = new Driver(table, sequentialSteps, 'warm');
  return driver.measured(async () => {
    await driver.start(steps);
    await driver.runDry(stepsPerTurn);
    await driver.expectCompleted();
  });
}

/**
 * Measures `waits` remote tasks that were started side by side, from the first settlement to the end of their run. They
 * are settled one by one, each after the turn of the one before, or all at once.
 */
export async function costOfWaits(
  table: Table,
  waits: number,
  options: { readonly settled: 'oneByOne' | 'together'; readonly memory: Memory },
): Promise<LargeRunCost> {
  const driver = new Driver(table, parallelWaits, options.memory);
  await driver.start(waits);
  await driver.runDry();
  return driver.measured(async () => {
    for (let wait = 1; wait <= waits; wait++) {
      await driver.settle(String(wait));
      if (options.settled === 'oneByOne') await driver.runDry();
    }
    await driver.runDry();
    await driver.expectCompleted();
  });
}

/** Measures the turn that takes a settlement into a run of `events` events which then continues to wait. */
export async function costOfResuming(table: Table, events: number, memory: Memory): Promise<LargeRunCost> {
  const driver = new Driver(table, stepsAndTokens, memory);
  await driver.start(events);
  await driver.runDry();
  await driver.settle(String(Math.ceil(events / 2)));
  return driver.measured(() => driver.runDry());
}

/** A process with a single run: runs its turns one after the other, as the queue delivers their messages. */
class Driver {
  readonly #table: CountingTable;
  readonly #queues: MemoryQueues;
  readonly #deps: Deps;
  #runId = '';
  #turns = 0;

  constructor(table: Table, workflow: AnyWorkflow, memory: Memory) {
    const common = benchDeps(workflow);
    const rules = { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 };
    this.#table = new CountingTable(table);
    this.#queues = new MemoryQueues({ turn: rules, work: rules, step: rules, clock: common.clock });
    this.#deps = {
      ...common,
      store: new RunStore(this.#table),
      transports: scriptedRemote({}),
      queues: this.#queues,
      ...(memory === 'warm' ? { warmRuns: new WarmRuns() } : {}),
    };
  }

  async start(input: number): Promise<void> {
    this.#runId = (await startRun(this.#deps, { workflow: 'bench', input })).runId;
  }

  async settle(waitId: string): Promise<void> {
    const token = this.#deps.tokens.settleToken({ runId: this.#runId, waitId });
    await settleToken(this.#deps, { token, outcome: { kind: 'completed', result: { rows: 412 }, isError: false } });
  }

  /** Handles all messages. Polls and timers do not become due while this runs. */
  async runDry(stepsPerTurn = Infinity): Promise<void> {
    for (;;) {
      const received = this.#queues.turn.receive(topology.turn.eventSource.batchSize);
      const message = oneTurnFor(received.map(({ body }) => JSON.parse(body) as TurnMessage));
      if (message === undefined) return;
      this.#turns += 1;
      // A turn checks the remaining time before each step.
      let asked = 0;
      await runTurn(this.#deps, message, { remainingMs: () => (asked++ < stepsPerTurn ? turnTimeoutMs : 0) });
      for (const { receiptHandle } of received) this.#queues.turn.deleteMessage(receiptHandle);
    }
  }

  async measured(work: () => Promise<void>): Promise<LargeRunCost> {
    const [turns, writes] = [this.#turns, this.#table.writes];
    this.#table.take();
    const startMs = performance.now();
    await work();
    const ms = performance.now() - startMs;
    return { ...this.#table.take(), writes: this.#table.writes - writes, turns: this.#turns - turns, ms };
  }

  async expectCompleted(): Promise<void> {
    const status = (await this.#deps.store.heads.read(this.#runId))?.status;
    if (status !== 'completed') throw new Error(`the run is ${status ?? 'gone'}`);
  }
}
