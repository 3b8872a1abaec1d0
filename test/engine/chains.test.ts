import { defineApp, defineWorkflow, hasCode } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { awaitOutcome } from '../../lib/operations/views/await-outcome.js';
import { chainOf } from '../../lib/operations/chain.js';
import { explainRun } from '../../lib/operations/views/explain-run.js';
import { followRun } from '../../lib/operations/views/follow-run.js';
import { externalWaitsOf } from '../../lib/operations/views/list-external-waits.js';
import { queryRun } from '../../lib/operations/views/query-run.js';
import { readHistory } from '../../lib/operations/views/read-history.js';
import { showRun } from '../../lib/operations/views/show-run.js';
import { findNamedRun, startNamedRun, type NamedStartRequest } from '../../lib/operations/requests/start-named-run.js';
import { startOrSignal } from '../../lib/operations/requests/start-run.js';
import { headItem } from '../../lib/store/items/head.js';

/** Continues with each signal "next", up to `last` times, and then waits for the signal to end. */
const entity = defineWorkflow<{ round: number; last: number }>({
  name: 'entity',
  run: async (ctx, { round, last }) => {
    ctx.onQuery('round', () => round);
    if (round < last) {
      await ctx.signal('next');
      return ctx.continueAsNew({ round: round + 1, last });
    }
    const { promise } = await ctx.promise({ name: 'approval' });
    return [round, await Promise.race([ctx.signal('end'), promise])];
  },
});

const input = { round: 1, last: 3 };

function newApp() {
  const app = createTestApp(defineApp({ workflows: [entity] }));
  const start = (more: Partial<NamedStartRequest> = {}) =>
    startNamedRun(app.deps, { workflow: 'entity', id: 'e1', input, ...more });
  return { app, start };
}

/** Continues the chain of a run twice; returns the ids of its three runs. */
async function goneOn(app: TestApp, runId: string): Promise<readonly [string, string, string]> {
  await app.signal(runId, 'next');
  await app.settleDown();
  await app.signal(runId, 'next');
  await app.settleDown();
  const { nextRunId: second = '' } = await app.show(runId);
  const { nextRunId: third = '' } = await app.show(second);
  return [runId, second, third];
}

/** Returns the runs of an app that have begun and have not ended. */
async function underWay(app: TestApp, runIds: readonly string[]): Promise<readonly string[]> {
  const begun = await Promise.all(
    runIds.map(async (runId) => {
      const records = await app.deps.store.runs.read(runId);
      const isOpen = records?.head.status === 'running' || records?.head.status === 'ending';
      return isOpen && records.commits.length > 0;
    }),
  );
  return runIds.filter((_, at) => begun[at]);
}

describe('F11 an id whose run has gone on as others', () => {
  it('finds the last of them, and starts no second one beside it', async () => {
    const { app, start } = newApp();
    const { runId } = await start();
    const [, , third] = await goneOn(app, runId);
    expect(await start()).toEqual({ runId: third, deduplicated: true });
    expect(await findNamedRun(app.deps, 'entity', 'e1')).toBe(third);
  });

  it('is refused with the last of them where the policy says fail', async () => {
    const { app, start } = newApp();
    const { runId } = await start();
    const [, , third] = await goneOn(app, runId);
    await expect(start({ whenRunning: 'fail' })).rejects.toMatchObject({
      code: 'RUN_EXISTS',
      details: { runId: third, status: 'running' },
    });
  });

  it.each(['startNew', 'useExisting', 'fail'] as const)(
    'follows the policy "%s" once the last has ended',
    async (whenEnded) => {
      const { app, start } = newApp();
      const { runId } = await start();
      const [, , third] = await goneOn(app, runId);
      await app.signal(runId, 'end', 'over');
      expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [3, 'over'] });
      const again = start({ whenEnded, whenRunning: 'fail' });
      if (whenEnded === 'fail')
        await expect(again).rejects.toMatchObject({ details: { runId: third, status: 'completed' } });
      else if (whenEnded === 'useExisting') expect(await again).toEqual({ runId: third, deduplicated: true });
      else expect(await again).toMatchObject({ deduplicated: false });
    },
  );

  it('counts as under way while the head of the next run is still to come', async () => {
    const { app, start } = newApp();
    const { runId } = await start();
    await app.settleDown();
    const { store } = app.deps;
    const createRun = store.heads.create.bind(store.heads);
    store.heads.create = async () => Promise.reject(new Error('died'));
    await app.signal(runId, 'next');
    await app.settleDown().catch(() => undefined);
    store.heads.create = createRun;
    expect((await app.show(runId)).status).toBe('continued');
    await expect(start({ whenRunning: 'fail' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
    expect(await start()).toEqual({ runId, deduplicated: true });
  });

  it('with "terminate" ends the last of them before the new one begins', async () => {
    const { app, start } = newApp();
    const ids = await goneOn(app, (await start()).runId);
    const { runId } = await start({ whenRunning: 'terminate' });
    await app.pass({ minutes: 1 });
    expect((await app.show(ids[2])).status).toBe('terminated');
    expect(await underWay(app, [...ids, runId])).toEqual([runId]);
  });

  it('costs few reads however long the chain has become', async () => {
    const { app } = newApp();
    const long = { round: 1, last: 60 };
    const { runId } = await startNamedRun(app.deps, { workflow: 'entity', id: 'long', input: long });
    for (let round = 1; round < 60; round++) {
      await app.signal((await chainOf(app.deps, runId))?.head.runId ?? '', 'next');
      await app.settleDown();
    }
    const { store } = app.deps;
    let reads = 0;
    const readHead = store.heads.read.bind(store.heads);
    store.heads.read = async (id) => {
      reads++;
      return readHead(id);
    };
    const last = await findNamedRun(app.deps, 'entity', 'long');
    expect((await app.show(last)).input).toEqual({ round: 60, last: 60 });
    expect(reads).toBeLessThanOrEqual(17);
  });
});

describe('F12 a start with a signal', () => {
  it('reaches the run that the run of its key has gone on as', async () => {
    const { app } = newApp();
    const request = (name: string) =>
      startOrSignal(app.deps, { workflow: 'entity', key: 'k', input, signal: { name, payload: name, key: name } });
    const { runId } = await request('next');
    await app.settleDown();
    await app.signal(runId, 'next');
    await app.settleDown();
    expect(await request('end')).toEqual({ runId, deduplicated: true });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [3, 'end'] });
  });

  it('is told that the whole chain has ended', async () => {
    const { app } = newApp();
    const request = (name: string) =>
      startOrSignal(app.deps, { workflow: 'entity', key: 'k', input, signal: { name } });
    const { runId } = await request('next');
    await app.settleDown();
    await app.signal(runId, 'next');
    await app.signal(runId, 'end');
    await app.runToEnd(runId);
    await expect(request('end')).rejects.toMatchObject({ code: 'RUN_ENDED' });
  });
});

describe('F13 a start that replaces the run of its id', () => {
  /** Replaces a run whose turn never comes, so that its terminate is not taken in and it stays open. */
  async function replaced() {
    const { app, start } = newApp();
    const old = await start();
    await app.settleDown();
    const wakes = app.deps.queues.sendTurn.bind(app.deps.queues);
    let isHeld = true;
    app.deps.queues.sendTurn = async (message, dedupId) => {
      if (!isHeld || message.runId !== old.runId) await wakes(message, dedupId);
    };
    const next = await start({ whenRunning: 'terminate' });
    const letGo = async (): Promise<void> => {
      isHeld = false;
      await app.signal(old.runId, 'nothing');
    };
    return { app, start, old: old.runId, next: next.runId, letGo };
  }

  it('is there at once, and rests until that has ended', async () => {
    const { app, start, old, next, letGo } = await replaced();
    await app.pass({ seconds: 20 });
    expect(await underWay(app, [old, next])).toEqual([old]);
    expect(await start()).toEqual({ runId: next, deduplicated: true });
    expect(await findNamedRun(app.deps, 'entity', 'e1')).toBe(next);
    await letGo();
    await app.pass({ seconds: 41 });
    expect(await underWay(app, [old, next])).toEqual([next]);
    expect((await app.show(old)).outcome).toMatchObject({ status: 'terminated' });
  });

  it('says what it waits for, until it begins', async () => {
    const { app, old, next, letGo } = await replaced();
    await app.settleDown();
    expect(await showRun(app.deps, next)).toMatchObject({ status: 'running', afterRunId: old });
    expect(await explainRun(app.deps, next)).toMatchObject({ afterRunId: old });
    await letGo();
    await app.pass({ minutes: 1 });
    expect(await showRun(app.deps, next)).not.toHaveProperty('afterRunId');
    expect(await explainRun(app.deps, next)).not.toHaveProperty('afterRunId');
  });

  it('looks again after as long as it has waited, from 1 s to 60 s, and the sweep finds it without a message', async () => {
    const { app, next } = await replaced();
    const looks: number[] = [];
    const { store, clock } = app.deps;
    const beganAtMs = clock.nowMs();
    const setHeadMarker = store.headMarkers.set.bind(store.headMarkers);
    store.headMarkers.set = async (runId, marker) => {
      if (runId === next) looks.push(((marker.dueAtMs ?? 0) - beganAtMs) / 1_000);
      return setHeadMarker(runId, marker);
    };
    await app.pass({ seconds: 20 });
    expect(looks.slice(0, 5)).toEqual([1, 2, 4, 8, 16]);
    app.deps.queues.sendWork = async () => undefined;
    await app.pass({ minutes: 10 });
    const last = looks.at(-1) ?? 0;
    expect(last).toBeGreaterThan(540);
    expect(last - (clock.nowMs() - beganAtMs) / 1_000).toBeLessThanOrEqual(60);
  });

  it('takes in nothing before: a signal, a cancel, a terminate and its own deadline wait', async () => {
    const { app, start, old, letGo } = await replaced();
    const third = await start({ whenRunning: 'terminate', timeoutMs: 5_000 });
    const fourth = await start({ whenRunning: 'terminate' });
    await app.signal(third.runId, 'next');
    await app.pass({ minutes: 3 });
    expect((await app.show(third.runId)).status).toBe('running');
    expect(await underWay(app, [old, third.runId, fourth.runId])).toEqual([old]);
    await letGo();
    await app.pass({ minutes: 4 });
    expect((await app.show(third.runId)).outcome).toEqual({
      status: 'terminated',
      reason: 'a new run with its id was started',
    });
    expect(await underWay(app, [old, third.runId, fourth.runId])).toEqual([fourth.runId]);
  });

  it('has the old run terminated, though the caller that started it died before it could request that', async () => {
    const { app, start } = newApp();
    const old = await start();
    await app.settleDown();
    const { store } = app.deps;
    const putInbox = store.inbox.put.bind(store.inbox);
    store.inbox.put = async () => Promise.reject(new Error('died'));
    const next = await start({ whenRunning: 'terminate' });
    store.inbox.put = putInbox;
    await app.pass({ seconds: 5 });
    expect((await app.show(old.runId)).status).toBe('terminated');
    expect(await underWay(app, [old.runId, next.runId])).toEqual([next.runId]);
  });

  it('has what the old run goes on as in the meantime terminated', async () => {
    const { app, start } = newApp();
    const old = await start();
    await app.settleDown();
    const { store } = app.deps;
    const putInbox = store.inbox.put.bind(store.inbox);
    store.inbox.put = async (record) => {
      if (record.kind === 'terminate') throw new Error('died');
      return putInbox(record);
    };
    await app.signal(old.runId, 'next');
    const next = await start({ whenRunning: 'terminate' });
    await app.settleDown();
    store.inbox.put = putInbox;
    const { nextRunId = '' } = await app.show(old.runId);
    expect(await underWay(app, [old.runId, nextRunId, next.runId])).toEqual([nextRunId]);
    await app.pass({ seconds: 10 });
    expect(await underWay(app, [old.runId, nextRunId, next.runId])).toEqual([next.runId]);
  });

  it('is one run under way for twenty that come at once, each with "terminate"', async () => {
    const { app, start } = newApp();
    const first = await start();
    await app.settleDown();
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, async () => start({ whenRunning: 'terminate' })),
    );
    const ids = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.runId] : []));
    // Calls that have lost too often are asked to retry.
    for (const answer of answers)
      if (answer.status === 'rejected') expect(hasCode(answer.reason, 'STORE_UNAVAILABLE')).toBe(true);
    for (let second = 0; second < 120; second++) {
      expect((await underWay(app, [first.runId, ...ids])).length).toBeLessThanOrEqual(1);
      await app.pass({ seconds: 1 });
    }
    const live = await findNamedRun(app.deps, 'entity', 'e1');
    expect(await underWay(app, [first.runId, ...ids])).toEqual([live]);
  });

  it('is an item that a version which would begin at once does not read', async () => {
    const { app, old, next } = await replaced();
    const formOf = async (runId: string): Promise<unknown> => {
      const head = await app.deps.store.heads.read(runId);
      return head === undefined ? undefined : headItem(head, 'writer')['format'];
    };
    expect([await formOf(old), await formOf(next)]).toEqual([undefined, 2]);
  });
});

describe('F14 a run that has gone on as others', () => {
  async function chain() {
    const { app, start } = newApp();
    const ids = await goneOn(app, (await start()).runId);
    return { app, ids };
  }

  it('has not ended before the last of them: its result is theirs', async () => {
    const { app, ids } = await chain();
    expect(await awaitOutcome(app.deps, ids[0], 0)).toBeUndefined();
    await app.signal(ids[0], 'end', 'over');
    await app.settleDown();
    for (const runId of ids)
      expect(await awaitOutcome(app.deps, runId, 0)).toEqual({
        runId: ids[2],
        outcome: { status: 'completed', result: [3, 'over'] },
      });
  });

  it('is waited for while the next one is still to come', async () => {
    const { app, start } = newApp();
    const { runId } = await start();
    await app.settleDown();
    const { store } = app.deps;
    const createRun = store.heads.create.bind(store.heads);
    store.heads.create = async () => Promise.reject(new Error('died'));
    await app.signal(runId, 'next');
    await app.settleDown().catch(() => undefined);
    store.heads.create = createRun;
    expect(await awaitOutcome(app.deps, runId, 0)).toBeUndefined();
  });

  it('is asked where it is now, and the answer says which run it was', async () => {
    const { app, ids } = await chain();
    for (const runId of ids)
      expect(await queryRun(app.deps, runId, 'round', undefined)).toEqual({ runId: ids[2], result: 3 });
    expect(await app.query(ids[0], 'round')).toBe(3);
  });

  it('has the open waits of the last of them', async () => {
    const { app, ids } = await chain();
    expect(await externalWaitsOf(app.deps, ids[0])).toMatchObject([{ runId: ids[2], name: 'approval' }]);
    await app.settle(await app.tokenOf(ids[0], 'approval'), 'settled');
    expect(await app.runToEnd(ids[0])).toEqual({ status: 'completed', result: [3, 'settled'] });
  });

  it('is shown, explained and has a history as itself, and each names the next one', async () => {
    const { app, ids } = await chain();
    expect(await showRun(app.deps, ids[0])).toMatchObject({ runId: ids[0], status: 'continued', nextRunId: ids[1] });
    expect(await explainRun(app.deps, ids[0])).toMatchObject({ runId: ids[0], status: 'continued', nextRunId: ids[1] });
    expect(await readHistory(app.deps, ids[0])).toMatchObject({ runId: ids[0], nextRunId: ids[1] });
    expect(await readHistory(app.deps, ids[2])).not.toHaveProperty('nextRunId');
  });

  it('is followed event by event, and the news names the next one', async () => {
    const { app, ids } = await chain();
    expect(await followRun(app.deps, ids[0], {})).toMatchObject({ status: 'continued', nextRunId: ids[1] });
    expect(await followRun(app.deps, ids[2], {})).not.toHaveProperty('nextRunId');
  });

  it('is run to the end of the last of them in a test, or to its own', async () => {
    const { app, ids } = await chain();
    expect(await app.runToEnd(ids[0], { follow: false })).toMatchObject({ status: 'continued', nextRunId: ids[1] });
    await app.signal(ids[0], 'end', 'over');
    expect(await app.runToEnd(ids[0])).toEqual({ status: 'completed', result: [3, 'over'] });
  });
});
