import type { RunId } from '../lib/base/ids.js';
import type { EventBus } from '../lib/bus/event-bus.js';
import type { LifecycleEvent } from '../lib/history/lifecycle-event.js';
import { settleToken } from '../lib/operations/requests/settle-token.js';
import { startRun } from '../lib/operations/requests/start-run.js';
import { RunStore } from '../lib/store/run-store.js';
import { defineWorkflow, type AnyWorkflow } from '../lib/workflow/define-workflow.js';
import { type Capacity, CapacityMeter } from './capacity.js';
import { scriptedRemote } from './remote.js';
import type { Database } from './stores.js';
import { VirtualEngine } from './virtual-engine.js';

export interface RunCost extends Capacity {
  readonly turnInvocations: number;
  /** Receives from the queue that carries polls; on AWS a batch of up to 40 of them is one invocation. */
  readonly pollMessages: number;
  readonly remoteReads: number;
  /** Lifecycle events, and the number of requests that published them. */
  readonly busEvents: number;
  readonly busRequests: number;
}

const beforeFirstPollMs = 4_500;

/** Returns a workflow of `steps` steps, the last of them after one remote wait. */
function stepsAndWait(steps: number): AnyWorkflow {
  return defineWorkflow({
    name: 'bench',
    run: async (ctx) => {
      let sum = 0;
      for (let step = 1; step < steps; step++) sum += await ctx.step(`step-${step}`, () => step);
      const outcome = await ctx.callRemoteTask({
        server: 'reports',
        tool: 'start_export',
        arguments: { month: '2026-10' },
      });
      return ctx.step('last', () => ({ sum, result: outcome.result }));
    },
  });
}

/**
 * Counts the cost of one run from its start until none of its work is left: `steps` sequential steps, one remote wait.
 * Without polls the holder of the token settles it before the first poll; otherwise poll number `polls` finds the task
 * ended.
 */
export async function costOfRun(
  database: Database,
  run: { readonly steps: number; readonly polls: number; readonly hasBus?: boolean },
): Promise<RunCost> {
  const { table, tableName, client } = await database.openTable();
  const { table: unmetered } = await database.openTable(tableName);
  const meter = new CapacityMeter(client);
  const remote = scriptedRemote(run.polls === 0 ? {} : { endsAtRead: run.polls });
  const published: (readonly LifecycleEvent[])[] = [];
  const bus: EventBus = { publish: async (events) => void published.push(events) };
  const engine = new VirtualEngine({
    workflow: stepsAndWait(run.steps),
    store: meter.name(new RunStore(table)),
    unmetered,
    transports: remote,
    ...(run.hasBus === true ? { bus } : {}),
  });
  const { runId } = await startRun(engine.deps, { workflow: 'bench' });
  await engine.settleDown();
  if (run.polls === 0) await settle(engine, runId, String(run.steps));
  await engine.runDry(runId);
  const cost = meter.take();
  const head = await engine.deps.store.heads.read(runId);
  if (head?.status !== 'completed') throw new Error(`the run is ${head?.status ?? 'gone'}`);
  return {
    ...cost,
    turnInvocations: engine.turnInvocations,
    pollMessages: engine.pollInvocations,
    remoteReads: remote.reads,
    busEvents: published.flat().length,
    busRequests: published.length,
  };
}

async function settle(engine: VirtualEngine, runId: RunId, waitId: string): Promise<void> {
  engine.pass(beforeFirstPollMs);
  const token = engine.deps.tokens.settleToken({ runId, waitId });
  const outcome = { kind: 'completed', result: { rows: 412 }, isError: false } as const;
  await settleToken(engine.deps, { token, outcome });
}
