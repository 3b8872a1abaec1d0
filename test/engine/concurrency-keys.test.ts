import { defineApp, defineWorkflow, hasCode, type WhenBusy } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { startNamedRun } from '../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun } from '../../lib/operations/requests/start-run.js';
import { showRun } from '../../lib/operations/views/show-run.js';

interface Order {
  readonly customer: string | null;
  readonly n: number;
}

/** An app whose workflow notes when it begins and ends, and is under way until its signal comes. */
function newApp(whenBusy?: WhenBusy) {
  const notes: string[] = [];
  const order = defineWorkflow<Order>({
    name: 'order',
    concurrency: { key: ({ customer }) => customer ?? undefined, ...(whenBusy === undefined ? {} : { whenBusy }) },
    run: async (ctx, { n }) => {
      await ctx.step('begin', () => notes.push(`begin ${n}`));
      try {
        await ctx.signal('done');
      } finally {
        await ctx.shield(() => ctx.step('end', () => notes.push(`end ${n}`)));
      }
    },
  });
  const round = defineWorkflow<{ left: number }>({
    name: 'round',
    run: async (ctx, { left }) => {
      await ctx.step('note', () => notes.push(`round ${left}`));
      await ctx.sleep({ minutes: 1 });
      if (left > 0) return ctx.continueAsNew({ left: left - 1 });
      return undefined;
    },
  });
  const parent = defineWorkflow<Order>({
    name: 'parent',
    run: async (ctx, input) => ctx.child(order, input),
  });
  const kit = createTestApp(defineApp({ workflows: [order, round, parent] }));
  const start = async (n: number, customer: string | null = 'ada') => {
    const { runId } = await startRun(kit.deps, { workflow: 'order', input: { customer, n } });
    await kit.settleDown();
    return runId;
  };
  const end = async (runId: string) => {
    await kit.signal(runId, 'done');
    await kit.settleDown();
  };
  const statusOf = async (runId: string) => (await kit.show(runId)).status;
  return { kit, notes, start, end, statusOf };
}

const busy = (error: unknown): boolean => hasCode(error, 'CONCURRENCY_KEY_BUSY');

describe('runs with one concurrency key (EN-20)', () => {
  it('begin one after another, in the order in which they were accepted', async () => {
    const { notes, start, end } = newApp();
    const runs = [await start(1), await start(2), await start(3)];
    expect(notes).toEqual(['begin 1']);
    // Each begins at the end of the one before, without waiting for a look.
    for (const runId of runs) await end(runId);
    expect(notes).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3']);
  });

  it('do not hold up runs with another key, or without one', async () => {
    const { notes, start } = newApp();
    await start(1);
    await start(2, 'bob');
    await start(3, null);
    await start(4, null);
    expect(notes).toEqual(['begin 1', 'begin 2', 'begin 3', 'begin 4']);
  });

  it('say for which run they wait', async () => {
    const { kit, start, end } = newApp();
    const first = await start(1);
    const second = await start(2);
    expect(await showRun(kit.deps, second)).toMatchObject({ concurrencyKey: 'ada', afterRunId: first });
    await end(first);
    expect(await showRun(kit.deps, second)).not.toHaveProperty('afterRunId');
  });

  it('leave the lane at once when they are cancelled, and those behind go on waiting', async () => {
    const { kit, notes, start, end, statusOf } = newApp();
    const [first, second, third] = [await start(1), await start(2), await start(3)];
    await kit.cancel(second);
    await kit.settleDown();
    expect(await statusOf(second)).toBe('cancelled');
    await kit.pass({ hours: 1 });
    expect(notes).toEqual(['begin 1']);
    await end(first);
    await end(third);
    expect(notes).toEqual(['begin 1', 'end 1', 'begin 3', 'end 3']);
  });

  it('end at their deadline while they wait', async () => {
    const { kit, start, notes, statusOf } = newApp();
    await start(1);
    const { runId } = await startRun(kit.deps, {
      workflow: 'order',
      input: { customer: 'ada', n: 2 },
      timeoutMs: 60_000,
    });
    await kit.pass({ minutes: 2 });
    expect(await statusOf(runId)).toBe('failed');
    expect(notes).toEqual(['begin 1']);
  });

  it('wait for the continuations of a run too', async () => {
    const { kit, notes } = newApp();
    for (const left of [2, 0]) await startRun(kit.deps, { workflow: 'round', input: { left }, concurrencyKey: 'k' });
    await kit.pass({ minutes: 2, seconds: 30 });
    expect(notes).toEqual(['round 2', 'round 1', 'round 0']);
    await kit.pass({ seconds: 31 });
    expect(notes).toEqual(['round 2', 'round 1', 'round 0', 'round 0']);
  });

  it('are deduplicated by their idempotency key', async () => {
    const { kit, notes, start, end } = newApp();
    const first = await start(1);
    const request = { workflow: 'order', key: 'k', input: { customer: 'ada', n: 2 } };
    const started = await Promise.all(Array.from({ length: 5 }, () => startRun(kit.deps, request)));
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(1);
    expect(started.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    await kit.settleDown();
    await end(first);
    expect(notes).toEqual(['begin 1', 'end 1', 'begin 2']);
  });

  it('have their place however they are started', async () => {
    const { kit, notes, start, end } = newApp();
    const first = await start(1);
    const named = await startNamedRun(kit.deps, { workflow: 'order', id: 'i', input: { customer: 'ada', n: 2 } });
    await startOrSignal(kit.deps, {
      workflow: 'order',
      key: 's',
      input: { customer: 'ada', n: 3 },
      signal: { name: 'done' },
    });
    await startRun(kit.deps, { workflow: 'parent', input: { customer: 'ada', n: 4 } });
    await kit.settleDown();
    expect(notes).toEqual(['begin 1']);
    await end(first);
    await end(named.runId);
    expect(notes).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3', 'begin 4']);
  });

  it('cancel those before them if the newest wins', async () => {
    const { kit, notes, start, statusOf } = newApp('replace');
    const runs = [await start(1), await start(2), await start(3)];
    await kit.settleDown();
    expect(notes).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3']);
    expect(await Promise.all(runs.map(statusOf))).toEqual(['cancelled', 'cancelled', 'running']);
  });

  it('do not begin if a newer one comes while they wait', async () => {
    const { kit, notes, statusOf } = newApp('replace');
    const runs: string[] = [];
    for (const n of [1, 2, 3]) {
      const { runId } = await startRun(kit.deps, { workflow: 'order', input: { customer: 'ada', n } });
      runs.push(runId);
    }
    await kit.settleDown();
    expect(notes.filter((note) => note.startsWith('begin')).at(-1)).toBe('begin 3');
    expect(await Promise.all(runs.map(statusOf))).toEqual(['cancelled', 'cancelled', 'running']);
  });

  it('are refused while another one is under way, if the workflow says so', async () => {
    const { kit, notes, start, end } = newApp('refuse');
    const first = await start(1);
    await expect(start(2)).rejects.toSatisfy(busy);
    await expect(start(2)).rejects.toMatchObject({ details: { runId: first, status: 'running' } });
    await start(3, 'bob');
    await end(first);
    await start(4);
    expect(notes).toEqual(['begin 1', 'begin 3', 'end 1', 'begin 4']);
    const parent = await startRun(kit.deps, { workflow: 'parent', input: { customer: 'ada', n: 5 } });
    expect(await kit.runToEnd(parent.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'CHILD_FAILED', details: { error: { code: 'CONCURRENCY_KEY_BUSY' } } },
    });
  });

  it('let one of many concurrent starts through, if the others are refused', async () => {
    const { kit } = newApp('refuse');
    const starts = Array.from({ length: 20 }, (_, n) =>
      startRun(kit.deps, { workflow: 'order', input: { customer: 'ada', n } }),
    );
    const settled = await Promise.allSettled(starts);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(settled.every((one) => one.status === 'fulfilled' || busy(one.reason))).toBe(true);
  });

  it('are refused if the start gives a key and the workflow computes it', async () => {
    const { kit } = newApp();
    const request = { workflow: 'order', input: { customer: 'ada', n: 1 }, concurrencyKey: 'k' };
    await expect(startRun(kit.deps, request)).rejects.toSatisfy((error) => hasCode(error, 'INPUT_INVALID'));
    const other = { workflow: 'round', input: { left: 0 }, concurrencyKey: '' };
    await expect(startRun(kit.deps, other)).rejects.toSatisfy((error) => hasCode(error, 'INPUT_INVALID'));
  });
});
