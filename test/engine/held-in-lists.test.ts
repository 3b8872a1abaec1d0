import { describe, expect, it } from 'vitest';
import type { Caller } from '../../lib/base/caller.js';
import { formatList } from '../../lib/cli/format.js';
import { requestControl } from '../../lib/operations/requests/control-run.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { listRuns, type ListQuery } from '../../lib/operations/views/list-runs.js';
import { aFlow, anApp, started, startMs } from './support.js';

const minute = 60_000;
const hour = 60 * minute;
const good = aFlow(async (ctx) => {
  await ctx.step('prepare', () => 1);
  await ctx.signal('go');
});
const bad = aFlow(async (ctx) => ctx.step('renamed', () => 1));

describe('the list of runs (F32)', () => {
  const ids = async (deps: Parameters<typeof listRuns>[0], status?: ListQuery['status']) =>
    (await listRuns(deps, { limit: 20, ...(status === undefined ? {} : { status }) })).runs.map(({ runId }) => runId);

  it('shows a blocked run until it goes on', async () => {
    const { app, runId } = await started(good);
    await app.settleDown();
    expect((await listRuns(app.deps, { limit: 20 })).runs[0]).not.toHaveProperty('blocked');
    app.deploy(anApp(bad));
    await requestControl(app.deps, runId, 'retryNow');
    await app.settleDown();
    const { runs } = await listRuns(app.deps, { limit: 20 });
    expect(runs).toEqual([{ runId, workflow: 'flow', status: 'running', createdAtMs: startMs, blocked: true }]);
    expect(formatList({ runs })).toMatch(/^\S{32} {2}flow +blocked +2026/m);
    expect(await ids(app.deps, 'blocked')).toEqual([runId]);
    expect(await ids(app.deps, 'running')).toEqual([runId]);
    expect(await ids(app.deps, 'paused')).toEqual([]);
    app.deploy(anApp(good));
    await requestControl(app.deps, runId, 'retryNow');
    await app.settleDown();
    expect(await ids(app.deps, 'blocked')).toEqual([]);
    expect((await listRuns(app.deps, { limit: 20 })).runs[0]).not.toHaveProperty('blocked');
  });

  it('shows no block of a run that has ended', async () => {
    const { app, runId } = await started(good);
    await app.settleDown();
    app.deploy(anApp(bad));
    await requestControl(app.deps, runId, 'retryNow');
    await app.settleDown();
    await requestStop(app.deps, { runId, kind: 'terminate' });
    await app.settleDown();
    expect(await ids(app.deps, 'blocked')).toEqual([]);
    expect((await listRuns(app.deps, { limit: 20 })).runs).toMatchObject([{ runId, status: 'terminated' }]);
    expect((await listRuns(app.deps, { limit: 20 })).runs[0]).not.toHaveProperty('blocked');
  });

  it('shows a paused run until it is resumed, or the pause is over', async () => {
    const { app, runId } = await started(good);
    await app.settleDown();
    const pause = async (): Promise<void> => {
      await requestControl(app.deps, runId, 'pause');
      await app.settleDown();
    };
    await pause();
    expect((await listRuns(app.deps, { limit: 20 })).runs).toMatchObject([
      { runId, status: 'running', pausedUntilMs: startMs + 24 * hour },
    ]);
    expect(await ids(app.deps, 'paused')).toEqual([runId]);
    await requestControl(app.deps, runId, 'resume');
    await app.settleDown();
    expect(await ids(app.deps, 'paused')).toEqual([]);
    await pause();
    await app.pass({ hours: 25 });
    expect(await ids(app.deps, 'paused')).toEqual([]);
  });

  it('shows a delayed run until its start', async () => {
    const { app } = await started(good);
    const { runId } = await startRun(app.deps, { workflow: 'flow', delayMs: hour });
    await app.settleDown();
    expect((await listRuns(app.deps, { limit: 20, status: 'delayed' })).runs).toMatchObject([
      { runId, status: 'running', startAtMs: startMs + hour },
    ]);
    await app.pass({ hours: 2 });
    expect(await ids(app.deps, 'delayed')).toEqual([]);
    expect(await ids(app.deps)).toHaveLength(2);
  });

  it('keeps tenant, owner and place', async () => {
    const caller: Caller = { id: 'ada#1', tenant: 'acme', roles: ['operate'] };
    const { app } = await started(good);
    const deps = { ...app.deps, caller };
    const { runId } = await startRun(deps, { workflow: 'flow', delayMs: hour });
    const { runId: later } = await startRun(deps, { workflow: 'flow' });
    expect((await listRuns(deps, { limit: 20 })).runs).toHaveLength(2);
    const first = await listRuns(deps, { limit: 1 });
    const second = await listRuns(deps, { limit: 1, cursor: first.cursor! });
    const runs = [...first.runs, ...second.runs];
    expect(new Set(runs.map((run) => run.runId))).toEqual(new Set([runId, later]));
    expect(runs).toMatchObject([
      { owner: 'ada#1', tenant: 'acme' },
      { owner: 'ada#1', tenant: 'acme' },
    ]);
  });
});
