import { randomUUID } from 'node:crypto';
import { startRun } from '../lib/operations/requests/start-run.js';
import { runTurn } from '../lib/operations/turn/run-turn.js';
import { MemoryQueues } from '../lib/queue/memory-queues.js';
import { turnTimeoutMs, turnVisibilityMs } from '../lib/base/limits.js';
import { RunStore } from '../lib/store/run-store.js';
import type { Table } from '../lib/store/table.js';
import type { Deps } from '../lib/operations/deps.js';
import { benchDeps } from './deps.js';
import { startLocalEngine } from './local-engine.js';
import { sequentialSteps } from './measure-replay.js';
import { scriptedRemote } from './remote.js';

/**
 * Measures the milliseconds per step of a turn that takes one run through `steps` empty steps, from its start to its
 * end.
 */
export async function msPerStep(table: Table, steps: number): Promise<number> {
  const deps = directDeps(table);
  const { runId } = await startRun(deps, { workflow: 'bench', input: steps });
  const startMs = performance.now();
  // The time is not limited: a turn that stops and continues in another would be measured with its queue.
  await runTurn(deps, { runId }, { remainingMs: () => turnTimeoutMs });
  const tookMs = performance.now() - startMs;
  await expectCompleted(deps, [runId]);
  return tookMs / steps;
}

/**
 * Measures the milliseconds per conditional put of an item as small as a commit: the minimum for a step on a store over
 * the network.
 */
export async function msPerPut(table: Table, puts: number): Promise<number> {
  const pk = `put#${randomUUID()}`;
  const events = 'x'.repeat(200);
  const startMs = performance.now();
  for (let put = 0; put < puts; put++) {
    await table.write({ kind: 'put', item: { pk, sk: String(put), events }, conditions: [{ kind: 'itemAbsent' }] });
  }
  return (performance.now() - startMs) / puts;
}

/**
 * Measures the runs per second when `runs` runs of `steps` steps start at once and run side by side in the local
 * engine.
 */
export async function runsPerSecond(table: Table, runs: number, steps: number): Promise<number> {
  const engine = startLocalEngine({ workflow: sequentialSteps, table, transports: scriptedRemote({}) });
  const startMs = performance.now();
  const started = await Promise.all(
    Array.from({ length: runs }, () => startRun(engine.deps, { workflow: 'bench', input: steps })),
  );
  await engine.idle();
  const tookMs = performance.now() - startMs;
  engine.stop();
  await expectCompleted(
    engine.deps,
    started.map(({ runId }) => runId),
  );
  return runs / (tookMs / 1_000);
}

function directDeps(table: Table): Deps {
  const rules = { visibilityMs: turnVisibilityMs, maxReceiveCount: 5 };
  const common = benchDeps(sequentialSteps);
  return {
    ...common,
    store: new RunStore(table),
    transports: scriptedRemote({}),
    queues: new MemoryQueues({ turn: rules, work: rules, step: rules, clock: common.clock }),
  };
}

async function expectCompleted(deps: Deps, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) {
    const status = (await deps.store.heads.read(runId))?.status;
    if (status !== 'completed') throw new Error(`a run is ${status ?? 'gone'}`);
  }
}
