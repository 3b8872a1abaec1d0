import { expect, test } from 'vitest';
import { turnTimeoutMs } from '../../../lib/base/limits.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { WarmRuns } from '../../../lib/operations/warm-runs.js';
import { aFlow, started, startMs } from '../../engine/support.js';
import { call, play, type Line, type Scene } from './scene.js';
import { storeProxy } from '../../support/store-proxy.js';

// The log: what is in it was decided once, and a process that disagrees reads it again.

/** Two settlements, of which the earlier one becomes visible after the second turn has read only the later one. */
function raceOfTwo(script: readonly Line[]): Scene {
  return {
    run: async (ctx, step) => step(`after ${String(await Promise.race([call(ctx, 'r1'), call(ctx, 'r2')]))}`),
    callers: (world, runId) => {
      world.settleAt(89.9, runId, '2', 'pushed 2');
      world.settleAt(90, runId, '1', 'pushed 1');
    },
    script: [{ who: 'relay 1', at: 'update t#2', what: { freezeUntil: ({ played }) => played(1) } }, ...script],
  };
}

test('commit if absent: an owner that wakes up late does not write over what another has committed', async () => {
  const { outcome, violations, unplayed } = await play(
    raceOfTwo([
      {
        who: 'turn 2',
        at: 'put h#0000000002',
        what: { freezeUntil: ({ world, runId }) => world.commits(runId).length === 2 },
      },
    ]),
  );
  expect(outcome).toEqual({ status: 'completed', result: 'after pushed 2' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('fresh writer id: a turn does not take its own earlier commit, applied late, for what it asked for afterwards', async () => {
  const { outcome, log, violations, unplayed } = await play(
    raceOfTwo([
      { who: 'turn 2', at: 'put h#0000000002', what: 'lateApply' },
      {
        who: 'turn 2',
        at: 'put h#0000000002',
        what: { freezeUntil: ({ world, runId }) => world.commits(runId).length === 2 },
      },
    ]),
  );
  expect(log.flatMap((event) => (event.type === 'StepRequested' ? [event.name] : []))).toEqual(['after pushed 1']);
  expect(outcome).toEqual({ status: 'completed', result: 'after pushed 1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('writer id: a turn does not take what another has committed for its own', async () => {
  const ran: string[] = [];
  const { app, runId } = await started(
    aFlow(async (ctx) => {
      const won = await Promise.race([
        ctx.signal('go').then(() => 'signal'),
        ctx.sleep({ seconds: 1 }).then(() => 'timer'),
      ]);
      return ctx.step(`after ${won}`, () => ran.push(won));
    }),
  );
  const { deps } = app;
  const limits = { remainingMs: () => turnTimeoutMs };
  await runTurn(deps, { runId }, limits);
  app.clock.moveTo(startMs + 1_000);
  let isFirst = true;
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (name === 'log.commit' && isFirst) {
          isFirst = false;
          await signalRun(deps, runId, { name: 'go' });
          await runTurn({ ...deps, warmRuns: new WarmRuns() }, { runId }, limits);
        }
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  await runTurn({ ...deps, store, warmRuns: new WarmRuns() }, { runId }, limits);
  expect(ran).toEqual(['signal']);
});
