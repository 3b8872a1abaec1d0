import { defineWorkflow, hasCode, type ChildFailed } from 'outwait';
import { describe, expect, it } from 'vitest';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { z } from 'zod';
import { eventTypes, startedIn, statusesOf, WatchedServer, type Started } from './support.js';

interface Job {
  readonly hours: number;
  readonly end?: 'failure';
}

const child = defineWorkflow<Job, number>({
  name: 'child',
  run: async (ctx, { hours, end }) => {
    await ctx.sleep({ hours });
    if (end === 'failure') throw new TypeError('no such file');
    return hours * 2;
  },
});

async function childRunOf({ app, runId }: Started): Promise<string> {
  await app.settleDown();
  const { waits } = await app.show(runId);
  const found = waits.find(({ kind }) => kind === 'child')?.childRunId;
  if (found === undefined) throw new Error('the run waits for no child');
  return found;
}

const asData = (error: unknown): unknown => {
  if (!hasCode(error, 'CHILD_FAILED')) throw error;
  const { name, details } = error;
  return [name, details?.['status'], (details?.['error'] as { code: string; message: string } | undefined)?.message];
};

describe('a child', () => {
  const parent = defineWorkflow<Job>({ name: 'parent', run: async (ctx, job) => ctx.child(child, job) });

  it('is a run of its own, whose result its parent is given', async () => {
    const run = await startedIn([parent, child], { hours: 3 });
    const childRunId = await childRunOf(run);
    expect((await run.app.show(childRunId)).parent).toEqual({ runId: run.runId, waitId: '1', workflow: 'parent' });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 6 });
    expect((await run.app.show(childRunId)).outcome).toEqual({ status: 'completed', result: 6 });
    expect(await eventTypes(run)).toEqual([
      'RunStarted',
      'ChildRequested',
      'ChildStarted',
      'TokenSettled',
      'RunEnding',
      'RunEnded',
    ]);
  });

  it('that fails rejects with its error in the details', async () => {
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) => ctx.child(child, { hours: 1, end: 'failure' }).catch(asData),
    });
    const run = await startedIn([flow, child]);
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: ['ChildFailed', 'failed', 'no such file'],
    });
  });

  it.each([
    ['cancel', 'cancelled'],
    ['terminate', 'terminated'],
  ] as const)('that is stopped from outside by %s rejects and says so', async (kind, status) => {
    const flow = defineWorkflow({ name: 'parent', run: async (ctx) => ctx.child(child, { hours: 9 }).catch(asData) });
    const run = await startedIn([flow, child]);
    await requestStop(run.app.deps, { runId: await childRunOf(run), kind });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: ['ChildFailed', status, null] });
  });

  it('whose input its schema refuses fails, and no run of it is there', async () => {
    const strict = defineWorkflow({ name: 'child', input: z.object({ n: z.number() }), run: async () => 1 });
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) =>
        ctx
          .child(strict, { n: 'three' } as never)
          .catch((error: unknown) => [
            (error as ChildFailed).code,
            ((error as ChildFailed).details?.['error'] as { code: string }).code,
          ]),
    });
    const run = await startedIn([flow, strict]);
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: ['CHILD_FAILED', 'INPUT_INVALID'],
    });
    expect(await statusesOf(run, 'child')).toEqual([]);
  });

  it('of a workflow that is not deployed fails and names those that are', async () => {
    const flow = defineWorkflow({ name: 'parent', run: async (ctx) => ctx.child(child, { hours: 1 }).catch(asData) });
    const run = await startedIn([flow]);
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: ['ChildFailed', 'failed', 'no workflow is named "child"; known workflows: parent'],
    });
  });

  it('that goes on as a new run is waited for until that one ends', async () => {
    const rounds = defineWorkflow<{ round: number }, string>({
      name: 'child',
      run: async (ctx, { round }) => {
        await ctx.sleep({ hours: 1 });
        if (round < 3) return ctx.continueAsNew({ round: round + 1 });
        return `after ${round}`;
      },
    });
    const flow = defineWorkflow({ name: 'parent', run: async (ctx) => ctx.child(rounds, { round: 1 }) });
    const run = await startedIn([flow, rounds]);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'after 3' });
    expect(await statusesOf(run, 'child')).toEqual(['completed', 'continued', 'continued']);
  });

  it('may have children of its own, and a cancel goes down to the last', async () => {
    const reports = new WatchedServer();
    const leaf = defineWorkflow({
      name: 'leaf',
      run: async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' }),
    });
    const middle = defineWorkflow({ name: 'middle', run: async (ctx) => ctx.child(leaf, null) });
    const top = defineWorkflow({ name: 'top', run: async (ctx) => ctx.child(middle, null) });
    const run = await startedIn([top, middle, leaf], null, { reports });
    await run.app.pass({ minutes: 5 });
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled' });
    await run.app.pass({ minutes: 10 });
    expect([...(await statusesOf(run, 'middle')), ...(await statusesOf(run, 'leaf'))]).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(reports.cancels).toBe(1);
  });

  it('is one of a thousand in one run', { timeout: 120_000 }, async () => {
    const quick = defineWorkflow<{ n: number }, number>({ name: 'child', run: async (_, { n }) => n });
    const flow = defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        const all = await Promise.all(Array.from({ length: 1000 }, (_, n) => ctx.child(quick, { n })));
        return all.reduce((sum, n) => sum + n, 0);
      },
    });
    const run = await startedIn([flow, quick]);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 499_500 });
  });
});

describe('a child that its parent no longer waits for', () => {
  const closing = (parentClose: 'cancel' | 'terminate' | 'abandon', how: 'timeout' | 'return' | 'throw') =>
    defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        if (how === 'timeout') {
          return ctx
            .child(child, { hours: 9 }, { parentClose, timeout: { hours: 2 } })
            .catch((error: unknown) => (error as { code: string }).code);
        }
        void ctx.child(child, { hours: 9 }, { parentClose });
        await ctx.sleep({ hours: 1 });
        if (how === 'throw') throw new Error('enough');
        return 'enough';
      },
    });

  it.each([
    ['cancel', 'return', 'cancelled'],
    ['terminate', 'return', 'terminated'],
    ['abandon', 'return', 'completed'],
    ['cancel', 'throw', 'cancelled'],
    ['cancel', 'timeout', 'cancelled'],
    ['terminate', 'timeout', 'terminated'],
    ['abandon', 'timeout', 'completed'],
  ] as const)('with parentClose %s, after a %s, is %s', async (policy, how, status) => {
    const run = await startedIn([closing(policy, how), child]);
    const outcome = await run.app.runToEnd(run.runId);
    if (how === 'timeout') expect(outcome).toEqual({ status: 'completed', result: 'CHILD_TIMED_OUT' });
    await run.app.pass({ hours: 10 });
    expect(await statusesOf(run, 'child')).toEqual([status]);
  });

  it.each([
    ['cancel', 'cancelled'],
    ['terminate', 'cancelled'],
  ] as const)('because its parent was stopped by %s is %s', async (kind, status) => {
    const flow = defineWorkflow({ name: 'parent', run: async (ctx) => ctx.child(child, { hours: 9 }) });
    const run = await startedIn([flow, child]);
    await run.app.pass({ hours: 1 });
    await requestStop(run.app.deps, { runId: run.runId, kind });
    await run.app.runToEnd(run.runId);
    await run.app.pass({ minutes: 5 });
    expect(await statusesOf(run, 'child')).toEqual([status]);
  });

  it('and that ends later changes nothing of its parent', async () => {
    const run = await startedIn([closing('abandon', 'return'), child]);
    await run.app.runToEnd(run.runId);
    const before = await run.app.history(run.runId);
    await run.app.pass({ hours: 10 });
    expect(await run.app.history(run.runId)).toEqual(before);
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'enough' });
  });
});
