import { defineApp, defineWorkflow } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';

const waits = defineWorkflow({ name: 'waits', run: async (ctx) => ctx.signal('go') });
const naps = defineWorkflow({ name: 'naps', run: async (ctx) => ctx.sleep({ days: 1 }) });
const asks = defineWorkflow({
  name: 'asks',
  run: async (ctx) => (await ctx.externalToken({ name: 'approval', timeout: { hours: 1 } })).outcome,
});
const app = () => createTestApp(defineApp({ workflows: [waits, naps, asks] }));

describe('the test kit (F48)', () => {
  it('starts under an id, which finds the run that has it', async () => {
    const kit = app();
    const runId = await kit.start(waits, undefined, { id: 'order-7', tags: { team: 'ops' } });
    expect(await kit.start(waits, undefined, { id: 'order-7' })).toBe(runId);
    expect(await kit.show(runId)).toMatchObject({ id: 'order-7', tags: { team: 'ops' } });
  });

  it('starts with a signal, once for a key', async () => {
    const kit = app();
    const options = { key: 'k', signal: { name: 'go', payload: 'now' } };
    const runId = await kit.start(waits, undefined, options);
    expect(await kit.start(waits, undefined, options)).toBe(runId);
    expect(await kit.runToEnd(runId)).toEqual({ status: 'completed', result: 'now' });
  });

  it('refuses a start with an id and a key, and a signal without a key', async () => {
    const kit = app();
    await expect(kit.start(waits, undefined, { id: 'a', key: 'b' })).rejects.toThrow('an id, or a key');
    await expect(kit.start(waits, undefined, { signal: { name: 'go' } })).rejects.toThrow('needs a key');
  });

  it('starts after a delay, and ends a run in time', async () => {
    const kit = app();
    const runId = await kit.start(naps, undefined, { delay: { hours: 1 }, timeout: { hours: 2 } });
    await kit.pass({ minutes: 59 });
    expect((await kit.show(runId)).waits).toEqual([]);
    expect(await kit.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMED_OUT' } });
  });

  it('pauses, resumes, retries and terminates runs, and lists them', async () => {
    const kit = app();
    const runId = await kit.start(waits);
    await kit.settleDown();
    expect(await kit.pause(runId)).toBe(true);
    await kit.settleDown();
    await kit.signal(runId, 'go', 'on');
    await kit.settleDown();
    expect((await kit.show(runId)).pausedUntilMs).toBeDefined();
    expect(await kit.resume(runId)).toBe(true);
    expect(await kit.retryNow(runId)).toBe(true);
    expect(await kit.runToEnd(runId)).toEqual({ status: 'completed', result: 'on' });
    await kit.pass({ seconds: 1 });
    const other = await kit.start(naps);
    expect(await kit.terminate(other, 'enough')).toBe(true);
    expect(await kit.runToEnd(other)).toEqual({ status: 'terminated', reason: 'enough' });
    expect(await kit.terminate(other)).toBe(false);
    expect((await kit.list()).map((run) => [run.workflow, run.status])).toEqual([
      ['naps', 'terminated'],
      ['waits', 'completed'],
    ]);
    expect(await kit.list({ workflow: 'waits' })).toHaveLength(1);
  });

  it('keeps a wait alive by heartbeats', async () => {
    const kit = app();
    const runId = await kit.start(asks);
    await expect(kit.tokenOf(runId, 'approval')).rejects.toThrow('await app.settleDown()');
    await kit.settleDown();
    const token = await kit.tokenOf(runId, 'approval');
    await kit.pass({ minutes: 59 });
    await kit.heartbeat(token, { hours: 2 });
    await kit.pass({ minutes: 90 });
    await kit.settle(token, 'yes');
    expect(await kit.runToEnd(runId)).toMatchObject({ status: 'completed' });
  });
});

describe('the test kit beside fake timers of the runner (F42)', () => {
  const tick = Object.getOwnPropertyDescriptor(process, 'nextTick') ?? {};
  const microtask = Object.getOwnPropertyDescriptor(globalThis, 'queueMicrotask') ?? {};
  afterEach(() => {
    vi.useRealTimers();
    Object.defineProperty(process, 'nextTick', tick);
    Object.defineProperty(globalThis, 'queueMicrotask', microtask);
  });

  it('runs a workflow to its end, though no timer, tick or microtask of the globals ever comes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'setImmediate', 'Date', 'performance'] });
    // As Jest does by default, which vitest does not in a pool of processes.
    Object.assign(process, { nextTick: () => undefined });
    Object.assign(globalThis, { queueMicrotask: () => undefined });
    const kit = app();
    expect(await kit.runToEnd(await kit.start(naps))).toEqual({ status: 'completed' });
  });
});
