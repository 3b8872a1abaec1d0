import { expect, it } from 'vitest';
import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import { scriptedServer } from 'outwait/testing';
import { CountingTable } from '../../../bench/counting-table.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { EngineLoop } from '../../../lib/testing/engine-loop.js';
import { createTestDeps } from '../../../lib/testing/test-deps.js';

/** Returns what the engine does with its table and queues in eight minutes in which that many starts wait. */
async function whileWaiting(starts: number) {
  const flow = defineWorkflow<null>({
    name: 'flow',
    run: async (ctx) => {
      await ctx.callRemoteTask({ server: 'reports', tool: 'write' });
    },
  });
  const app = defineApp({
    workflows: [flow],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
  });
  const reports = scriptedServer({
    protocol: 'mcp',
    answersAtOnce: false,
    task: () => ({ answersAfter: { minutes: 9 }, result: 'written' }),
  });
  const parts = createTestDeps(() => app, { servers: { reports } });
  const table = new CountingTable(new MemoryTable());
  const deps = { ...parts.deps, store: new RunStore(table) };
  const { clock, queues } = parts;
  const loop = new EngineLoop({ ...parts, deps });
  for (let at = 0; at < starts; at++) await startRun(deps, { workflow: 'flow', input: null });
  await loop.runUntilQuiet(true);
  expect(reports.starts).toHaveLength(starts);

  table.take();
  const before = table.writes;
  const endMs = clock.nowMs() + 8 * 60_000;
  let instants = 0;
  for (let sweepAtMs = clock.nowMs() + 60_000; clock.nowMs() < endMs; instants++) {
    clock.moveTo(Math.min(sweepAtMs, await loop.nextAtMs()));
    if (clock.nowMs() === sweepAtMs) sweepAtMs += 60_000;
    await loop.runUntilQuiet(true);
  }
  const { reads, items } = table.take();
  expect(queues.start.size).toBe(starts);
  return { writes: table.writes - before, reads, items, instants, messages: queues.turn.size + queues.work.size };
}

it('F62 starts that wait for their server cost neither reads, writes, messages nor timers beyond the sweeps of an idle engine', async () => {
  const idle = await whileWaiting(0);

  expect(idle).toMatchObject({ writes: 0, items: 0, instants: 8, messages: 0 });
  expect(await whileWaiting(200)).toEqual(idle);
});
