import { defineWorkflow } from 'outwait';
import { expect, test } from 'vitest';
import { heartbeatToken } from '../../../lib/operations/requests/heartbeat-token.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { settleToken } from '../../../lib/operations/requests/settle-token.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import { aFlow, started, startedIn, startMs, WatchedServer, type Started } from '../../engine/support.js';
import type { World } from '../world.js';
import { play, type Line } from './scene.js';
import { storeProxy } from '../../support/store-proxy.js';

// Deadlines: a wait ends at its current deadline, and only the process that works on it can move that.

/** Sends a heartbeat of a token holder at that second, without faults. Its replica's clock is a second behind. */
function heartbeatAt(world: World, runId: string, seconds: number, extendByMs: number): void {
  world.atSecond(seconds, () => {
    const { tokens } = world;
    const token = tokens.settleToken({ runId, waitId: '1' });
    const deps = {
      tokens,
      clock: { nowMs: () => world.nowMs - 1000 },
      store: new RunStore(new SealedTable(world.table)),
    };
    void heartbeatToken(deps as never, { token, extendByMs });
  });
}

/**
 * A wait whose deadline is extended to 330 s, and again half a second after it, while a process that has seen it time
 * out is about to record that.
 */
const extendedInTime = async (script: readonly Line[]) =>
  play({
    run: async (ctx) => {
      const { outcome } = await ctx.externalToken({ name: 'work', timeout: { minutes: 5 } });
      return outcome.then(
        ({ result }) => result,
        (error: unknown) => (error as { code: string }).code,
      );
    },
    callers: (world, runId) => {
      heartbeatAt(world, runId, 200, 131_000);
      heartbeatAt(world, runId, 330.5, 600_000);
      world.settleAt(700, runId, '1', 'done');
    },
    script,
  });
const untilExtended = { freezeUntil: ({ world }: { readonly world: World }) => world.seconds > 331 };

test('timeout only at the deadline that was read: a wait that was extended meanwhile goes on, whoever was about to end it', async () => {
  const { outcome, violations, unplayed } = await extendedInTime([
    { who: 'poll', at: 'update t#1 settledAtMs', what: untilExtended },
    { who: 'turn', at: 'update t#1 settledAtMs', what: untilExtended },
  ]);
  expect(outcome).toEqual({ status: 'completed', result: 'done' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('settled in time after all: a deadline that is moved just before the wait would time out is the one that counts', async () => {
  const scene = await started(aFlow(async (ctx) => (await ctx.externalToken({ timeout: { minutes: 5 } })).outcome));
  const { app, runId } = scene;
  await app.settleDown();
  app.clock.moveTo(startMs + 300_000);
  const { store } = app.deps;
  // A heartbeat of a replica whose clock is a second behind.
  const moved = { deadlineAtMs: startMs + 600_000, nowMs: startMs + 299_000 };
  const crossed = storeProxy(store, {
    get: (target, name) => {
      if (name !== 'tokens.settle') return Reflect.get(target, name, target) as unknown;
      return async (...args: Parameters<RunStore['tokens']['settle']>) => {
        const guard = args[3];
        if (guard?.kind === 'deadlineIs' && guard.deadlineAtMs === startMs + 300_000)
          await store.tokens.moveDeadline(runId, '1', moved);
        return store.tokens.settle(...args);
      };
    },
  });
  const outcome = { kind: 'completed', result: 'done', isError: false } as const;
  const token = app.deps.tokens.settleToken({ runId, waitId: '1' });
  const settling = settleToken({ ...app.deps, store: crossed }, { token, outcome });
  expect(await settling.catch((error: unknown) => String(error))).toEqual({ settled: true });
  expect((await store.tokens.read(runId, '1'))?.settlement).toMatchObject({ by: 'relay', outcome });
});

/** Returns the result of a heartbeat with the token of wait 1. */
async function heartbeat({ app, runId }: Started): Promise<unknown> {
  const token = app.deps.tokens.settleToken({ runId, waitId: '1' });
  return heartbeatToken(app.deps, { token, extendByMs: 60_000 }).then(
    ({ settled }) => ({ settled }),
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );
}

test('no heartbeat for a child: its deadline is its parent’s', async () => {
  const child = defineWorkflow<null>({ name: 'child', run: async (ctx) => ctx.sleep({ hours: 1 }) });
  const parent = defineWorkflow<null>({
    name: 'parent',
    run: async (ctx) => ctx.child(child, null, { timeout: { minutes: 5 } }),
  });
  const scene = await startedIn([parent, child]);
  await scene.app.settleDown();
  expect(await heartbeat(scene)).toBe('INPUT_INVALID');
  expect((await scene.app.deps.store.tokens.read(scene.runId, '1'))?.deadlineAtMs).toBe(startMs + 300_000);
});

test('no heartbeat for a remote task: its deadline is that of the call', async () => {
  const scene = await started(
    aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { minutes: 5 } })),
    { reports: new WatchedServer() },
  );
  await scene.app.settleDown();
  expect(await heartbeat(scene)).toBe('INPUT_INVALID');
});

test('no heartbeat for a long step: its deadline is that of the step', async () => {
  const scene = await started(
    aFlow(async (ctx) => {
      const never = async (): Promise<never> => new Promise(() => undefined);
      return ctx.step('long', never, { long: true, deadline: { hours: 1 } });
    }),
  );
  const { app, runId } = scene;
  for (let turn = 0; turn < 2; turn++) await runTurn(app.deps, { runId }, { remainingMs: () => 60_000 });
  expect(await heartbeat(scene)).toBe('INPUT_INVALID');
});

test('heartbeat of a second to seven days, for a wait that is there', async () => {
  const scene = await started(aFlow(async (ctx) => (await ctx.externalToken({ timeout: { hours: 1 } })).outcome));
  const { deps } = scene.app;
  await scene.app.settleDown();
  const beat = async (extendByMs: number, waitId = '1') =>
    heartbeatToken(deps, { token: deps.tokens.settleToken({ runId: scene.runId, waitId }), extendByMs }).then(
      (given) => (given.settled ? given.reason : (given.deadlineAtMs - startMs) / 1_000),
      (error: unknown) => (error as { readonly code?: unknown }).code,
    );
  expect([await beat(999), await beat(1_000), await beat(7 * 86_400_000), await beat(7 * 86_400_000 + 1)]).toEqual([
    ...['INPUT_INVALID', 1, 7 * 86_400, 'INPUT_INVALID'],
  ]);
  expect(await beat(1_000, '9')).toBe('TOKEN_INVALID');
});
