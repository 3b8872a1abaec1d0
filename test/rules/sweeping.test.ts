import { expect, test } from 'vitest';
import { fanOutDue } from '../../lib/operations/fan-out-due.js';
import type { Queues } from '../../lib/queue/queue.js';
import { MemoryTable } from '../../lib/store/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import type { IndexQuery } from '../../lib/store/table.js';
import { aFlow, started, startMs } from '../engine/support.js';

// The sweep turns what is due into messages: all of it, each to its queue, and each run once.

/** A table whose pages are short, as those of DynamoDB are when items are large. */
class ShortPages extends MemoryTable {
  override async queryIndex(query: IndexQuery) {
    return super.queryIndex({ ...query, limit: Math.min(query.limit, 2) });
  }
}

/** A run whose markers are in shard 3. */
const runOf = (number: number): string => (3 + 16 * number).toString(16).padStart(4, '0').padEnd(32, 'a');
const head = (runId: string, dueAtMs: number) => ({
  ...({ runId, workflow: 'flow', version: '1', status: 'running', seed: 's', createdAtMs: 1 } as const),
  ...{ inboxCount: 0, dueSeq: 0, blocks: 0, dueAtMs },
});

async function sweeping() {
  const { app } = await started(aFlow(async () => 'done'));
  const store = new RunStore(new ShortPages());
  const sent: string[] = [];
  const queues: Queues = {
    sendTurn: async ({ runId }, dedupId) => void sent.push(`turn ${runId.slice(0, 4)} ${dedupId}`),
    sendWork: async (message, delayMs) =>
      void sent.push(`${message.kind} ${message.runId.slice(0, 4)} in ${delayMs / 1000}`),
    sendStep: async ({ runId, dueAtMs }, delayMs) =>
      void sent.push(`step ${runId.slice(0, 4)} at ${(dueAtMs - startMs) / 1000} in ${delayMs / 1000}`),
  };
  const deps = { ...app.deps, store, queues };
  return { store, deps, sent, sweep: () => fanOutDue(deps) };
}

test('sweep reads further pages: what is beyond the first one is woken too', async () => {
  const { store, sent, sweep } = await sweeping();
  for (let number = 0; number < 7; number++) await store.createRun(head(runOf(number), startMs - number), 'w');
  expect(await sweep()).toMatchObject({ wakes: 7, oldestDueAgeMs: 6 });
  expect(new Set(sent).size).toBe(7);
});
