import { defineApp, defineWorkflow } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { startOrSignal, startRun, type StartRequest } from '../../lib/operations/requests/start-run.js';

const order = defineWorkflow({
  name: 'order',
  input: z.object({ n: z.number(), note: z.string().default('none') }).nullish(),
  run: async (ctx) => ctx.signal('paid'),
});

function anApp() {
  const app = createTestApp(defineApp({ workflows: [order] }));
  const start = (request: Partial<StartRequest> = {}) =>
    startRun(app.deps, { workflow: 'order', input: { n: 1 }, key: 'k', ...request });
  return { app, start };
}

/** Deploys code with a changed schema over the same table. */
function deploySchema(app: TestApp, input: z.ZodType): void {
  app.deploy(defineApp({ workflows: [defineWorkflow({ name: 'order', input, run: async () => null })] }));
}

const reused = { code: 'KEY_REUSED' };

describe('F24 a start with a known key', () => {
  it.each<[string, Partial<StartRequest>]>([
    ['another input', { input: { n: 2 } }],
    ['an input that does not fit', { input: 'n' }],
    ['what the schema has made of the input', { input: { n: 1, note: 'none' } }],
    ['no input', { input: null }],
    ['tags', { tags: { team: 'ops' } }],
    ['a delay', { delayMs: 1 }],
    ['a timeout', { timeoutMs: 1_000 }],
  ])('and %s is refused, and changes nothing', async (_, request) => {
    const { app, start } = anApp();
    const { runId } = await start();
    await expect(start(request)).rejects.toMatchObject(reused);
    expect(await app.show(runId)).toMatchObject({ input: { n: 1, note: 'none' } });
    expect(await start()).toEqual({ runId, deduplicated: true });
  });

  it('tells digests and nothing of what was sent', async () => {
    const { start } = anApp();
    await start({ tags: { secret: 'tag of the first' } });
    const error = await start({ input: { n: 4711 } }).catch((thrown: unknown) => thrown as Error & { details: object });
    const { details, message } = error as Error & { readonly details: Record<string, string> };
    expect(Object.keys(details).sort()).toEqual(['runId', 'sentDigest', 'usedDigest']);
    expect(details['sentDigest']).not.toBe(details['usedDigest']);
    expect(JSON.stringify([message, details])).not.toMatch(/4711|secret|tag of/);
  });

  it('may name its fields in another order, and leave out what is null', async () => {
    const { app, start } = anApp();
    const first = await start({ input: { n: 1, note: 'x' }, tags: { a: '1', b: '2' }, key: 'two' });
    expect(await start({ input: { note: 'x', n: 1 }, tags: { b: '2', a: '1' }, key: 'two' })).toEqual({
      runId: first.runId,
      deduplicated: true,
    });
    const none = await startRun(app.deps, { workflow: 'order', key: 'none' });
    expect(await start({ input: null, tags: {}, key: 'none' })).toEqual({ runId: none.runId, deduplicated: true });
  });

  it('is found when a deployment in between takes its input no more, or has lost the workflow', async () => {
    const { app, start } = anApp();
    const { runId } = await start();
    deploySchema(app, z.object({ other: z.string() }));
    expect(await start()).toEqual({ runId, deduplicated: true });
    app.deploy(defineApp({ workflows: [] }));
    expect(await start()).toEqual({ runId, deduplicated: true });
  });

  it('is refused also to the one of two at once that comes second', async () => {
    const { start } = anApp();
    const answers = await Promise.allSettled([start({ input: { n: 1 } }), start({ input: { n: 2 } })]);
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({ reason: reused });
  });

  it('of an earlier run, which has no digest, is still found', async () => {
    const { app, start } = anApp();
    const createRun = app.deps.store.heads.create.bind(app.deps.store.heads);
    app.deps.store.heads.create = async ({ sentDigest: _, ...head }, writerId) => createRun(head, writerId);
    const { runId } = await start();
    expect(await start({ input: { n: 2 } })).toEqual({ runId, deduplicated: true });
  });
});

describe('F24 a start with a signal', () => {
  const startAndSignal = ({ deps }: TestApp, n: number, key: string, payload = 'x') =>
    startOrSignal(deps, { workflow: 'order', key: 'k', input: { n }, signal: { name: 'paid', key, payload } });

  it('and another input than the run of its key is refused, and the signal is not given', async () => {
    const { app } = anApp();
    const { runId } = await startAndSignal(app, 1, 'a');
    await expect(startAndSignal(app, 2, 'b')).rejects.toMatchObject(reused);
    expect(await app.deps.store.inbox.readAll(runId)).toHaveLength(1);
  });

  it('is refused to the one of two at once that has another input', async () => {
    const { app } = anApp();
    const answers = await Promise.allSettled([startAndSignal(app, 1, 'a'), startAndSignal(app, 2, 'b')]);
    expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({ reason: reused });
  });

  it('and the key of a signal with another payload is refused', async () => {
    const { app } = anApp();
    await startAndSignal(app, 1, 'a');
    await expect(startAndSignal(app, 1, 'a', 'y')).rejects.toMatchObject(reused);
    expect(await startAndSignal(app, 1, 'a')).toMatchObject({ deduplicated: true });
  });
});

describe('F24 a request to a run under a known key', () => {
  it('that is a signal with another payload is refused, also once it has been read', async () => {
    const { app, start } = anApp();
    const { runId } = await start();
    const signal = (payload?: number) =>
      signalRun(app.deps, runId, { name: 'paid', key: 's', ...(payload === undefined ? {} : { payload }) });
    expect(await signal(1)).toEqual({ accepted: true });
    await expect(signal(2)).rejects.toMatchObject(reused);
    await expect(signal()).rejects.toMatchObject(reused);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 1 });
    await expect(signal(2)).rejects.toMatchObject(reused);
    expect(await signal(1)).toEqual({ accepted: true });
  });

  it.each(['cancel', 'terminate'] as const)(
    'that is a %s for another reason, or of the other kind, is refused',
    async (kind) => {
      const { app, start } = anApp();
      const { runId } = await start();
      const stop = (change: object) =>
        requestStop(app.deps, { runId, kind, requestId: 'r', reason: 'enough', ...change });
      expect(await stop({})).toEqual({ accepted: true });
      expect(await stop({})).toEqual({ accepted: true });
      await expect(stop({ reason: 'too much' })).rejects.toMatchObject(reused);
      await expect(stop({ kind: kind === 'cancel' ? 'terminate' : 'cancel' })).rejects.toMatchObject(reused);
    },
  );

  it('that came before items had digests is still accepted', async () => {
    const { app, start } = anApp();
    const { runId } = await start();
    const putInbox = app.deps.store.inbox.put.bind(app.deps.store.inbox);
    app.deps.store.inbox.put = async ({ sentDigest: _, ...record }) => putInbox(record);
    expect(await signalRun(app.deps, runId, { name: 'paid', key: 's', payload: 1 })).toEqual({ accepted: true });
    app.deps.store.inbox.put = putInbox;
    expect(await signalRun(app.deps, runId, { name: 'paid', key: 's', payload: 2 })).toEqual({ accepted: true });
  });

  it('that was handed on to the next run is known there by what was sent', async () => {
    const rounds = defineWorkflow<number>({
      name: 'rounds',
      run: async (ctx, round) => (round === 1 ? ctx.continueAsNew(2) : ctx.sleep({ days: 1 })),
    });
    const app = createTestApp(defineApp({ workflows: [rounds] }));
    const { runId } = await startRun(app.deps, { workflow: 'rounds', input: 1 });
    await signalRun(app.deps, runId, { name: 'go', key: 's', payload: 1 });
    await app.settleDown();
    const { nextRunId = '' } = await app.show(runId);
    await expect(signalRun(app.deps, nextRunId, { name: 'go', key: 's', payload: 2 })).rejects.toMatchObject(reused);
    expect(await signalRun(app.deps, nextRunId, { name: 'go', key: 's', payload: 1 })).toEqual({ accepted: true });
  });
});

it('F24 a tick of a schedule is found whatever it has sent, after a deploy that changes its input', async () => {
  const nightly = (n: number) =>
    defineApp({
      workflows: [order],
      schedules: [{ name: 'nightly', workflow: order, input: { n }, every: { hours: 1 }, jitter: { minutes: 9 } }],
    });
  const app = createTestApp(nightly(1));
  const { store } = app.deps;
  const saveSchedule = store.schedules.save.bind(store.schedules);
  // The process dies between the start and the write that records it.
  store.schedules.save = async (name, state) => {
    if (state.runId !== undefined) throw new Error('died');
    return saveSchedule(name, state);
  };
  await app.pass({ hours: 1, minutes: 1 });
  store.schedules.save = saveSchedule;
  app.deploy(nightly(2));
  await app.pass({ minutes: 5 });
  expect((await store.schedules.read('nightly')).starting).toBeUndefined();
});
