import { expect, test } from 'vitest';
import type { RunHead } from '../../../lib/history/records.js';
import type { RunOutcome } from '../../../lib/history/event.js';
import { tenantCountKey } from '../../../lib/store/items/keys.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';

// The count of the live runs of a tenant changes with the head of a run and with its terminal commit, or not at all.

const runId = '00'.repeat(16);
const other = '10'.repeat(16);
const head: RunHead = {
  ...{ runId, workflow: 'flow', version: '1', status: 'running', seed: 's', createdAtMs: 1, inboxCount: 0, dueSeq: 0 },
  ...{ blocks: 0, dueAtMs: 1, owner: 'ann', tenant: 'acme', counted: true },
};

class Scene {
  readonly table = new MemoryTable();
  readonly store = new RunStore(this.table);

  async live(): Promise<unknown> {
    return (await this.table.get(tenantCountKey('acme', 'live')))?.['live'];
  }

  async end(seq: number, writerId: string, outcome: RunOutcome = { status: 'completed' }): Promise<boolean> {
    const commit = { seq, writerId, events: [] };
    const seen = { status: 'running', inboxCount: 0 } as const;
    return this.store.log.commitEnd(head, commit, { outcome, endedAtMs: 2, seen });
  }
}

test('a run is counted once with its head, however often its start is repeated', async () => {
  const scene = new Scene();
  const { store } = scene;
  expect(await store.heads.createWith(head, 'w1', { liveMax: 2 })).toMatchObject({ created: true });
  expect(await store.heads.createWith(head, 'w1', { liveMax: 2 })).toMatchObject({ created: true });
  expect(await store.heads.createWith(head, 'w2', { liveMax: 2 })).toMatchObject({ created: false, head: { runId } });
  expect(await scene.live()).toBe(1);
});

test('no run is put beside as many live ones as there may be, and one that is there is found', async () => {
  const scene = new Scene();
  const { store } = scene;
  await store.heads.createWith(head, 'w1', { liveMax: 1 });
  const second = { ...head, runId: other };
  expect(await store.heads.createWith(second, 'w2', { liveMax: 1 })).toEqual({ created: false, head: undefined });
  expect(await store.names.createRun(second, 'w2', { nameKey: 'n', generation: 0, liveMax: 1 })).toBe('full');
  expect(await store.heads.read(other)).toBeUndefined();
  expect(await store.names.read('n')).toBeUndefined();
  expect(await store.heads.createWith(head, 'w3', { liveMax: 1 })).toMatchObject({ created: false, head: { runId } });
  expect(await scene.live()).toBe(1);
});

test('the count ends once with the terminal commit, however often that is repeated', async () => {
  const scene = new Scene();
  await scene.store.heads.createWith(head, 'w1', { liveMax: 1 });
  expect([await scene.end(1, 'e1'), await scene.end(1, 'e1'), await scene.end(1, 'e2')]).toEqual([true, true, false]);
  expect(await scene.live()).toBe(0);
});

test('a run that goes on as another one is counted in the place of that one', async () => {
  const scene = new Scene();
  await scene.store.heads.createWith(head, 'w1', { liveMax: 1 });
  expect(await scene.end(1, 'e1', { status: 'continued', nextRunId: other })).toBe(true);
  expect(await scene.live()).toBe(1);
});

test('a run that is not counted changes no count', async () => {
  const { table, store } = new Scene();
  const { counted: _counted, ...plain } = head;
  await store.heads.create(plain, 'w1');
  const seen = { status: 'running', inboxCount: 0 } as const;
  const outcome: RunOutcome = { status: 'completed' };
  expect(
    await store.log.commitEnd(plain, { seq: 1, writerId: 'e1', events: [] }, { outcome, endedAtMs: 2, seen }),
  ).toBe(true);
  expect(await table.get(tenantCountKey('acme', 'live'))).toBeUndefined();
});

test('a head that is counted has a format that a version without counts does not read', async () => {
  const { table, store } = new Scene();
  await store.heads.createWith(head, 'w1', {});
  expect((await table.get({ pk: `run#${runId}`, sk: 'a' }))?.['format']).toBe(3);
});
