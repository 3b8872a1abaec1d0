import { defineWorkflow } from 'outwait';
import { expect, test } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { startedIn, type Started, withTimePassing } from '../../engine/support.js';
import { storeProxy } from '../../support/store-proxy.js';

// Effects of the end of a child on its parent.

const child = defineWorkflow<unknown>({ name: 'child', run: async (ctx) => ctx.signal('go') });

/** Lets the child end, and returns which runs its turn wakes. */
async function wokenByEndOf(childRunId: string, { app }: Started): Promise<readonly string[]> {
  await signalRun(app.deps, childRunId, { name: 'go', payload: 1 });
  const woken: string[] = [];
  const queues: Deps['queues'] = {
    sendTurn: async ({ runId }) => void woken.push(runId),
    sendWork: async () => undefined,
    sendStep: async () => undefined,
    sendStart: async () => undefined,
  };
  await runTurn({ ...app.deps, queues }, { runId: childRunId }, { remainingMs: () => 60_000 });
  expect((await app.show(childRunId)).status).toBe('completed');
  return woken;
}

test('end of a child wakes the parent that waits for it', async () => {
  const parent = defineWorkflow<unknown>({ name: 'parent', run: async (ctx) => ctx.child(child, null) });
  const run = await startedIn([parent, child]);
  await run.app.settleDown();
  const { childRunId = '' } = (await run.app.show(run.runId)).waits[0]!;
  expect(await wokenByEndOf(childRunId, run)).toEqual([run.runId]);
});

test('end of a child wakes no parent that has stopped waiting for it', async () => {
  const parent = defineWorkflow<unknown>({
    name: 'parent',
    run: async (ctx) => {
      await ctx.race([
        async (c) => c.child(child, null, { parentClose: 'abandon' }),
        async (c) => c.sleep({ minutes: 1 }),
      ]);
      await ctx.sleep({ hours: 1 });
    },
  });
  const run = await startedIn([parent, child]);
  await run.app.settleDown();
  const { childRunId = '' } = (await run.app.show(run.runId)).waits[0]!;
  await run.app.pass({ minutes: 2 });
  expect(await wokenByEndOf(childRunId, run)).toEqual([]);
});

const policies = [
  ['cancel', 'terminated'],
  ['abandon', 'running'],
] as const;

test.each(policies)('start of a child whose parent has let go of it: %s', async (parentClose, status) => {
  let begun = 0;
  const quiet = defineWorkflow<unknown>({
    name: 'child',
    run: async (ctx) => {
      begun++;
      await ctx.signal('go');
    },
  });
  const parent = defineWorkflow<unknown>({
    name: 'parent',
    run: async (ctx) => ctx.child(quiet, null, { parentClose }),
  });
  const run = await startedIn([parent, quiet]);
  const { deps, clock } = run.app;
  // The head of the child is put only after its parent has stopped waiting.
  let put: (() => Promise<unknown>) | undefined;
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        if (name !== 'heads.create') return Reflect.apply(value, target, given) as unknown;
        put = async () => Reflect.apply(value, target, given) as unknown;
        throw new EngineError('STORE_UNAVAILABLE', 'throttled');
      };
    },
  });
  const endsAtMs = clock.nowMs() + 60_000;
  const limits = { remainingMs: () => endsAtMs - clock.nowMs() };
  await withTimePassing(
    run.app,
    runTurn({ ...deps, store }, { runId: run.runId }, limits).catch(() => undefined),
  );
  const { childRunId = '' } = (await run.app.show(run.runId)).waits[0]!;
  await deps.store.tokens.close(run.runId, '1', { writerId: 'w', atMs: clock.nowMs(), outcome: 'abandoned' });
  await put?.();
  await runTurn(deps, { runId: childRunId }, { remainingMs: () => 60_000 });
  expect((await run.app.show(childRunId)).status).toBe(status);
  expect(begun).toBe(status === 'running' ? 1 : 0);
});
