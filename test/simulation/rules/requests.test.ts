import { expect, test } from 'vitest';
import { createTestApp, type TestApp } from 'outwait/testing';
import { defineWorkflow } from 'outwait';
import { EngineError } from '../../../lib/base/errors.js';
import { newHead } from '../../../lib/operations/requests/new-head.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { WarmRuns } from '../../../lib/operations/warm-runs.js';
import { createCipher } from '../../../lib/store/cipher.js';
import { namedKeyring } from '../../../lib/store/payload-keyring.js';
import type { InboxRecord } from '../../../lib/history/records.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import { CountingTable } from '../../../bench/counting-table.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { endStopped } from '../../../lib/operations/turn/end-stopped.js';
import { fanOutDue } from '../../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../../lib/operations/sweep/handle-work.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { putInInbox } from '../../../lib/operations/requests/inbox.js';
import { requestControl } from '../../../lib/operations/requests/control-run.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { aFlow, anApp, eventTypes, started, startMs, WatchedServer, withTimePassing } from '../../engine/support.js';
import { call, play } from './scene.js';
import { storeProxy } from '../../support/store-proxy.js';

// Requests to a run: in which order they act, what a pause holds, what happens to them when the run continues as
// another one.

/** Returns the dependencies of a replica whose clock is off. */
const replica = ({ deps }: TestApp, offMs: number): Deps => ({
  ...deps,
  clock: { nowMs: () => deps.clock.nowMs() + offMs },
});

test('F89 order of acceptance: a resume by a replica that is 2 s behind the one that paused goes on', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
  await app.settleDown();
  await requestControl(replica(app, 0), runId, 'pause');
  await requestControl(replica(app, -2_000), runId, 'resume');
  await app.settleDown();
  expect((await app.show(runId)).pausedUntilMs).toBeUndefined();
  expect((await eventTypes({ app, runId })).slice(-2)).toEqual(['RunPaused', 'RunResumed']);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
});

test('F89 order of acceptance: signals of replicas with other clocks are taken in as they were accepted', async () => {
  const { app, runId } = await started(
    aFlow(async (ctx) => [await ctx.signal('n'), await ctx.signal('n'), await ctx.signal('n')]),
  );
  for (const [n, offMs] of [90_000, -90_000, 0].entries())
    await signalRun(replica(app, offMs), runId, { name: 'n', payload: n });
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [0, 1, 2] });
});

test('F89 time of acceptance: nothing is later than now, whatever the clock of its sender says', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('n').then(() => ctx.now())));
  await app.settleDown();
  await signalRun(replica(app, 300_000), runId, { name: 'n' });
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: startMs });
});

test('F89 order of acceptance: requests of earlier versions come among the others by their time', async () => {
  const { app, runId } = await started(
    aFlow(async (ctx) => [await ctx.signal('n'), await ctx.signal('n'), await ctx.signal('n')]),
  );
  const at = (atMs: number, payload: string, position?: number): InboxRecord => ({
    ...{ runId, inboxId: `signal-1-n-${payload}`, kind: 'signal', name: 'n', payload, atMs },
    ...(position === undefined ? {} : { position }),
  });
  await app.deps.store.inbox.put(at(startMs - 3_000, 'first', 0));
  await app.deps.store.inbox.put(at(startMs - 2_000, 'old'));
  await app.deps.store.inbox.put(at(startMs - 1_000, 'last', 2));
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['first', 'old', 'last'] });
});

test('F80 pause during a turn: what is under way ends, the rest begins when it is resumed', async () => {
  const { world, runId, outcome, log, endedAtS, violations } = await play({
    run: async (ctx, step) => {
      const times: number[] = [];
      for (const name of ['s1', 's2', 's3', 's4', 's5', 's6']) {
        await step(name);
        times.push(ctx.now());
      }
      await ctx.sleepUntil(ctx.now() + 60_000);
      return times;
    },
    callers: (world, runId) => {
      world.controlAt(1.06, runId, 'pause');
      world.controlAt(120, runId, 'resume');
    },
    script: [],
  });
  expect(violations).toBe('');
  const types = log.map(({ type }) => type);
  const paused = types.indexOf('RunPaused');
  expect(types.filter((type) => type === 'RunResumed')).toHaveLength(1);
  // Nothing of the run happens in between.
  expect(types[paused + 1]).toBe('RunResumed');
  expect(types.slice(0, paused)).toContain('StepRequested');
  expect(types.filter((type) => type === 'StepRequested')).toHaveLength(6);
  expect(log.filter((event) => event.type === 'RunResumed').every((event) => 'inboxId' in event)).toBe(true);
  expect(outcome?.status).toBe('completed');
  expect(endedAtS).toBeLessThan(200);
  const times = outcome?.status === 'completed' ? (outcome.result as number[]) : [];
  expect(times.every((time) => world.secondsOf(time) <= endedAtS)).toBe(true);
  expect(world.commits(runId).length).toBeGreaterThan(0);
});

/** Runs a turn of a run that is paused while a step of ten seconds is running, beside a timer of five. */
async function pausedTurn(terms: { readonly timeoutMs?: number }) {
  const app: TestApp = createTestApp(
    anApp(
      aFlow(async (ctx) => {
        const step = ctx.step('ten seconds', async () => {
          await requestControl(app.deps, runId, 'pause');
          await app.deps.delay(10_000);
        });
        return Promise.all([step, ctx.sleep({ seconds: 5 })]);
      }),
    ),
  );
  const { runId } = await startRun(app.deps, { workflow: 'flow', key: 'k', ...terms });
  let delays = 0;
  const delay: Deps['delay'] = async (ms, signal) => {
    // A turn that loops would never reach the end of the step.
    if (++delays > 100) return new Promise(() => undefined);
    return app.deps.delay(ms, signal);
  };
  await withTimePassing(app, runTurn({ ...app.deps, delay }, { runId }, { remainingMs: () => 60_000 }));
  return { types: await eventTypes({ app, runId }), tookMs: app.clock.nowMs() - startMs, goesRound: delays > 100 };
}

test('F80 pause during a turn: a timer that comes due meanwhile does not keep the turn busy', async () => {
  expect(await pausedTurn({})).toEqual({
    types: ['RunStarted', 'StepRequested', 'TimerStarted', 'RunPaused', 'StepCompleted'],
    tookMs: 10_000,
    goesRound: false,
  });
});

test('F80 pause during a turn: the deadline of the run ends it, whatever is under way', async () => {
  expect(await pausedTurn({ timeoutMs: 8_000 })).toEqual({
    types: ['RunStarted', 'StepRequested', 'TimerStarted', 'RunPaused', 'TimerFired', 'RunEnding', 'RunEnded'],
    tookMs: 8_000,
    goesRound: false,
  });
});

test('F80 end of a paused run: a terminate leaves no word of a resume', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.sleep({ hours: 9 })));
  await app.settleDown();
  await requestControl(app.deps, runId, 'pause');
  await app.settleDown();
  await requestStop(app.deps, { runId, kind: 'terminate' });
  await app.settleDown();
  expect(await eventTypes({ app, runId })).toEqual([
    ...['RunStarted', 'TimerStarted', 'RunPaused', 'TerminateRequested', 'RunEnding', 'RunEnded'],
  ]);
});

test('F80 announced attempt: one that a pause came before is none that was interrupted', async () => {
  let ran = 0;
  const { app, runId } = await started(
    aFlow(async (ctx) => {
      await ctx.step('first', async () => {
        await requestControl(app.deps, runId, 'pause');
      });
      return ctx.step('once', () => ++ran, { atMostOnce: true });
    }),
  );
  await app.settleDown();
  await app.pass({ minutes: 5 });
  await requestControl(app.deps, runId, 'resume');
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 1 });
});

test('F81 marker that stands: an owner that wakes up late does not take away one that two timers share', async () => {
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => {
      const atMs = ctx.now() + 20 * 60_000;
      await ctx.race([(c) => c.sleepUntil(atMs), (c) => call(c, 'r1')]);
      await call(ctx, 'r2');
      await ctx.sleepUntil(atMs);
      return 'slept';
    },
    callers: (world, runId) => {
      world.settleAt(30, runId, '2', 'one');
      world.settleAt(60, runId, '3', 'two');
    },
    script: [
      {
        who: 'turn 2',
        at: /^update a .*dueSeq/,
        what: { freezeUntil: ({ world }) => world.seconds >= 600 },
      },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'slept' });
  expect(endedAtS).toBeLessThan(1_330);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

const inRounds = (last: number, body: Parameters<typeof aFlow>[0]) =>
  defineWorkflow<unknown>({
    name: 'flow',
    run: async (ctx, input) => {
      const round = (input as { readonly round: number } | null)?.round ?? 1;
      const got = await body(ctx);
      return round < last ? ctx.continueAsNew({ round: round + 1 }) : got;
    },
  });

async function chainOf(app: TestApp, runId: string): Promise<readonly string[]> {
  const statuses: string[] = [];
  for (let id: string | undefined = runId; id !== undefined;) {
    const run = await app.show(id);
    statuses.push(run.status);
    id = run.nextRunId;
  }
  return statuses;
}

test('F82 cancel taken in with the end: the run that the chain goes on as hears it', async () => {
  const flow = inRounds(3, async (ctx) => ctx.signal('go'));
  const app = createTestApp(anApp(flow));
  const runId = await app.start(flow, null);
  await app.settleDown();
  await app.signal(runId, 'go');
  expect(await app.cancel(runId, 'enough')).toBe(true);
  await app.settleDown();
  expect(await chainOf(app, runId)).toEqual(['continued', 'cancelled']);
  const next = (await app.show(runId)).nextRunId ?? '';
  expect((await app.show(next)).outcome).toEqual({ status: 'cancelled', reason: 'enough' });
  // A repeat of it is the same request, to either run.
  expect((await app.history(runId)).events.filter(({ type }) => type === 'CancelRequested')).toHaveLength(1);
});

test('F82 cancel that was heard: what a run caught and went on from is no affair of the next one', async () => {
  const flow = inRounds(2, async (ctx) => {
    await ctx.sleep({ minutes: 1 }).catch(() => undefined);
  });
  const app = createTestApp(anApp(flow));
  const runId = await app.start(flow, null);
  await app.settleDown();
  await app.cancel(runId);
  await app.pass({ minutes: 5 });
  expect(await chainOf(app, runId)).toEqual(['continued', 'completed']);
  const next = (await app.show(runId)).nextRunId ?? '';
  expect(await eventTypes({ app, runId: next })).not.toContain('CancelRequested');
});

test('F82 between the ending of a run and the next one: a request waits for that one', async () => {
  // The turn that ends the run is frozen after its outcome is fixed, and again before the head of the next one exists.
  for (const at of ['update t#', 'put a'] as const) {
    let firstRunId = '';
    const { world, runId, unplayed, violations } = await play({
      run: async (ctx) => {
        if (ctx.runId !== firstRunId) return ctx.sleep({ hours: 1 });
        await ctx.race([(c) => call(c, 'r1'), (c) => c.sleep({ seconds: 30 })]);
        return ctx.continueAsNew(null);
      },
      callers: (world, runId) => {
        firstRunId = runId;
        world.stopAt(40, runId, 'cancel', 'c1');
      },
      script: [
        {
          who: 'turn',
          at,
          when: (world) => world.seconds > 29,
          what: { freezeUntil: ({ world }) => world.seconds >= 43 },
        },
      ],
    });
    expect([at, unplayed]).toEqual([at, []]);
    expect(violations).toBe('');
    const nextRunId = String(world.items.get(`run#${runId} a`)?.['nextRunId']);
    expect([at, world.items.get(`run#${nextRunId} a`)?.['status']]).toEqual([at, 'cancelled']);
  }
});

test('F82 close of a parent: a child that is about to go on as another run is stopped when that is there', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.sleep({ hours: 1 })));
  await app.settleDown();
  const head = await app.deps.store.heads.read(runId);
  if (head === undefined) throw new Error('no head');
  // The head of the next run is missing for as long as any caller waits.
  const glance = async (id: string) =>
    id === runId
      ? { runId, workflow: 'flow', status: 'continued', inboxCount: 0, dueSeq: 1, nextRunId: 'b'.repeat(32) }
      : undefined;
  const known = async () => undefined;
  const methods: Record<string, unknown> = { 'heads.glance': glance, 'inbox.known': known };
  const store = storeProxy(app.deps.store, {
    get: (target, name) => methods[name] ?? (Reflect.get(target, name, target) as unknown),
  });
  let waitedMs = 0;
  const deps: Deps = {
    ...app.deps,
    store,
    clock: { nowMs: () => startMs + waitedMs },
    delay: async (ms) => {
      waitedMs += ms;
    },
  };
  const request = { runId, inboxId: 'cancel-x', kind: 'cancel', atMs: startMs } as const;
  expect(await putInInbox(deps, request)).toBe('next_not_found');
  expect(waitedMs).toBe(8_000);
});

test('F85 many signals with long names: all are taken in, in order, in as many commits as that takes', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('go')));
  await app.settleDown();
  const count = 1_500;
  const name = (n: number): string => `${String(n).padStart(5, '0')}${'x'.repeat(123)}`;
  await requestControl(app.deps, runId, 'pause');
  await app.settleDown();
  for (let n = 0; n < count; n++) await app.signal(runId, name(n), n);
  await requestControl(app.deps, runId, 'resume');
  await app.settleDown();
  await app.signal(runId, 'go', 'done');
  expect(await app.runToEnd(runId, { replay: false })).toEqual({ status: 'completed', result: 'done' });
  const { events } = await app.history(runId);
  const taken = events.filter((event) => event.type === 'SignalReceived').map((event) => event.name);
  expect(taken).toEqual([...Array.from({ length: count }, (_, n) => name(n)), 'go']);
  const perCommit = new Map<number, number>();
  for (const { seq } of events) perCommit.set(seq, (perCommit.get(seq) ?? 0) + 1);
  expect(Math.max(...perCommit.values())).toBeLessThan(700);
  expect((await app.show(runId)).unreadSignals).toHaveLength(count);
});

test('F85 an end with more than one commit takes in: what was accepted is in the log before', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('go')));
  const count = 1_200;
  await app.signal(runId, 'go', 'done');
  for (let n = 0; n < count; n++) await app.signal(runId, `n${'x'.repeat(120)}`, n);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
  const { events } = await app.history(runId);
  expect(events.filter(({ type }) => type === 'SignalReceived')).toHaveLength(count + 1);
});

test('F85 handing on: a run with many unread signals goes on with all of them, over several turns', async () => {
  const flow = inRounds(2, async (ctx) => ctx.signal('go'));
  const app = createTestApp(anApp(flow));
  const runId = await app.start(flow, null);
  const count = 300;
  for (let n = 0; n < count; n++) await app.signal(runId, 'n', n);
  await app.signal(runId, 'go');
  // Each check of the remaining time is one of a turn; the first turns have little.
  let looks = 0;
  const limits = { remainingMs: () => (++looks % 150 === 0 ? 0 : 60_000) };
  let next = '';
  let turns = 0;
  for (; (await app.deps.store.heads.glance(next)) === undefined; turns++) {
    await runTurn(app.deps, { runId }, limits);
    next = (await app.show(runId)).nextRunId ?? '';
  }
  expect(turns).toBeGreaterThan(1);
  expect(await app.deps.store.inbox.readAll(next)).toHaveLength(count);
  expect((await app.deps.store.heads.read(next))?.inboxCount).toBe(count);
  await app.settleDown();
  expect((await app.show(next)).unreadSignals).toHaveLength(count);
  await app.signal(next, 'go', 'again');
  expect(await app.runToEnd(next)).toEqual({ status: 'completed', result: 'again' });
});

test('handing on: a cancel that the workflow has heard stays behind, one that it has not goes on', async () => {
  const flow = defineWorkflow<unknown>({
    name: 'flow',
    run: async (ctx, input) => {
      if (input === 'next') return ctx.sleep({ hours: 1 });
      await ctx.sleep({ hours: 1 }).catch(() => undefined);
      await ctx.shield(async (kept) => kept.sleep({ minutes: 10 }));
      return ctx.continueAsNew('next');
    },
  });
  const app = createTestApp(anApp(flow));
  const runId = await app.start(flow, null);
  await app.settleDown();
  for (const reason of ['heard', 'unheard']) {
    await app.cancel(runId, reason);
    await app.settleDown();
  }
  expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'unheard' });
});

test('handing on: unread signals stay in the order in which they were accepted, whatever the clocks of their senders say', async () => {
  const flow = defineWorkflow<unknown>({
    name: 'flow',
    run: async (ctx, input) => {
      if (input === 'next') return [await ctx.signal('n'), await ctx.signal('n')];
      await ctx.signal('go');
      return ctx.continueAsNew('next');
    },
  });
  const app = createTestApp(anApp(flow));
  const runId = await app.start(flow, null);
  for (const [payload, aheadMs] of [
    ['first', 5_000],
    ['second', 0],
  ] as const)
    await signalRun({ ...app.deps, clock: { nowMs: () => startMs + aheadMs } }, runId, { name: 'n', payload });
  await app.signal(runId, 'go');
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['first', 'second'] });
});

test('F87 wakes left over: those of a run that has ended cost a read each', async () => {
  const table = new CountingTable(new MemoryTable());
  const app = createTestApp(anApp(aFlow(async (ctx) => ctx.signal('go'))));
  const deps: Deps = { ...app.deps, store: new RunStore(new SealedTable(table)), warmRuns: new WarmRuns() };
  const runId = 'a'.repeat(32);
  await deps.store.heads.create(await newHead(deps, { workflow: 'flow', input: null, runId }), 'w');
  for (let n = 0; n < 50; n++) await signalRun(deps, runId, { name: 'go', payload: n, key: String(n) });
  const limits = { remainingMs: () => 60_000 };
  await runTurn(deps, { runId, news: [{ inboxId: 'signal-2-go-0' }] }, limits);
  expect((await deps.store.heads.read(runId))?.status).toBe('completed');
  table.take();
  for (let n = 1; n < 50; n++) await runTurn(deps, { runId, news: [{ inboxId: `signal-2-go-${n}` }] }, limits);
  expect(table.take()).toMatchObject({ reads: 49, items: 49 });
  // A message for an instant that was due, and one without news: the whole run is read once.
  const sent: unknown[] = [];
  const queues = { ...deps.queues, sendTurn: async (message: unknown) => void sent.push(message) };
  await handleWork({ ...deps, queues }, { kind: 'wake', runId, dueAtMs: startMs });
  expect(sent).toEqual([{ runId, news: [] }]);
  await runTurn(deps, { runId, news: [] }, limits);
  expect(table.take()).toMatchObject({ reads: 1, items: 1 });
  const { writes } = table;
  await runTurn(deps, { runId }, limits);
  expect(table.take()).toMatchObject({ reads: 1 });
  expect(table.writes).toBe(writes);
  // The sweep finds a marker that is left, and its wake removes it.
  const key = { pk: `run#${runId}`, sk: 'i#signal-2-go-1' };
  await table.write({ kind: 'update', key, set: { dueShard: '0', dueAtMs: startMs }, conditions: [] });
  await runTurn(deps, { runId }, limits);
  expect((await table.get(key))?.['dueAtMs']).toBeUndefined();
});

test('F87 end effects that another marker stands for: the wake of the sweep finds them', async () => {
  // The run ended without a marker on its head, since the settlement has one; then its process dies.
  const { world, runId, outcome, unplayed, violations } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [
      {
        who: 'turn',
        at: 'query a,h#',
        when: (world, id) => world.log(id).some(({ type }) => type === 'RunEnded'),
        what: 'crashAndMessageLost',
      },
    ],
  });
  expect(unplayed).toEqual([]);
  expect(outcome?.status).toBe('completed');
  expect(violations).toBe('');
  expect(world.items.get(`run#${runId} t#1`)?.['dueAtMs']).toBeUndefined();
});

test('F21 a turn that throws the same way three times: the run is blocked with the reason and the stack', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.step('s', () => 1)));
  let fails = true;
  let count = 0;
  const broken: Deps = {
    ...app.deps,
    drain: async () => {
      if (fails) throw new Error(`cannot read ${++count}`);
      await app.deps.drain();
    },
  };
  const limits = { remainingMs: () => 60_000 };
  await signalRun(app.deps, runId, { name: 'n' });
  await expect(runTurn(broken, { runId }, limits)).rejects.toThrow('cannot read');
  await expect(runTurn(broken, { runId }, limits)).rejects.toThrow('cannot read');
  expect((await app.show(runId)).blocked).toBeUndefined();
  expect(await runTurn(broken, { runId }, limits).catch(() => 'thrown')).toBeUndefined();
  const { blocked } = await app.show(runId);
  expect(blocked).toMatchObject({ code: 'INTERNAL' });
  expect(blocked?.message).toMatch(/^its turn has failed 3 times in a row in the same way: Error: cannot read/);
  expect(blocked?.details?.['stack']).toMatch(/requests\.test/);
  // Its markers back off, and the one on the head is the only one left.
  expect((await app.deps.store.inbox.readAll(runId)).map(({ dueAtMs }) => dueAtMs)).toEqual([undefined]);
  // The other code does not fail.
  fails = false;
  await runTurn(broken, { runId }, limits);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 1 });
  expect((await app.deps.store.heads.read(runId))?.failedTurns).toBeUndefined();
});

test('F21 turns that throw: trouble of the table, or a good turn in between, is no row', async () => {
  const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('n')));
  let fails: 'in the table' | 'in the code' | 'not' = 'in the table';
  const broken: Deps = {
    ...app.deps,
    drain: async () => {
      if (fails === 'in the table') throw new EngineError('STORE_UNAVAILABLE', 'throttled');
      if (fails === 'in the code') throw new Error('at the same place');
      await app.deps.drain();
    },
  };
  const limits = { remainingMs: () => 60_000 };
  // The run is quiet, so that a later turn has nothing else to write.
  await runTurn(app.deps, { runId }, limits);
  const turn = async (): Promise<boolean> => {
    // The run is cold, so that the code runs.
    app.deps.warmRuns?.take(runId);
    return runTurn(broken, { runId }, limits).then(
      () => true,
      () => false,
    );
  };
  for (let n = 0; n < 5; n++) expect(await turn()).toBe(false);
  expect((await app.deps.store.heads.read(runId))?.failedTurns).toBeUndefined();
  fails = 'in the code';
  expect([await turn(), await turn()]).toEqual([false, false]);
  fails = 'not';
  expect(await turn()).toBe(true);
  fails = 'in the code';
  expect([await turn(), await turn()]).toEqual([false, false]);
});

test('F21 a turn that throws the same way three times while its run ends: the run is blocked', async () => {
  const flow = aFlow(async (ctx) => {
    await ctx.promise({ name: 'open' });
    return 'done';
  });
  const { app, runId } = await started(flow);
  const { store } = app.deps;
  store.log.commitEnd = async () => Promise.reject(new Error('no'));
  const turn = async () =>
    runTurn(app.deps, { runId }, { remainingMs: () => 60_000 }).then(
      () => 'acknowledged',
      () => 'thrown',
    );
  // The first error came from another place in the code.
  expect([await turn(), await turn(), await turn(), await turn()]).toEqual([
    'thrown',
    'thrown',
    'thrown',
    'acknowledged',
  ]);
  expect(await store.heads.read(runId)).toMatchObject({ status: 'ending', blocked: { code: 'INTERNAL' } });
});

test('F21 turns that throw the same way, a day after the last one: a row begins anew', async () => {
  const limits = { remainingMs: () => 60_000 };
  for (const [pauseMs, isBlocked] of [
    [86_399_999, true],
    [86_400_000, false],
  ] as const) {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.step('s', () => 1)));
    const broken: Deps = { ...app.deps, drain: async () => Promise.reject(new Error('no')) };
    const turn = async () => runTurn(broken, { runId }, limits).catch(() => undefined);
    await turn();
    await turn();
    app.clock.moveTo(app.clock.nowMs() + pauseMs);
    await turn();
    expect((await app.deps.store.heads.read(runId))?.blocked !== undefined).toBe(isBlocked);
  }
});

test('F85 terminate: of a run whose turn cannot go on and whose deadline has passed too, it says why the run ended', async () => {
  const app = createTestApp(anApp(aFlow(async (ctx) => ctx.signal('go'))));
  const { runId } = await startRun(app.deps, { workflow: 'flow', key: 'k', timeoutMs: 10_000 });
  await requestStop(app.deps, { runId, kind: 'terminate', reason: 'enough' });
  app.clock.moveTo(startMs + 20_000);
  expect(await endStopped(app.deps, runId, { remainingMs: () => 60_000 })).toBe(true);
  expect((await app.show(runId)).outcome).toEqual({ status: 'terminated', reason: 'enough' });
});

test('F85 terminate: ends a run of which nothing can be read but its keys', async () => {
  const under = (keyId: string) =>
    createCipher(namedKeyring([{ keyId, secret: new Uint8Array(32).fill(keyId.length) }]));
  const table = new MemoryTable();
  const reports = new WatchedServer();
  const app = createTestApp(anApp(aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' }))), {
    servers: { reports },
  });
  const withKey: Deps = {
    ...app.deps,
    store: new RunStore(new SealedTable(table, under('one'))),
    warmRuns: new WarmRuns({ runs: 0 }),
  };
  const other: Deps = {
    ...app.deps,
    store: new RunStore(new SealedTable(table, under('other'))),
    warmRuns: new WarmRuns({ runs: 0 }),
  };
  const runId = 'c'.repeat(32);
  await withKey.store.heads.create(await newHead(withKey, { workflow: 'flow', input: 'secret', runId }), 'w');
  const limits = { remainingMs: () => 60_000 };
  await runTurn(withKey, { runId }, limits);
  await signalRun(withKey, runId, { name: 'n', payload: 'secret' });
  await expect(runTurn(other, { runId }, limits)).resolves.toBeUndefined();
  expect(await requestStop(other, { runId, kind: 'terminate', reason: 'lost key' })).toEqual({ accepted: true });
  await runTurn(other, { runId }, limits);
  const head = await other.store.heads.glance(runId);
  expect(head?.status).toBe('terminated');
  const records = await other.store.runs.readWhatCanBe(runId);
  expect(records?.commits.flatMap(({ events }) => events.map(({ type }) => type))).toEqual([
    ...['TerminateRequested', 'RunEnding', 'RunEnded'],
  ]);
  // The token is closed, although its handle cannot be read here.
  expect(records?.tokens.map(({ settlement }) => settlement?.by)).toEqual(['end']);
});

test('F83 a client that throws: is read, cancelled and started again, and holds up no end effects', async () => {
  const reports = new WatchedServer();
  const flow = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } }));
  const { app, runId } = await started(flow, { reports });
  await app.settleDown();
  reports.get = async () => {
    throw new Error('URI malformed');
  };
  let cancels = 0;
  reports.cancel = async () => {
    cancels++;
    throw new Error('URI malformed');
  };
  expect(await app.pass({ minutes: 5 }).catch(() => 'thrown')).toBeUndefined();
  expect((await app.show(runId)).status).toBe('running');
  await app.cancel(runId);
  expect(await app.pass({ minutes: 5 }).catch(() => 'thrown')).toBeUndefined();
  expect((await app.show(runId)).status).toBe('cancelled');
  await app.pass({ hours: 30 });
  expect(cancels).toBeGreaterThan(1);
  const { rows } = await dueOf(app);
  expect(rows).toEqual([]);
});

test('F83 a client that throws at a start: nobody knows what became of it, and the run goes on', async () => {
  const flow = aFlow(async (ctx) =>
    ctx
      .callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } })
      .catch((error: unknown) => (error as { code: string }).code),
  );
  const startsOf = async (dedupes: boolean) => {
    const reports = new WatchedServer({ dedupes });
    let starts = 0;
    reports.start = async () => {
      starts++;
      throw new Error('URI malformed');
    };
    const { app, runId } = await started(flow, { reports });
    const outcome = await app.runToEnd(runId).catch(() => 'thrown');
    return [starts, outcome];
  };
  expect(await startsOf(false)).toEqual([1, { status: 'completed', result: 'REMOTE_START_AMBIGUOUS' }]);
  expect(await startsOf(true)).toEqual([5, { status: 'completed', result: 'REMOTE_START_AMBIGUOUS' }]);
});

async function dueOf(app: TestApp) {
  await fanOutDue(app.deps);
  const pages = await Promise.all(
    Array.from({ length: 16 }, (_, shard) => app.deps.store.lists.due(shard, Number.MAX_SAFE_INTEGER, 5)),
  );
  return { rows: pages.flatMap((page) => page.rows) };
}
