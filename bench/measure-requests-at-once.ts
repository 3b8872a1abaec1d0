import { setImmediate as eventLoop } from 'node:timers/promises';
import { createTestApp } from '../lib/testing/test-app.js';
import { runTurn } from '../lib/operations/turn/run-turn.js';
import { newHead } from '../lib/operations/requests/new-head.js';
import { signalRun } from '../lib/operations/requests/signal-run.js';
import type { Deps } from '../lib/operations/deps.js';
import { WarmRuns } from '../lib/operations/warm-runs.js';
import { MemoryTable } from '../lib/store/memory/memory-table.js';
import { RunStore } from '../lib/store/run-store.js';
import { SealedTable } from '../lib/store/sealed-table.js';
import { defineApp } from '../lib/workflow/app.js';
import { defineWorkflow } from '../lib/workflow/define-workflow.js';
import { ConflictingTable } from './conflicting-table.js';
import { CountingTable } from './counting-table.js';
import { figure, type Figure } from './figure.js';
import { percentile } from './statistics.js';

const runId = 'a'.repeat(32);
const untilSignal = defineWorkflow({ name: 'untilSignal', run: async (ctx) => ctx.signal('last') });

export interface AtOnce {
  readonly accepted: number;
  readonly refused: number;
  /** Writes that were sent, including those that conflicted with another transaction. */
  readonly attempts: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Milliseconds until all signals were taken in and the run had ended. */
  readonly endedAfterMs: number;
  readonly takenIn: number;
}

/**
 * Sends `count` signals to one run at the same instant, while its turns take them in; one more signal ends it. Time is
 * virtual.
 */
export async function signalsAtOnce(count: number): Promise<AtOnce> {
  const app = createTestApp(defineApp({ workflows: [untilSignal] }));
  const { clock } = app;
  const { random } = app.deps;
  const table = new ConflictingTable(new MemoryTable(), { random, delay: (delayMs) => clock.delay(delayMs) });
  const deps: Deps = { ...app.deps, store: new RunStore(new SealedTable(table)), warmRuns: new WarmRuns() };
  const startMs = clock.nowMs();
  const work = (async () => {
    await deps.store.heads.create(await newHead(deps, { workflow: 'untilSignal', runId }), 'w');
    await turn(deps);
    const sinceMs = clock.nowMs();
    const before = table.attempts;
    const sent = Array.from({ length: count }, async (_, n) => {
      const isAccepted = await signalRun(deps, runId, { name: 'other', key: String(n) }).then(
        ({ accepted }) => accepted,
        () => undefined,
      );
      return { isAccepted, tookMs: clock.nowMs() - sinceMs };
    });
    let isSent = false;
    const answers = Promise.all(sent).finally(() => (isSent = true));
    const areComing = (): boolean => !isSent;
    while (areComing()) await turn(deps);
    await signalRun(deps, runId, { name: 'last' });
    await turn(deps);
    const endedAfterMs = clock.nowMs() - sinceMs;
    const all = await answers;
    const took = all.map(({ tookMs }) => tookMs);
    return {
      accepted: all.filter(({ isAccepted }) => isAccepted === true).length,
      refused: all.filter(({ isAccepted }) => isAccepted === undefined).length,
      attempts: table.attempts - before,
      p50Ms: percentile(took, 0.5),
      p99Ms: percentile(took, 0.99),
      endedAfterMs,
      takenIn: (await deps.store.inbox.readAll(runId)).length - 1,
    };
  })();
  let isDone = false;
  void work.finally(() => (isDone = true)).catch(() => undefined);
  const isWorking = (): boolean => !isDone;
  while (isWorking()) {
    for (let round = 0; round < 3; round++) await eventLoop();
    const nextAtMs = clock.nextDelayAtMs();
    if (isWorking() && nextAtMs !== undefined) clock.moveTo(nextAtMs);
    if (clock.nowMs() - startMs > 600_000) throw new Error('the signals have not been answered');
  }
  return work;

  async function turn(of: Deps): Promise<void> {
    const endsAtMs = clock.nowMs() + 60_000;
    await runTurn(of, { runId }, { remainingMs: () => endsAtMs - clock.nowMs() }).catch(() => clock.delay(1_000));
  }
}

/** Counts the reads of the wakes that are left after a run has ended, per wake. */
export async function wakesLeftOver(count: number): Promise<{ readonly reads: number; readonly items: number }> {
  const app = createTestApp(defineApp({ workflows: [untilSignal] }));
  const table = new CountingTable(new MemoryTable());
  const deps: Deps = { ...app.deps, store: new RunStore(new SealedTable(table)), warmRuns: new WarmRuns() };
  await deps.store.heads.create(await newHead(deps, { workflow: 'untilSignal', runId }), 'w');
  for (let n = 0; n < count; n++) await signalRun(deps, runId, { name: n === 0 ? 'last' : 'other', key: String(n) });
  const limits = { remainingMs: () => 60_000 };
  await runTurn(deps, { runId }, limits);
  table.take();
  for (let n = 0; n < count; n++) await runTurn(deps, { runId, news: [{ inboxId: `signal-5-other-${n}` }] }, limits);
  const { reads, items } = table.take();
  return { reads: reads / count, items: items / count };
}

export async function requestsAtOnceFigures(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const count of [1, 10, 100, 200, 1_000]) {
    const { accepted, attempts, p50Ms, p99Ms } = await signalsAtOnce(count);
    const name = `signalsAtOnce.${count}`;
    figures.push(
      figure(`${name}.accepted`, accepted, 'signals', count <= 200 ? { atLeast: count } : undefined),
      figure(`${name}.writes`, attempts, 'requests'),
      figure(`${name}.p50`, p50Ms, 'ms'),
      figure(`${name}.p99`, p99Ms, 'ms'),
    );
  }
  const { reads, items } = await wakesLeftOver(1_000);
  figures.push(
    figure('wakesLeftOver.reads', reads, 'requests', { atMost: 1 }),
    figure('wakesLeftOver.items', items, 'items', { atMost: 1 }),
  );
  return figures;
}
