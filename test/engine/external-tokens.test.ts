import { setImmediate as eventLoop } from 'node:timers/promises';
import { hasCode } from 'outwait';
import { describe, expect, it } from 'vitest';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { TokenKeys } from '../../lib/tokens/token-keys.js';
import { aFlow, endedAfterMs, started, type Started } from './support.js';

const approval = aFlow(async (ctx) => {
  const { outcome } = await ctx.externalToken({ name: 'approval', timeout: { days: 1 } });
  return outcome;
});

async function tokenOf({ app, runId }: Started): Promise<string> {
  await app.settleDown();
  return app.tokenOf(runId, 'approval');
}

const yes = { kind: 'completed', result: 'yes', isError: false } as const;

describe('an external token (EN-5)', () => {
  it('is settled once: the first is told so, later ones that it was settled (S0-171)', async () => {
    const run = await started(approval);
    const token = await tokenOf(run);
    await run.app.pass({ hours: 5 });
    expect(await settleToken(run.app.deps, { token, outcome: yes })).toEqual({ settled: true });
    const no = { kind: 'failed', message: 'no' } as const;
    expect(await settleToken(run.app.deps, { token, outcome: no })).toEqual({
      settled: false,
      reason: 'already_settled',
    });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: { result: 'yes', isError: false },
    });
    expect(await endedAfterMs(run)).toBe(18_000_000);
  });

  it('that is settled before the workflow awaits it keeps its settlement (S0-171)', async () => {
    const flow = aFlow(async (ctx) => {
      const { outcome } = await ctx.externalToken({ name: 'approval' });
      await ctx.sleep({ days: 2 });
      return (await outcome).result;
    });
    const run = await started(flow);
    await run.app.settle(await tokenOf(run), 'early');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'early' });
  });

  it('that fails before the workflow awaits it ends no process, and fails there', async () => {
    const flow = aFlow(async (ctx) => {
      const { outcome } = await ctx.externalToken({ name: 'approval' });
      await ctx.sleep({ days: 2 });
      return outcome.catch((error: unknown) =>
        hasCode(error, 'EXTERNAL_FAILED') ? (error as Error).message : 'other',
      );
    });
    const run = await started(flow);
    await run.app.fail(await tokenOf(run), 'not today');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'not today' });
  });

  it('gives what its holder calls an error as an outcome', async () => {
    const run = await started(approval);
    await run.app.settle(await tokenOf(run), { reason: 'budget' }, true);
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: { result: { reason: 'budget' }, isError: true },
    });
  });

  it('that is not settled times out, and tells a later settler so (S0-174)', async () => {
    const flow = aFlow(async (ctx) => {
      const { outcome } = await ctx.externalToken({ name: 'approval', timeout: { days: 1 } });
      const code = await outcome.catch((error: unknown) => (error as { code: string }).code);
      await ctx.sleep({ days: 1 });
      return code;
    });
    const run = await started(flow);
    const token = await tokenOf(run);
    await run.app.pass({ hours: 25 });
    expect(await settleToken(run.app.deps, { token, outcome: yes })).toEqual({ settled: false, reason: 'timed_out' });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'EXTERNAL_TIMED_OUT' });
  });

  it('of a run that has ended settles nothing', async () => {
    const run = await started(approval);
    const token = await tokenOf(run);
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled' });
    const result = await settleToken(run.app.deps, { token, outcome: yes });
    expect(result.settled).toBe(false);
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'cancelled' });
  });

  it('that is forged is refused', async () => {
    const run = await started(approval);
    const token = await tokenOf(run);
    const forged = token.slice(0, -2) + (token.endsWith('AA') ? 'BB' : 'AA');
    await expect(run.app.settle(forged, 'yes')).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
    expect((await run.app.show(run.runId)).waits).toHaveLength(1);
  });

  it('has the same text on every replay, also after the keys were rotated (S0-61, S0-170)', async () => {
    const seen = new Set<string>();
    const flow = aFlow(async (ctx) => {
      const { token, outcome } = await ctx.externalToken({ name: 'approval' });
      seen.add(token);
      await ctx.sleep({ hours: 1 });
      await ctx.sleep({ hours: 1 });
      return (await outcome).result;
    });
    const run = await started(flow);
    await run.app.settleDown();
    Object.assign(run.app.deps, {
      tokens: new TokenKeys([
        { keyId: 'new', secret: new Uint8Array(32).fill(7) },
        { keyId: 'test', secret: new Uint8Array(32) },
      ]),
    });
    await run.app.pass({ hours: 3 });
    const [token] = [...seen];
    expect([...seen]).toEqual([token]);
    expect(await run.app.settle(token ?? '', 'old key')).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'old key' });
    expect(seen.size).toBe(1);
  });

  it('is listed while it is open, and no more when it is settled (S0-66)', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.externalToken({ name: 'approval' });
      const { outcome } = await ctx.externalToken({ name: 'second' });
      await outcome;
      await ctx.signal('end');
    });
    const run = await started(flow);
    await tokenOf(run);
    await run.app.settle(await run.app.tokenOf(run.runId, 'second'), 1);
    await run.app.settleDown();
    await expect(run.app.tokenOf(run.runId, 'second')).rejects.toThrow('0 open waits');
    expect((await run.app.show(run.runId)).waits.map(({ kind, name }) => [kind, name])).toEqual([
      ['external', 'approval'],
      ['signal', 'end'],
    ]);
  });

  it('races with timers and remote tasks like any other wait (S0-172)', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.race([
        async (c) => (await (await c.externalToken({ name: 'approval' })).outcome).result,
        async (c) => c.sleep({ hours: 1 }).then(() => 'timer'),
      ]),
    );
    const run = await started(flow);
    const token = await tokenOf(run);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(await run.app.settle(token, 'late')).toBe(false);
  });
});

describe('a durable promise', () => {
  const promised = aFlow(async (ctx) => {
    const { promise } = await ctx.promise({ name: 'approval', timeout: { hours: 3 } });
    return promise;
  });

  it('resolves to the value that its token is settled with (S0-170)', async () => {
    const run = await started(promised);
    await run.app.settle(await tokenOf(run), { n: 1 });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: { n: 1 } });
  });

  it('rejects with what its token is failed with, or with an error as value (S0-171)', async () => {
    const [failed, error] = [await started(promised), await started(promised)];
    await failed.app.fail(await tokenOf(failed), 'no way');
    expect(await failed.app.runToEnd(failed.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'EXTERNAL_FAILED', message: 'no way' },
    });
    await error.app.settle(await tokenOf(error), { why: 1 }, true);
    expect(await error.app.runToEnd(error.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'EXTERNAL_FAILED', details: { result: { why: 1 } } },
    });
  });

  it('that is not settled rejects at its deadline', async () => {
    const run = await started(promised);
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'EXTERNAL_TIMED_OUT' },
    });
    expect(await endedAfterMs(run)).toBe(10_800_000);
  });
});

it('promise that nobody waits for rejects unseen', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const run = await started(
    aFlow(async (ctx) => {
      await ctx.promise({ timeout: { minutes: 1 } });
      await ctx.sleep({ minutes: 2 });
      return 'done';
    }),
  );
  expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
  await eventLoop();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

it('outcome of a token that nobody waits for rejects unseen', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const run = await started(
    aFlow(async (ctx) => {
      await ctx.externalToken({ timeout: { minutes: 1 } });
      await ctx.sleep({ minutes: 2 });
      return 'done';
    }),
  );
  expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
  await eventLoop();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});
