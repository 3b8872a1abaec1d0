import { defineApp, defineWorkflow, hasCode } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { findNamedRun, startNamedRun, type NamedStartRequest } from '../../lib/operations/requests/start-named-run.js';

const order = defineWorkflow({ name: 'order', run: async (ctx) => ctx.signal('paid') });
const other = defineWorkflow({ name: 'other', run: async (ctx) => ctx.signal('paid') });

function newApp() {
  const app = createTestApp(defineApp({ workflows: [order, other] }));
  const start = (policies: Partial<NamedStartRequest> = {}) =>
    startNamedRun(app.deps, { workflow: 'order', id: 'order 4711', ...policies });
  return { app, start };
}

describe('a run under an id of the caller (S0-163, EN-8)', () => {
  it('is found again while it is under way', async () => {
    const { app, start } = newApp();
    const first = await start();
    expect(first.deduplicated).toBe(false);
    expect(await start()).toEqual({ runId: first.runId, deduplicated: true });
    expect(await findNamedRun(app.deps, 'order', 'order 4711')).toBe(first.runId);
  });

  it('is another for another workflow or another id', async () => {
    const { start } = newApp();
    const ids = [await start(), await start({ workflow: 'other' }), await start({ id: 'order 4712' })].map(
      ({ runId }) => runId,
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('is one run for twenty callers at once', async () => {
    const { start } = newApp();
    const started = await Promise.all(Array.from({ length: 20 }, () => start()));
    expect(new Set(started.map(({ runId }) => runId)).size).toBe(1);
    expect(started.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
  });

  it.each([
    ['running', 'useExisting', 'same'],
    ['running', 'fail', 'refused'],
    ['running', 'terminate', 'new'],
    ['ended', 'startNew', 'new'],
    ['ended', 'useExisting', 'same'],
    ['ended', 'fail', 'refused'],
  ] as const)('%s, with policy %s: %s', async (state, policy, expected) => {
    const { app, start } = newApp();
    const { runId } = await start();
    await app.settleDown();
    if (state === 'ended') {
      await app.signal(runId, 'paid');
      await app.runToEnd(runId);
    }
    const again = start(state === 'ended' ? { whenEnded: policy as 'fail' } : { whenRunning: policy as 'fail' });
    if (expected === 'refused') {
      await expect(again).rejects.toSatisfy((error) => hasCode(error, 'RUN_EXISTS'));
      return;
    }
    expect((await again).runId === runId).toBe(expected === 'same');
    if (policy === 'terminate') expect(await app.runToEnd(runId)).toMatchObject({ status: 'terminated' });
  });

  it('moves on to the newest run', async () => {
    const { app, start } = newApp();
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const { runId } = await start();
      ids.push(runId);
      await app.signal(runId, 'paid');
      await app.runToEnd(runId);
    }
    expect(new Set(ids).size).toBe(3);
    expect(await findNamedRun(app.deps, 'order', 'order 4711')).toBe(ids[2]);
  });

  it.each(['', 'x'.repeat(256), '\ud800'])('is refused with the id %j', async (id) => {
    const { start } = newApp();
    await expect(start({ id })).rejects.toSatisfy((error) => hasCode(error, 'INPUT_INVALID'));
  });

  it('is not found before it was started', async () => {
    const { app } = newApp();
    await expect(findNamedRun(app.deps, 'order', 'nothing')).rejects.toSatisfy((error) =>
      hasCode(error, 'RUN_NOT_FOUND'),
    );
  });
});
