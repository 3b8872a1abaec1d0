import type { WorkflowContext } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import type { HistoryEvent, RunOutcome } from '../../lib/history/event.js';
import type { Deps } from '../../lib/operations/deps.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { WarmRuns } from '../../lib/operations/warm-runs.js';
import type { News } from '../../lib/queue/queue.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { CountingTable, type Reading } from '../../bench/counting-table.js';
import { anApp, type Flow } from './support.js';

/**
 * Two processes with their own memories on one table, and the turns that a test has them run. There is no queue: a test
 * decides which process runs a turn, and for what.
 */
export class TwoProcesses {
  readonly table = new CountingTable(new MemoryTable());
  readonly a: Deps;
  readonly b: Deps;
  readonly #ids = new Map<string, string>();

  constructor(flow: Flow, warmRuns = new WarmRuns()) {
    const deps = { ...createTestApp(anApp(flow)).deps, store: new RunStore(this.table) };
    this.a = { ...deps, warmRuns };
    this.b = { ...deps, warmRuns: new WarmRuns() };
  }

  async start(key = 'run', deps = this.a): Promise<string> {
    const { runId } = await startRun(deps, { workflow: 'flow', key });
    this.#ids.set(key, runId);
    await this.turn(deps, undefined, key);
    return runId;
  }

  /** Runs a turn, and returns what it read. */
  async turn(deps: Deps, news?: News, key = 'run', leftMs = turnTimeoutMs): Promise<Reading> {
    this.table.take();
    const message = { runId: this.#id(key), ...(news === undefined ? {} : { news: [news] }) };
    await runTurn(deps, message, { remainingMs: () => leftMs });
    return this.table.take();
  }

  async settle(waitId: string, result: string, key = 'run'): Promise<void> {
    const token = this.a.tokens.settleToken({ runId: this.#id(key), waitId });
    await settleToken(this.a, { token, outcome: { kind: 'completed', result, isError: false } });
  }

  async signal(payload: string): Promise<string> {
    await signalRun(this.a, this.#id('run'), { name: 'go', payload, key: payload });
    return `signal-2-go-${payload}`;
  }

  async log(key = 'run'): Promise<readonly HistoryEvent[]> {
    const records = await this.a.store.runs.read(this.#id(key));
    return (records?.commits ?? []).flatMap(({ events }) => events);
  }

  async outcome(key = 'run'): Promise<RunOutcome | undefined> {
    return (await this.log(key)).find((event) => event.type === 'RunEnding')?.outcome;
  }

  #id(key: string): string {
    return this.#ids.get(key) ?? '';
  }
}

/** Waits until a token with that name is settled. */
export async function answerTo(ctx: WorkflowContext, name: string): Promise<unknown> {
  const { outcome } = await ctx.externalToken({ name });
  return (await outcome).result;
}
