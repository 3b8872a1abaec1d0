import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../../lib/base/caller.js';
import { EngineError } from '../../lib/base/errors.js';
import type { Deps } from '../../lib/operations/deps.js';
import { startRun } from '../../lib/operations/requests/start-run.js';

const target = defineWorkflow({
  name: 'target',
  input: z.object({ n: z.number() }),
  run: async (ctx, { n }) => ({ n, went: await ctx.signal('go') }),
});

/** An app whose workflow `flow` does `run`, beside `target`. */
function kitOf(run: (ctx: WorkflowContext, input: unknown) => Promise<unknown>) {
  const flow = defineWorkflow({ name: 'flow', run });
  return { kit: createTestApp(defineApp({ workflows: [flow, target] })), flow };
}

const codeOf = (error: unknown): string => (error as EngineError).code;

describe('ctx.startRun', () => {
  it('starts one run of its own, which goes on when its starter has ended', async () => {
    const { kit, flow } = kitOf(async (ctx) => ctx.startRun(target, { n: 1 }, { tags: { of: 'flow' } }));
    const { result } = (await kit.runToEnd(await kit.start(flow))) as { readonly result: string };
    const started = await kit.show(result);
    expect(started).toMatchObject({ workflow: 'target', status: 'running', tags: { of: 'flow' } });
    expect(started).not.toHaveProperty('parent');
    await kit.signal(result, 'go', 'on');
    expect(await kit.runToEnd(result)).toEqual({ status: 'completed', result: { n: 1, went: 'on' } });
    expect(await kit.list({ workflow: 'target' })).toHaveLength(1);
  });

  it('starts one run, though the answer to its write is lost', async () => {
    const { kit, flow } = kitOf(async (ctx) => ctx.startRun(target, { n: 1 }));
    const { store } = kit.deps;
    const create = store.heads.create.bind(store.heads);
    let lost = 0;
    // The answer of the first start is lost.
    store.heads.create = async (...given) => {
      const made = await create(...given);
      if (given[0].workflow === 'target' && lost++ === 0) throw new EngineError('STORE_RESULT_UNKNOWN', 'lost');
      return made;
    };
    const { result } = (await kit.runToEnd(await kit.start(flow))) as { readonly result: string };
    expect(lost).toBeGreaterThan(0);
    expect((await kit.list({ workflow: 'target' })).map(({ runId }) => runId)).toEqual([result]);
  });

  it('starts two runs by two calls, and one by one key', async () => {
    const { kit, flow } = kitOf(async (ctx) => [
      await ctx.startRun(target, { n: 1 }),
      await ctx.startRun(target, { n: 1 }),
      await ctx.startRun(target, { n: 1 }, { key: 'k' }),
      await ctx.startRun(target, { n: 1 }, { key: 'k' }),
    ]);
    const { result } = (await kit.runToEnd(await kit.start(flow))) as { readonly result: readonly string[] };
    expect(new Set(result).size).toBe(3);
    expect(result[2]).toBe(result[3]);
  });

  it('is not cancelled with its starter', async () => {
    const { kit, flow } = kitOf(async (ctx) => {
      await ctx.startRun(target, { n: 1 });
      await ctx.sleep({ days: 1 });
    });
    const runId = await kit.start(flow);
    await kit.settleDown();
    await kit.cancel(runId);
    expect(await kit.runToEnd(runId)).toMatchObject({ status: 'cancelled' });
    expect(await kit.list({ workflow: 'target', status: 'running' })).toHaveLength(1);
  });

  it.each<[string, (ctx: WorkflowContext) => Promise<unknown>, string]>([
    ['an input that the schema refuses', (ctx) => ctx.startRun(target, { n: 'x' } as never), 'INPUT_INVALID'],
    [
      'a workflow that the app does not have',
      (ctx) => ctx.startRun(defineWorkflow({ name: 'other', run: async () => 1 }), undefined),
      'WORKFLOW_NOT_FOUND',
    ],
    [
      'a key that was used for another input',
      async (ctx) => {
        await ctx.startRun(target, { n: 1 }, { key: 'k' });
        return ctx.startRun(target, { n: 2 }, { key: 'k' });
      },
      'KEY_REUSED',
    ],
    ['a run that is not there', (ctx) => ctx.signalRun('f'.repeat(32), 'go'), 'RUN_NOT_FOUND'],
    ['a name of a signal that is none', (ctx) => ctx.signalRun('f'.repeat(32), ''), 'INPUT_INVALID'],
  ])('throws for %s, at once', async (_, run, code) => {
    const { kit, flow } = kitOf(async (ctx) => run(ctx).catch(codeOf));
    expect(await kit.runToEnd(await kit.start(flow), { within: { minutes: 1 } })).toEqual({
      status: 'completed',
      result: code,
    });
  });
});

describe('ctx.signalRun', () => {
  it('signals a run once, and says when it has ended', async () => {
    const { kit, flow } = kitOf(async (ctx) => {
      const runId = await ctx.startRun(target, { n: 1 });
      const first = await ctx.signalRun(runId, 'go', { a: 1 });
      await ctx.sleep({ minutes: 1 });
      return [runId, first, await ctx.signalRun(runId, 'go')];
    });
    const { result } = (await kit.runToEnd(await kit.start(flow))) as unknown as { readonly result: readonly [string] };
    expect(result.slice(1)).toEqual([true, false]);
    expect(await kit.runToEnd(result[0])).toEqual({ status: 'completed', result: { n: 1, went: { a: 1 } } });
    const { events } = await kit.history(result[0]);
    expect(events.filter(({ type }) => type === 'SignalReceived')).toHaveLength(1);
  });

  it.each([
    ['its own tenant', 'acme', true],
    ['another tenant', 'other', 'RUN_NOT_FOUND'],
    ['none, as one of another', undefined, 'RUN_NOT_FOUND'],
  ])('of a run of a tenant reaches runs of %s', async (_, tenant, expected) => {
    const { kit, flow } = kitOf(async (ctx, input) =>
      ctx.signalRun((input as { readonly runId: string }).runId, 'go').catch(codeOf),
    );
    const of = (name: string | undefined): Deps => {
      const caller: Caller = { id: 'ann', roles: ['operate'], ...(name === undefined ? {} : { tenant: name }) };
      return { ...kit.deps, caller };
    };
    const { runId: other } = await startRun(of(tenant), { workflow: 'target', input: { n: 1 } });
    const { runId } = await startRun(of('acme'), { workflow: flow.name, input: { runId: other } });
    expect(await kit.runToEnd(runId)).toEqual({ status: 'completed', result: expected });
  });

  it('of a run of a tenant starts runs of its tenant', async () => {
    const { kit, flow } = kitOf(async (ctx) => ctx.startRun(target, { n: 1 }));
    const caller: Caller = { id: 'ann', roles: ['operate'], tenant: 'acme' };
    const { runId } = await startRun({ ...kit.deps, caller }, { workflow: flow.name });
    const { result } = (await kit.runToEnd(runId)) as { readonly result: string };
    expect((await kit.deps.store.heads.read(result))?.tenant).toBe('acme');
  });
});
