import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../lib/base/caller.js';
import { startNamedRun } from '../../lib/operations/requests/start-named-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { findRuns } from '../../lib/operations/views/find-runs.js';
import { aFlow, anApp } from './support.js';

const flow = aFlow((ctx) => ctx.sleep({ days: 1 }));
const ofTenant = (tenant: string): Caller => ({ id: 'ada', tenant, roles: ['operate'] });

describe('runs that a person may mean (F45)', () => {
  it('are those of the own tenant', async () => {
    const { deps } = createTestApp(anApp(flow));
    const acme = { ...deps, caller: ofTenant('acme') };
    const other = { ...deps, caller: ofTenant('other') };
    const { runId } = await startNamedRun(acme, { workflow: 'flow', id: 'order-1' });
    const found = {
      runs: [{ runId, workflow: 'flow', status: 'running', createdAtMs: 1_767_225_600_000, id: 'order-1' }],
    };
    expect(await findRuns(acme, 'order-1')).toEqual(found);
    expect((await findRuns(acme, runId.slice(0, 8))).runs.map((run) => run.runId)).toEqual([runId]);
    expect(await findRuns(other, 'order-1')).toEqual({ runs: [] });
    expect(await findRuns(other, runId.slice(0, 8))).toEqual({ runs: [] });
  });

  it('are looked for among a bounded number of runs, and that is said', async () => {
    const { deps } = createTestApp(anApp(flow));
    for (let count = 0; count < 1_300; count++) await startRun(deps, { workflow: 'flow' });
    let reads = 0;
    const { lists } = deps.store;
    const runs = lists.runs.bind(lists);
    lists.runs = (...args) => {
      reads++;
      return runs(...args);
    };
    expect(await findRuns(deps, 'ffffffffffff')).toEqual({ runs: [], partlySearched: true });
    expect(reads).toBeLessThan(20);
  });
});
