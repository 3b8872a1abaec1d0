import { expect, test } from 'vitest';
import { foldHistory } from '../../../lib/history/run-state.js';
import type { ParentClosePolicy } from '../../../lib/history/event.js';
import type { World } from '../world.js';
import { call, play, type Line, type Scene } from './scene.js';

// The fate of work that is no longer waited for.

/**
 * A run that is cancelled before the first turn of its child: the parent's wait is closed, and the child's first wake
 * is lost.
 */
async function childOfCancelled(parentClose: ParentClosePolicy) {
  const { world, runId, violations, unplayed } = await play({
    run: async (_ctx, _step, { child }) => child({ parentClose }),
    callers: (playing, parentId) => {
      playing.stopAt(5, parentId, 'cancel', 'c1');
    },
    script: [{ who: 'turn 1', at: 'wake', what: 'drop' }],
  });
  const childId = world.runIds().find((id) => id !== runId) ?? '';
  return { parent: outcomeOf(world, runId), child: outcomeOf(world, childId), violations, unplayed };
}
const outcomeOf = (world: World, runId: string) => foldHistory(world.commits(runId)).ending?.status;

test('child and its parent’s end: one that is to be abandoned begins though its parent is gone', async () => {
  const { parent, child, violations, unplayed } = await childOfCancelled('abandon');
  expect([parent, child]).toEqual(['cancelled', 'completed']);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('child and its parent’s end: none of the code of any other one runs', async () => {
  for (const policy of ['cancel', 'terminate'] as const) {
    const { parent, child, violations, unplayed } = await childOfCancelled(policy);
    expect([parent, child]).toEqual(['cancelled', 'terminated']);
    expect(violations).toBe('');
    expect(unplayed).toEqual([]);
  }
});

/** A process that dies after it has started a task, and a run that is then cancelled. */
const lostStart = async (scene: Partial<Scene>, script: readonly Line[]) =>
  play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.stopAt(5, runId, 'cancel', 'c1');
    },
    ...scene,
    script: [{ who: 'turn 1', at: /t#1/, when: (world) => world.remote.tasks.length === 1, what: 'crash' }, ...script],
  });
/** Faults by which starts get no answer, from the second one on. */
const unanswered = (count: number): readonly Line[] =>
  Array.from({ length: count }, () => ({
    who: 'turn',
    at: 'start r1',
    when: (world: World) => world.remote.tasks.length === 1,
    what: 'noReplyLost' as const,
  }));

test('lost start asked for again: a server that does not answer is asked until it does', async () => {
  const { world, token, outcome, violations, unplayed } = await lostStart({}, unanswered(5));
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(token('1')?.cancel?.kind).toBe('sent');
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('lost start asked for a day: after that it is left alone', async () => {
  const { world, token, unplayed } = await lostStart({ endS: 26 * 3600 }, unanswered(1_500));
  const asked = world.trace.flatMap((line) => (line.includes(' start r1') ? [Number(line.split(' ')[0])] : []));
  expect(asked.at(-1)).toBeGreaterThan(24 * 3600 - 120);
  expect(asked.at(-1)).toBeLessThan(24 * 3600 + 240);
  expect(token('1')?.dueAtMs).toBeUndefined();
  expect(unplayed.length).toBeLessThan(100);
});

test('lost start of one of two calls: what is known of the other one’s attempts says nothing', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => Promise.all([call(ctx, 'r1'), call(ctx, 'r2')]),
    callers: (playing, runId) => {
      playing.stopAt(5, runId, 'terminate', 't1');
    },
    script: [
      { who: 'turn 1', at: 'start r1', what: 'refused' },
      // The first attempt of the other call has ended in the log by then.
      { who: 'turn 1', at: 'start r2', what: { freezeUntil: ({ world: now, runId }) => hasFailedStart(now, runId) } },
      { who: 'turn 1', at: /t#2/, when: (playing) => playing.remote.tasks.length === 1, what: 'crash' },
    ],
  });
  expect(outcome).toEqual({ status: 'terminated' });
  expect(world.remote.tasks.map(({ tool, cancelled }) => [tool, cancelled])).toEqual([['r2', true]]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('lost start of a later call: it is that call which is made again', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => [await call(ctx, 'r1'), await call(ctx, 'r2')],
    tools: { r1: 10 },
    callers: (playing, runId) => {
      playing.stopAt(60, runId, 'terminate', 't1');
    },
    script: [{ who: 'turn', at: /t#2/, when: (playing) => playing.remote.tasks.length === 2, what: 'crash' }],
  });
  expect(outcome).toEqual({ status: 'terminated' });
  expect(world.remote.tasks.map(({ tool, cancelled }) => [tool, cancelled])).toEqual([
    ['r1', false],
    ['r2', true],
  ]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
const hasFailedStart = (world: World, runId: string) =>
  world.log(runId).some(({ type }) => type === 'RemoteTaskStartFailed');

test('lost start at a server that tells nothing: it is neither made again nor asked for', async () => {
  const { world, outcome, unplayed } = await lostStart({ dedupes: false }, []);
  expect(outcome).toMatchObject({ status: 'cancelled' });
  expect(world.remote.starts).toHaveLength(1);
  expect(world.trace.filter((line) => line.endsWith(' find'))).toEqual([]);
  expect(unplayed).toEqual([]);
});

test('lost start at a server that turns out to list no tasks: it is asked once', async () => {
  const { world, token, outcome, unplayed } = await lostStart({ dedupes: false, finds: true, lists: 'never' }, []);
  expect(outcome).toMatchObject({ status: 'cancelled' });
  expect(world.trace.filter((line) => line.endsWith(' find'))).toHaveLength(1);
  expect(token('1')?.dueAtMs).toBeUndefined();
  expect(unplayed).toEqual([]);
});

test('lost start that this deployment cannot make again: it is stopped when one can', async () => {
  const { world, outcome, violations, unplayed } = await lostStart(
    {
      callers: (playing, runId) => {
        playing.stopAt(20, runId, 'terminate', 't1');
      },
      other: {
        run: async (_ctx, step) => step('something else'),
        isDeployed: (seconds) => seconds > 10 && seconds < 300,
      },
    },
    [],
  );
  expect(outcome).toEqual({ status: 'terminated' });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
