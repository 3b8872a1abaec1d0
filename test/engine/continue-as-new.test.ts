import { defineWorkflow, type WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { aFlow, eventTypes, started, startedIn, statusesOf, WatchedServer, type Started } from './support.js';

async function nextOf({ app, runId }: Started): Promise<string> {
  const outcome = await app.runToEnd(runId, { follow: false });
  if (outcome.status !== 'continued') throw new Error(`the run is ${outcome.status}`);
  return outcome.nextRunId;
}

const rounds = (last: number, body: (ctx: WorkflowContext, round: number) => Promise<unknown>) =>
  defineWorkflow<{ round: number }>({
    name: 'flow',
    run: async (ctx, { round }) => {
      const got = await body(ctx, round);
      return round < last ? ctx.continueAsNew({ round: round + 1 }) : got;
    },
  });

describe('a run that goes on as a new one', () => {
  it('ends, and the next one begins with its input and a history of its own', async () => {
    const run = await startedIn([rounds(2, async (_, round) => round)], { round: 1 });
    const nextRunId = await nextOf(run);
    expect(await run.app.runToEnd(nextRunId)).toEqual({ status: 'completed', result: 2 });
    expect(await run.app.show(nextRunId)).toMatchObject({ previousRunId: run.runId, input: { round: 2 } });
    expect(await run.app.show(run.runId)).toMatchObject({ status: 'continued', nextRunId });
    expect(await eventTypes({ app: run.app, runId: nextRunId })).toEqual(['RunStarted', 'RunEnding', 'RunEnded']);
  });

  it('hands on the signals that nobody has read, in their order, and none that was read (S0-175)', async () => {
    const run = await startedIn([rounds(4, async (ctx) => ctx.signal('n'))], { round: 1 });
    for (const n of [1, 2, 3, 4]) await run.app.signal(run.runId, 'n', n);
    const second = await nextOf(run);
    const third = await nextOf({ app: run.app, runId: second });
    const fourth = await nextOf({ app: run.app, runId: third });
    expect(await run.app.runToEnd(fourth)).toEqual({ status: 'completed', result: 4 });
    const delivered = await Promise.all(
      [run.runId, second, third].map(async (runId) => (await run.app.show(runId)).unreadSignals?.length ?? 0),
    );
    expect(delivered).toEqual([3, 2, 1]);
  });

  it('knows a keyed signal again that it handed on', async () => {
    const run = await startedIn([rounds(2, async (ctx, round) => (round === 1 ? 0 : ctx.signal('go')))], { round: 1 });
    await run.app.signal(run.runId, 'go', 'once', 'k');
    const nextRunId = await nextOf(run);
    expect(await run.app.signal(nextRunId, 'go', 'once', 'k')).toBe(true);
    expect(await run.app.signal(run.runId, 'go', 'once', 'k')).toBe(true);
    expect(await run.app.runToEnd(nextRunId)).toEqual({ status: 'completed', result: 'once' });
    expect((await run.app.show(nextRunId)).unreadSignals).toBeUndefined();
  });

  it('passes on what is sent to the old id: signals and cancels', async () => {
    const flow = rounds(3, async (ctx, round) => {
      if (round < 3) return round;
      await ctx.signal('go');
      return ctx.sleep({ days: 9 });
    });
    const run = await startedIn([flow], { round: 1 });
    const last = await nextOf({ app: run.app, runId: await nextOf(run) });
    await run.app.settleDown();
    expect(await run.app.signal(run.runId, 'go', 'to the first')).toBe(true);
    await run.app.settleDown();
    expect((await run.app.show(last)).waits.map(({ kind }) => kind)).toEqual(['timer']);
    expect(await run.app.cancel(run.runId, 'enough')).toBe(true);
    expect(await run.app.runToEnd(last)).toEqual({ status: 'cancelled', reason: 'enough' });
  });

  it('closes its open waits: remote tasks are cancelled, children stopped', async () => {
    const reports = new WatchedServer();
    const child = defineWorkflow({ name: 'child', run: async (ctx) => ctx.sleep({ days: 1 }) });
    const flow = rounds(2, async (ctx, round) => {
      if (round > 1) return 'done';
      void ctx.callRemoteTask({ server: 'reports', tool: 'export' });
      void ctx.child(child, null);
      await ctx.sleep({ hours: 1 });
      return 'never';
    });
    const run = await startedIn([flow, child], { round: 1 }, { reports });
    expect(await run.app.runToEnd(await nextOf(run))).toEqual({ status: 'completed', result: 'done' });
    await run.app.pass({ minutes: 5 });
    expect(reports.cancels).toBe(1);
    expect(await statusesOf(run, 'child')).toEqual(['cancelled']);
  });

  it('hands on tags and the deadline of the whole', async () => {
    const flow = rounds(2, async (ctx, round) => (round === 1 ? ctx.sleep({ hours: 1 }) : ctx.sleep({ days: 9 })));
    const { app } = await startedIn([flow], { round: 1 });
    const options = { timeoutMs: 7_200_000, tags: { team: 'ops' } };
    const { runId } = await startRun(app.deps, { workflow: 'flow', input: { round: 1 }, ...options });
    const nextRunId = await nextOf({ app, runId });
    expect(await app.show(nextRunId)).toMatchObject({ tags: { team: 'ops' } });
    expect(await app.runToEnd(nextRunId)).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMED_OUT' } });
  });

  it('has other random numbers than the one before', async () => {
    const seen: unknown[] = [];
    const draw = async (ctx: WorkflowContext): Promise<void> => void seen.push(ctx.random());
    const run = await startedIn([rounds(2, draw)], { round: 1 });
    await run.app.runToEnd(await nextOf(run));
    expect(new Set(seen).size).toBe(2);
  });

  it('with an input that is too large fails instead', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.continueAsNew('x'.repeat(2_097_151))));
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'PAYLOAD_TOO_LARGE', details: { sizeBytes: 2_097_153, limitBytes: 2_097_152 } },
    });
  });

  it('with an input that is not JSON fails instead', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.continueAsNew(1n as never)));
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_INVALID' } });
  });
});
