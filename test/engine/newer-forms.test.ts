import { defineApp } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../lib/base/log.js';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { startNamedRun } from '../../lib/operations/requests/start-named-run.js';
import { tickSchedules } from '../../lib/operations/schedules/tick-schedules.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import { ServerStates } from '../../lib/store/parts/server-states.js';
import type { Item, Scalar } from '../../lib/store/table.js';
import { aFlow, anApp, started, WatchedServer, type Flow, type Started } from './support.js';

// Items that a newer version has written into a table that this version works on after a rollback.

const flow = aFlow(async (ctx) => {
  await ctx.step('make', () => 'made');
  const { result } = await ctx.callRemoteTask({ server: 'reports', tool: 'export' });
  return [result, await ctx.signal('go')];
});
const quick = aFlow(async (ctx) => ctx.step('quick', () => 'quick'));

interface Mixed extends Started {
  readonly table: MemoryTable;
  readonly warnings: string[];
  readonly item: (sk: string) => Promise<Item>;
  /** Writes as the newer version does, without conditions. */
  readonly put: (item: Item) => Promise<void>;
}

async function mixed(workflow: Flow = flow): Promise<Mixed> {
  const table = new MemoryTable();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
  const reports = new WatchedServer({ task: { after: { hours: 2 }, result: 'exported' } });
  const { app } = await started(workflow, { reports }, { log });
  // A rollback is a new process, without warm runs.
  Object.assign(app.deps, { store: new RunStore(new SealedTable(table)), warmRuns: undefined });
  const runId = await app.start(workflow, null);
  return {
    app,
    runId,
    table,
    warnings,
    item: async (sk) => (await table.get({ pk: `run#${runId}`, sk }))!,
    put: async (item) => {
      await table.write({ kind: 'put', item, conditions: [] });
    },
  };
}

const asNewer =
  (changes: Readonly<Record<string, Scalar>>) =>
  (item: Item): Item => ({ ...item, ...changes });

const forms: readonly [what: string, sk: string, newer: (item: Item) => Item][] = [
  ['a head of form 4', 'a', asNewer({ format: 4 })],
  ['a token of form 4', 't#2', asNewer({ format: 4 })],
  ['a signal of form 4', 'i#signal-2-go-k', asNewer({ format: 4 })],
  ['a request that is not known', 'i#signal-2-go-k', asNewer({ kind: 'migrate' })],
  ['a commit of history format 2', 'h#0000000002', asNewer({ events: '1j:{"format":2,"events":[]}' })],
  [
    'an event that is not known',
    'h#0000000002',
    asNewer({ events: '1j:{"format":1,"events":[{"type":"FromTheFuture"}]}' }),
  ],
  ['a payload of form 2', 't#2', asNewer({ handle: '2j:{}' })],
  ['a payload that is encrypted in form 4', 't#2', asNewer({ handle: '3e:k1:AAAA' })],
  ['a payload whose chunks are of form 2', 't#2', asNewer({ handle: `2b:${'0'.repeat(32)}:1:a` })],
];

describe('what a newer version has written', () => {
  it.each(forms)(
    '%s: the run is left alone, nothing of it is rewritten, others go on, and so does it with a version that knows it',
    async (_, sk, newer) => {
      const { app, runId, item, put, warnings } = await mixed();
      await app.settleDown();
      await signalRun(app.deps, runId, { name: 'go', payload: 'now', key: 'k' });
      const original = await item(sk);
      const changed = newer(original);
      await put(changed);
      const commitsBefore = (await app.deps.store.heads.read(runId).catch(() => undefined))?.dueSeq;
      await app.pass({ hours: 12 });

      if (sk === 'a') {
        expect(await item(sk)).toEqual(changed);
        expect(warnings).toContain('run skipped: it cannot be read');
      } else {
        const { dueShard: __, dueAtMs: ___, ...stands } = changed;
        expect(await item(sk)).toMatchObject(stands);
        expect((await app.deps.store.heads.read(runId))!.blocked).toMatchObject({ code: 'HISTORY_FORMAT_UNKNOWN' });
        expect((await app.deps.store.heads.read(runId))!.dueSeq).toBe(commitsBefore);
      }
      const other = await app.start(quick, null);
      app.deploy(anApp(quick));
      expect(await app.runToEnd(other)).toEqual({ status: 'completed', result: 'quick' });

      app.deploy(anApp(flow));
      const { dueShard, dueAtMs } = await item(sk);
      await put({ ...original, ...(dueShard === undefined || dueAtMs === undefined ? {} : { dueShard, dueAtMs }) });
      await app.pass({ hours: 2 });
      expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: ['exported', 'now'] });
    },
  );

  it('takes no settlement, signal or cancel of this version, and is not changed by one', async () => {
    const { app, runId, item, put } = await mixed();
    await app.settleDown();
    const [head, token] = [asNewer({ format: 4 })(await item('a')), asNewer({ format: 4 })(await item('t#2'))];
    await put(head);
    await put(token);
    const unknown = { code: 'HISTORY_FORMAT_UNKNOWN' };
    await expect(signalRun(app.deps, runId, { name: 'go', key: 'k' })).rejects.toMatchObject(unknown);
    await expect(app.cancel(runId)).rejects.toMatchObject(unknown);
    const settled = settleToken(app.deps, {
      token: app.deps.tokens.settleToken({ runId, waitId: '2' }),
      outcome: { kind: 'completed', result: 'x', isError: false },
    });
    await expect(settled).rejects.toMatchObject(unknown);
    expect([await item('a'), await item('t#2')]).toEqual([head, token]);
    expect(await item('i#signal-2-go-k')).toBeUndefined();
  });

  it('is not started anew where it is the run of an id', async () => {
    const { app, table, put } = await mixed();
    const request = { workflow: 'flow', id: 'mine' };
    await startNamedRun(app.deps, request);
    const key = { pk: `name#${app.deps.digest('flow\nmine')}`, sk: 'a' };
    const newer = asNewer({ format: 4 })((await table.get(key))!);
    await put(newer);
    await expect(startNamedRun(app.deps, request)).rejects.toMatchObject({ code: 'HISTORY_FORMAT_UNKNOWN' });
    expect(await table.get(key)).toEqual(newer);
  });

  it('of a schedule starts nothing and is kept, and other schedules go on', async () => {
    const table = new MemoryTable();
    const errors: unknown[] = [];
    const every = { every: { minutes: 10 }, workflow: quick, input: null, overlap: 'allow' } as const;
    const app = createTestApp(
      defineApp({
        workflows: [quick],
        schedules: [
          { name: 'newer', ...every },
          { name: 'other', ...every },
        ],
      }),
      { log: { ...silentLog, error: (event, fields) => void errors.push([event, fields?.['schedule']]) } },
    );
    Object.assign(app.deps, { store: new RunStore(new SealedTable(table)) });
    const newer: Item = { pk: 'schedule#newer', sk: 'a', revision: 7, tickAtMs: 1, format: 4 };
    await table.write({ kind: 'put', item: newer, conditions: [] });
    const sweeps = 35;
    for (let minute = 0; minute < sweeps; minute++) {
      await tickSchedules(app.deps);
      app.clock.moveTo(app.clock.nowMs() + 60_000);
    }
    expect(await table.get(newer)).toEqual(newer);
    const { runs } = await listRuns(app.deps, { limit: 100 });
    expect(runs.map(({ tags }) => tags?.['schedule'])).toEqual(['other', 'other', 'other', 'other']);
    expect(errors).toEqual(Array.from({ length: sweeps }, () => ['schedule failed', 'newer']));
  });

  it('of the state of a server counts for nothing and is kept', async () => {
    const table = new MemoryTable();
    const states = new ServerStates(new SealedTable(table));
    const newer: Item = { pk: 'server#reports', sk: 'a', failures: 9, openUntilMs: 9e12, format: 4 };
    await table.write({ kind: 'put', item: newer, conditions: [] });
    const unknown = { code: 'HISTORY_FORMAT_UNKNOWN' };
    const seen = { failures: 0, trips: 0 };
    await expect(states.read('reports')).rejects.toMatchObject(unknown);
    await expect(states.noteFailure('reports', { atMs: 1, streakMs: 1, seen })).rejects.toMatchObject(unknown);
    await expect(states.noteSuccess('reports')).rejects.toMatchObject(unknown);
    expect(await table.get(newer)).toEqual(newer);
  });
});

it('an item of form 1 may say so', async () => {
  const { app, runId, item, put } = await mixed();
  await app.settleDown();
  await put({ ...(await item('t#2')), format: 1 });
  await app.signal(runId, 'go', 'now');
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['exported', 'now'] });
});
