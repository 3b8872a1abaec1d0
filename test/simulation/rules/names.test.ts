import { defineApp, defineWorkflow, type App } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scheduleHandler } from '../../../lib/aws/schedule-handler.js';
import { EngineError, isEngineError } from '../../../lib/base/errors.js';
import { awaitOutcome } from '../../../lib/operations/views/await-outcome.js';
import { externalWaitsOf } from '../../../lib/operations/views/list-external-waits.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { startNamedRun, type NamedStartRequest } from '../../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun } from '../../../lib/operations/requests/start-run.js';

// Names, keys and the runs that continue under them: one test for each rule, since a mutant of the engine lacks one
// rule.

const holds = defineWorkflow<{ round: number }>({
  name: 'holds',
  run: async (ctx, { round }) => {
    ctx.onQuery('round', () => round);
    if (round < 2) {
      await ctx.signal('next');
      return ctx.continueAsNew({ round: round + 1 });
    }
    const { promise } = await ctx.promise({ name: 'approval' });
    return promise;
  },
});

function newApp(app: App = defineApp({ workflows: [holds] })) {
  const kit = createTestApp(app, { schedules: true });
  const start = (more: Partial<NamedStartRequest> = {}) =>
    startNamedRun(kit.deps, { workflow: 'holds', id: 'h', input: { round: 1 }, ...more });
  return { kit, start };
}

const statusOf = async (kit: TestApp, runId: string): Promise<string> => (await kit.show(runId)).status;
const hasBegun = async (kit: TestApp, runId: string): Promise<boolean> => (await kit.history(runId)).events.length > 0;

/** Returns the code of what was thrown, or the answer. */
async function codeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return isEngineError(error) ? error.code : error;
  }
}

/** Holds the wakes of the run back until the returned function is called. */
function hold({ deps: { queues } }: TestApp, runId: string): () => void {
  const send = queues.sendTurn.bind(queues);
  queues.sendTurn = async (message, dedupId) => (message.runId === runId ? undefined : send(message, dedupId));
  return () => {
    queues.sendTurn = send;
  };
}

test('F11 an id points along the chain', async () => {
  const { kit, start } = newApp();
  const { runId } = await start();
  await kit.settleDown();
  await kit.signal(runId, 'next');
  await kit.settleDown();
  expect((await start()).deduplicated).toBe(true);
});

test('F11 a next run that is still to come is under way', async () => {
  const { kit, start } = newApp();
  const { runId } = await start();
  await kit.settleDown();
  const { store } = kit.deps;
  store.heads.create = async () => Promise.reject(new Error('died'));
  await kit.signal(runId, 'next');
  await kit.settleDown().catch(() => undefined);
  expect(await statusOf(kit, runId)).toBe('continued');
  expect((await start()).deduplicated).toBe(true);
});

test('F11 a run whose outcome is fixed and whose waits are still to be closed is under way', async () => {
  const { kit, start } = newApp();
  const { runId } = await start({ input: { round: 2 } });
  await kit.settleDown();
  const { store } = kit.deps;
  store.log.commitEnd = async () => Promise.reject(new Error('died'));
  await requestStop(kit.deps, { runId, kind: 'terminate' });
  await kit.settleDown().catch(() => undefined);
  expect((await store.heads.read(runId))?.status).toBe('ending');
  expect(await start()).toEqual({ runId, deduplicated: true });
});

test('F13 a run that replaces another rests until that has ended', async () => {
  const { kit, start } = newApp();
  const old = await start();
  await kit.settleDown();
  const letGo = hold(kit, old.runId);
  const next = await start({ whenRunning: 'terminate' });
  await kit.pass({ seconds: 30 });
  expect([await statusOf(kit, old.runId), await hasBegun(kit, next.runId)]).toEqual(['running', false]);
  letGo();
  await kit.pass({ minutes: 2 });
  expect([await statusOf(kit, old.runId), await hasBegun(kit, next.runId)]).toEqual(['terminated', true]);
});

test('F13 a terminate of a run that rests waits too', async () => {
  const { kit, start } = newApp();
  const old = await start();
  await kit.settleDown();
  hold(kit, old.runId);
  const second = await start({ whenRunning: 'terminate' });
  const third = await start({ whenRunning: 'terminate' });
  await kit.pass({ seconds: 30 });
  expect([await statusOf(kit, second.runId), await hasBegun(kit, third.runId)]).toEqual(['running', false]);
});

test('F13 the run that rests asks again', async () => {
  const { kit, start } = newApp();
  const old = await start();
  await kit.settleDown();
  const { store } = kit.deps;
  const putInbox = store.inbox.put.bind(store.inbox);
  store.inbox.put = async () => Promise.reject(new Error('died'));
  await start({ whenRunning: 'terminate' });
  store.inbox.put = putInbox;
  await kit.pass({ minutes: 2 });
  expect(await statusOf(kit, old.runId)).toBe('terminated');
});

test('F13 a marker brings a resting run back', async () => {
  const { kit, start } = newApp();
  const old = await start();
  await kit.settleDown();
  const letGo = hold(kit, old.runId);
  const next = await start({ whenRunning: 'terminate', timeoutMs: 1_000 });
  await kit.pass({ seconds: 30 });
  // Its own deadline has passed, and does not set its marker, which would be overdue for as long as it rests.
  expect((await kit.deps.store.heads.read(next.runId))?.dueAtMs).toBeGreaterThan(kit.clock.nowMs());
  letGo();
});

test('F12 a start with a signal reaches the live run', async () => {
  const { kit } = newApp();
  const send = (name: string) =>
    startOrSignal(kit.deps, { workflow: 'holds', key: 'k', input: { round: 1 }, signal: { name } });
  await send('next');
  await kit.settleDown();
  expect(await codeOf(send('other'))).toMatchObject({ deduplicated: true });
});

test('F14 a result is that of the last run', async () => {
  const { kit, start } = newApp();
  const { runId } = await start();
  await kit.settleDown();
  await kit.signal(runId, 'next');
  await kit.settleDown();
  expect(await awaitOutcome(kit.deps, runId, 0)).toBeUndefined();
  expect(await kit.query(runId, 'round')).toBe(2);
  expect(await externalWaitsOf(kit.deps, runId)).toHaveLength(1);
  await kit.cancel(runId);
  await kit.settleDown();
  expect((await awaitOutcome(kit.deps, runId, 0))?.outcome).toEqual({ status: 'cancelled' });
});

test('F24 a key stands for what was sent', async () => {
  const { kit } = newApp();
  const start = (round: number) => codeOf(startRun(kit.deps, { workflow: 'holds', key: 'k', input: { round } }));
  await start(1);
  expect(await start(2)).toBe('KEY_REUSED');
});

test('F24 the second of two starts at once is told', async () => {
  const { kit } = newApp();
  const start = (round: number) => codeOf(startRun(kit.deps, { workflow: 'holds', key: 'k', input: { round } }));
  expect(await Promise.all([start(1), start(2)])).toContain('KEY_REUSED');
});

test('F24 a signal with a known key stands for its payload', async () => {
  const { kit, start } = newApp();
  const { runId } = await start();
  const signal = (payload: number) => codeOf(signalRun(kit.deps, runId, { name: 'x', key: 's', payload }));
  await signal(1);
  expect(await signal(2)).toBe('KEY_REUSED');
});

test('F24 a request id stands for its kind', async () => {
  const { kit, start } = newApp();
  const { runId } = await start();
  const stop = (kind: 'cancel' | 'terminate') => codeOf(requestStop(kit.deps, { runId, kind, requestId: 'r' }));
  await stop('cancel');
  expect(await stop('terminate')).toBe('KEY_REUSED');
});

test('F24 a tick of a schedule is found by its key alone', async () => {
  const app = (round: number): App =>
    defineApp({
      workflows: [holds],
      schedules: [{ name: 's', workflow: holds, input: { round }, every: { hours: 1 } }],
    });
  const { kit } = newApp(app(1));
  const { store } = kit.deps;
  const saveSchedule = store.schedules.save.bind(store.schedules);
  store.schedules.save = async (name, state) =>
    state.runId === undefined ? saveSchedule(name, state) : Promise.reject(new Error('died'));
  await kit.pass({ hours: 1, minutes: 1 });
  store.schedules.save = saveSchedule;
  kit.deploy(app(2));
  await kit.pass({ minutes: 3 });
  expect((await store.schedules.read('s')).starting).toBeUndefined();
});

test('F25 a name has nothing that cannot be seen', async () => {
  const { kit } = newApp();
  for (const key of ['a\u200bb', 'a\0', '\t', ' ', '\u3164'])
    expect(await codeOf(startRun(kit.deps, { workflow: 'holds', key, input: { round: 1 } }))).toBe('INPUT_INVALID');
});

test('F21 a schema that throws refuses the input', async () => {
  const validate = (): never => {
    throw new Error('bad');
  };
  const run = async (): Promise<null> => null;
  const odd = defineWorkflow({ name: 'odd', input: { '~standard': { version: 1, vendor: 'test', validate } }, run });
  const input = z.string().transform((text): unknown => JSON.parse(text));
  const { kit } = newApp(defineApp({ workflows: [odd, defineWorkflow({ name: 'parsing', input, run })] }));
  for (const workflow of ['odd', 'parsing'])
    expect(await codeOf(startRun(kit.deps, { workflow, input: '{' }))).toBe('INPUT_INVALID');
});

test('F21 a getter that throws is no field', async () => {
  let calls = 0;
  const flow = defineWorkflow({
    name: 'flow',
    run: async (ctx) =>
      ctx.step('s', () => {
        if (++calls > 1) return calls;
        const error = new Error('busy');
        Object.defineProperty(error, 'retryAfterMs', {
          get: () => {
            throw new Error('no');
          },
        });
        throw error;
      }),
  });
  const { kit } = newApp(defineApp({ workflows: [flow] }));
  const runId = await kit.start(flow);
  expect(await kit.pass({ minutes: 1 }).then(() => statusOf(kit, runId), String)).toBe('completed');
});

test('F22 the input of the next run goes through the schema', async () => {
  const input = z.object({ n: z.coerce.number().max(9) });
  const flow = defineWorkflow({
    name: 'flow',
    input,
    run: async (ctx, { n }) => (n < 2 ? ctx.continueAsNew({ n: '2' }) : n),
  });
  const { kit } = newApp(defineApp({ workflows: [flow] }));
  expect(await kit.runToEnd(await kit.start(flow, { n: 1 }))).toEqual({ status: 'completed', result: 2 });
});

test('F22 a next run whose input does not fit fails', async () => {
  const flow = defineWorkflow({
    name: 'flow',
    input: z.object({ n: z.number() }),
    run: async (ctx, { n }) => (n < 2 ? ctx.continueAsNew({ n: 'two' }) : n),
  });
  const { kit } = newApp(defineApp({ workflows: [flow] }));
  expect(await codeOf(kit.runToEnd(await kit.start(flow, { n: 1 })))).toMatchObject({ status: 'failed' });
});

test('F20 minutes of a fixed hour are fixed times', async () => {
  const { schedules } = defineApp({
    workflows: [holds],
    schedules: [
      { name: 'a', workflow: holds, cron: '30 2,14 * * *', timeZone: 'Europe/Berlin' },
      { name: 'b', workflow: holds, cron: '*/30 2 * * *', timeZone: 'Europe/Berlin' },
    ],
  });
  const next = await Promise.all(schedules.map((one) => one.nextAfterMs(Date.parse('2026-03-29T00:00Z'))));
  expect(next).toEqual([Date.parse('2026-03-29T01:00Z'), Date.parse('2026-03-29T01:00Z')]);
});

test('F86 schedules go on when what is due cannot be read', async () => {
  const { kit } = newApp(
    defineApp({
      workflows: [holds],
      schedules: [{ name: 's', workflow: holds, input: { round: 1 }, every: { minutes: 1 } }],
    }),
  );
  kit.deps.store.lists.due = async () => Promise.reject(new EngineError('STORE_UNAVAILABLE', 'throttled'));
  const event = { time: new Date(kit.clock.nowMs()).toISOString() } as Parameters<
    ReturnType<typeof scheduleHandler>
  >[0];
  expect(await codeOf(scheduleHandler(() => kit.deps)(event))).toBe('STORE_UNAVAILABLE');
  expect((await kit.deps.store.schedules.read('s')).runId).toBeDefined();
});

test('F86 a tick is kept while the table is away', async () => {
  const { kit } = newApp(
    defineApp({
      workflows: [holds],
      schedules: [{ name: 's', workflow: holds, input: { round: 1 }, every: { hours: 1 } }],
    }),
  );
  const { store } = kit.deps;
  store.heads.create = async () => Promise.reject(new EngineError('STORE_UNAVAILABLE', 'throttled'));
  await kit.pass({ hours: 1, minutes: 30 });
  expect((await store.schedules.read('s')).starting).toBeDefined();
});
