import { expect, test } from 'vitest';
import { createTestApp } from 'outwait/testing';
import { storedError } from '../../../lib/base/errors.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { aFlow, anApp, startMs } from '../../engine/support.js';
import { call, play } from './scene.js';

// Changes that an owner of a run finds after other processes made them.

test('wake after a refused marker: an owner that finds its run blocked meanwhile has it looked at now, not in an hour', async () => {
  // The first turn knows of no settlement and is about to remove the head's marker, the only one that the block leaves.
  let thawedAtS = 0;
  const { outcome, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    other: {
      run: async (_ctx, step) => step('something else'),
      isDeployed: (seconds) => seconds > 10 && seconds < 600,
    },
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [
      {
        who: 'turn 1',
        at: 'update a dueSeq',
        what: {
          // The next retry of the blocked run is minutes away, and the code fits again.
          freezeUntil: ({ world, runId }) => {
            const dueAtMs = Number(world.items.get(`run#${runId} a`)?.['dueAtMs'] ?? 0);
            if (world.seconds <= 600 || dueAtMs <= world.nowMs + 150_000) return false;
            thawedAtS = world.seconds;
            return true;
          },
        },
      },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(thawedAtS).toBeGreaterThan(600);
  expect(endedAtS - thawedAtS).toBeLessThan(10);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('terminate while the last step runs: the run is terminated, not completed', async () => {
  const { world, outcome, violations } = await play({
    run: async (_ctx, step) => step('s1'),
    callers: (playing, runId) => {
      playing.stopAt(0.5, runId, 'terminate', 't1');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'terminated' });
  expect(world.notes).toContain('accepted');
  expect(violations).toBe('');
});

test('deadline of a wait whose item was never put: it ends all the same', async () => {
  const { outcome, violations, unplayed } = await play({
    run: async (_ctx, _step, { child }) =>
      child({ timeout: { seconds: 30 } }).catch((error: unknown) => (error as { code: string }).code),
    script: [{ who: 'turn 1', at: 'put t#1', what: 'crashAndMessageLost' }],
    endS: 300,
  });
  expect(outcome).toEqual({ status: 'completed', result: 'CHILD_TIMED_OUT' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('wake after a refused marker: an owner of a delayed run that was blocked meanwhile has it begin on time', async () => {
  const app = createTestApp(anApp(aFlow(async (ctx) => ctx.now() - startMs)));
  const { store } = app.deps;
  const { runId } = await startRun(app.deps, { workflow: 'flow', key: 'k', delayMs: 600_000 });
  const setHeadMarker = store.headMarkers.set.bind(store.headMarkers);
  let isFirst = true;
  store.headMarkers.set = async (id, marker) => {
    // Another process, which could not read the run, has come first.
    if (isFirst)
      await store.headMarkers.block(runId, {
        seq: 0,
        dueAtMs: startMs + 3_600_000,
        publishedSeq: undefined,
        blocked: storedError('PAYLOAD_UNREADABLE', 'no key'),
      });
    isFirst = false;
    return setHeadMarker(id, marker);
  };
  await app.pass({ minutes: 11 });
  expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 600_000 });
});
