import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import type { Deps } from '../../../lib/operations/deps.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { newHead } from '../../../lib/operations/requests/new-head.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { WarmRuns } from '../../../lib/operations/warm-runs.js';
import { createCipher } from '../../../lib/store/cipher.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { namedKeyring } from '../../../lib/store/payload-keyring.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import { aFlow, anApp, startMs, WatchedServer } from '../../engine/support.js';

// The timeout of a run that cannot continue.

const minuteMs = 60_000;
const limits = { remainingMs: () => 60_000 };
const timedOut = { status: 'failed', error: { code: 'RUN_TIMED_OUT' } };

test('run deadline: ends a blocked run within a minute, however seldom it is looked at', async () => {
  const app = createTestApp(anApp(aFlow(async (ctx) => ctx.step('a', () => 1).then(() => ctx.sleep({ days: 1 })))));
  const { runId } = await startRun(app.deps, { workflow: 'flow', key: 'k', timeoutMs: 90 * minuteMs });
  await app.pass({ minutes: 5 });
  app.deploy(anApp(aFlow(async (ctx) => ctx.step('b', () => 1))));
  await signalRun(app.deps, runId, { name: 'n' });
  await app.pass({ minutes: 80 });
  expect((await app.show(runId)).blocked).toMatchObject({ code: 'NONDETERMINISM' });
  await app.pass({ minutes: 6 });
  expect(await app.show(runId)).toMatchObject({ status: 'failed', outcome: timedOut });
  expect(await app.show(runId)).not.toHaveProperty('blocked');
});

/** Creates a run with a timeout whose payloads another deployment cannot read. */
async function unreadable() {
  const under = (keyId: string) =>
    createCipher(namedKeyring([{ keyId, secret: new Uint8Array(32).fill(keyId.length) }]));
  const table = new MemoryTable();
  const { deps } = createTestApp(
    anApp(aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { days: 1 } }))),
    { servers: { reports: new WatchedServer() } },
  );
  const time = { nowMs: startMs };
  const withKey = (keyId: string): Deps => ({
    ...deps,
    store: new RunStore(new SealedTable(table, under(keyId))),
    warmRuns: new WarmRuns({ runs: 0 }),
    clock: { nowMs: () => time.nowMs },
  });
  const [good, other] = [withKey('one'), withKey('other')];
  const runId = 'd'.repeat(32);
  const head = await newHead(good, { workflow: 'flow', input: 'secret', runId, timeoutMs: 90 * minuteMs });
  await good.store.heads.create(head, 'w');
  await runTurn(good, { runId }, limits);
  await signalRun(good, runId, { name: 'n', payload: 'secret' });
  return { other, runId, time };
}

test('run deadline: ends a run of which nothing can be read but its keys', async () => {
  const { other, runId, time } = await unreadable();
  time.nowMs = startMs + 90 * minuteMs - 1;
  await runTurn(other, { runId }, limits);
  expect((await other.store.heads.glance(runId))?.status).toBe('running');
  time.nowMs = startMs + 90 * minuteMs;
  await runTurn(other, { runId }, limits);
  expect((await other.store.heads.glance(runId))?.status).toBe('failed');
  const records = await other.store.runs.readWhatCanBe(runId);
  expect(records?.commits.flatMap(({ events }) => events)).toMatchObject([
    { type: 'RunEnding', outcome: timedOut },
    { type: 'RunEnded', status: 'failed' },
  ]);
  expect(records?.tokens.map(({ settlement }) => settlement?.by)).toEqual(['end']);
});

test('run deadline: a process that dies after it has ended an unreadable run is made up for', async () => {
  const { other, runId, time } = await unreadable();
  time.nowMs = startMs + 90 * minuteMs;
  const { store } = other;
  const commitEnd = store.log.commitEnd.bind(store.log);
  store.log.commitEnd = async () => Promise.reject(new Error('dead'));
  await runTurn(other, { runId }, limits).catch(() => undefined);
  expect((await store.heads.glance(runId))?.status).toBe('ending');
  store.log.commitEnd = commitEnd;
  await runTurn(other, { runId }, limits);
  expect((await store.heads.glance(runId))?.status).toBe('failed');
});
