import { defineApp, defineWorkflow, hasCode } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { heartbeatToken } from '../../lib/operations/requests/heartbeat-token.js';

const flow = defineWorkflow<{ minutes?: number }>({
  name: 'flow',
  run: async (ctx, { minutes }) => {
    const wait = await ctx.externalToken({ name: 'work', ...(minutes === undefined ? {} : { timeout: { minutes } }) });
    return wait.outcome.then(
      ({ result }) => result,
      (error: unknown) => (hasCode(error, 'EXTERNAL_TIMED_OUT') ? ctx.now() : 'other'),
    );
  },
});

async function begun(input: { readonly minutes?: number }) {
  const app = createTestApp(defineApp({ workflows: [flow] }));
  const startMs = app.clock.nowMs();
  const runId = await app.start(flow, input);
  await app.settleDown();
  return { app, runId, startMs, token: await app.tokenOf(runId, 'work') };
}

describe('a heartbeat (S0-65)', () => {
  it('keeps a wait open beyond its deadline for as long as they come', async () => {
    const { app, runId, startMs, token } = await begun({ minutes: 10 });
    for (let beat = 0; beat < 5; beat++) {
      await app.pass({ minutes: 8 });
      expect(await heartbeatToken(app.deps, { token, extendByMs: 600_000 })).toMatchObject({ settled: false });
    }
    await app.pass({ minutes: 9 });
    expect(await app.settle(token, 'done')).toBe(true);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
    expect(app.clock.nowMs() - startMs).toBe(49 * 60_000);
  });

  it('lets the wait time out when they stop, at the deadline that the last one set', async () => {
    const { app, runId, startMs, token } = await begun({ minutes: 10 });
    await app.pass({ minutes: 8 });
    await heartbeatToken(app.deps, { token, extendByMs: 300_000 });
    const outcome = await app.runToEnd(runId);
    const endedAtMs = outcome.status === 'completed' ? Number(outcome.result) : 0;
    expect(endedAtMs - startMs).toBeGreaterThanOrEqual(13 * 60_000);
    expect(endedAtMs - startMs).toBeLessThanOrEqual(14 * 60_000);
  });

  it('may bring the deadline nearer', async () => {
    const { app, runId, startMs, token } = await begun({ minutes: 100 });
    await heartbeatToken(app.deps, { token, extendByMs: 60_000 });
    await app.runToEnd(runId);
    expect(app.clock.nowMs() - startMs).toBeGreaterThanOrEqual(60_000);
    expect(app.clock.nowMs() - startMs).toBeLessThanOrEqual(120_000);
  });

  it('on a settled wait changes nothing and says why', async () => {
    const { app, token } = await begun({ minutes: 10 });
    await app.settle(token, 1);
    expect(await heartbeatToken(app.deps, { token, extendByMs: 60_000 })).toEqual({
      settled: true,
      reason: 'already_settled',
    });
  });

  it.each([
    ['for a wait without a deadline', {}, 60_000, 'INPUT_INVALID'],
    ['of less than a second', { minutes: 10 }, 999, 'INPUT_INVALID'],
    ['of more than seven days', { minutes: 10 }, 8 * 86_400_000, 'INPUT_INVALID'],
    ['that is no number', { minutes: 10 }, Number.NaN, 'INPUT_INVALID'],
  ] as const)('%s is refused', async (_, input, extendByMs, code) => {
    const { app, token } = await begun(input);
    await expect(heartbeatToken(app.deps, { token, extendByMs })).rejects.toSatisfy((error) => hasCode(error, code));
  });
});
