import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listRuns, type ListQuery } from '../../lib/operations/views/list-runs.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { aFlow, started } from './support.js';

const flow = aFlow(async (ctx) => ctx.signal('end'));

/** Creates runs of several statuses, several of them started in one millisecond. Returns them newest first. */
async function someRuns(kinds: readonly ('running' | 'completed' | 'terminated' | 'cancelled')[]) {
  const { app, runId: first } = await started(flow);
  const runs = [{ runId: first, createdAtMs: app.clock.nowMs(), team: '' }];
  for (const [at, kind] of kinds.entries()) {
    if (at % 2 === 0) app.clock.moveTo(app.clock.nowMs() + 1);
    const team = at % 3 === 0 ? 'blue' : 'red';
    const { runId } = await startRun(app.deps, { workflow: 'flow', tags: { team } });
    runs.push({ runId, createdAtMs: app.clock.nowMs(), team });
    if (kind === 'completed') await app.signal(runId, 'end');
    if (kind === 'terminated') await requestStop(app.deps, { runId, kind: 'terminate' });
    if (kind === 'cancelled') await app.cancel(runId);
  }
  await app.settleDown();
  runs.sort((a, b) => b.createdAtMs - a.createdAtMs || (a.runId < b.runId ? 1 : -1));
  return { app, runs };
}

describe('a list of runs', () => {
  it('over all statuses has the newest first, in pages of any size, each run once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('running', 'completed', 'terminated', 'cancelled'), { maxLength: 14 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 4 }),
        async (kinds, limit, isFiltered, rowsMax) => {
          const { app, runs } = await someRuns(kinds);
          // Pages of the index are smaller than requested, as they are if a filter drops most rows.
          const { store } = app.deps;
          const readPage = store.lists.runs.bind(store.lists);
          store.lists.runs = async (status, rows, before) => readPage(status, Math.min(rows, rowsMax), before);
          const query: ListQuery = { limit, ...(isFiltered ? { tags: { team: 'blue' } } : {}) };
          const listed: string[] = [];
          let cursor: string | undefined;
          do {
            const page = await listRuns(app.deps, { ...query, ...(cursor === undefined ? {} : { cursor }) });
            expect(page.runs.length).toBeLessThanOrEqual(limit);
            listed.push(...page.runs.map(({ runId }) => runId));
            ({ cursor } = page);
          } while (cursor !== undefined);
          const wanted = runs.filter(({ team }) => !isFiltered || team === 'blue');
          expect(listed).toEqual(wanted.map(({ runId }) => runId));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('has no cursor when nothing is left, also when the last page is full', async () => {
    const { app } = await someRuns(['running', 'completed', 'cancelled']);
    expect(await listRuns(app.deps, { limit: 4 })).not.toHaveProperty('cursor');
    expect(await listRuns(app.deps, { limit: 3 })).toHaveProperty('cursor');
  });
});
