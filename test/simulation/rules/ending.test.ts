import { expect, test } from 'vitest';
import { call, play } from './scene.js';

// The end of a run: RunEnding, closed waits, terminal commit, end effects, markers.

test('ending event: an outcome that was decided stands, whatever is settled before the run has ended', async () => {
  // The second turn has seen wait 1 settled and ends the run; wait 2 is then settled with an earlier time, and the turn
  // dies before the terminal commit. If wait 3 were closed by then, and the log did not say why, the next turn would
  // let the workflow wait for it for ever.
  const { outcome, violations, unplayed } = await play({
    run: async (ctx) => {
      const [first, second, spare] = [call(ctx, 'r1'), call(ctx, 'r2'), call(ctx, 'r3')];
      const won = await Promise.race([first, second]);
      return won === 'pushed 1' ? won : [won, await spare];
    },
    callers: (world, runId) => {
      world.settleAt(89.9, runId, '2', 'pushed 2');
      world.settleAt(90, runId, '1', 'pushed 1');
    },
    script: [
      { who: 'relay 1', at: 'update t#2', what: { freezeUntil: ({ world }) => world.seconds >= 91 } },
      {
        who: 'turn 2',
        at: /^(update t#2|transact)/,
        what: { freezeUntil: ({ token }) => token('2')?.settlement !== undefined },
      },
      { who: 'turn 2', at: /^transact .*=completed/, what: 'crash' },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed 1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('ending with the head: a cancel accepted while the run decides to end reaches the workflow, other waits being open', async () => {
  const { outcome, log, violations, unplayed } = await play({
    run: async (ctx, step) => {
      try {
        return await Promise.race([call(ctx, 'r1'), call(ctx, 'r2')]);
      } catch (error) {
        await step('undo');
        throw error;
      }
    },
    callers: (world, runId) => {
      world.stopAt(89.9, runId, 'cancel', 'c1');
      world.settleAt(90, runId, '1', 'pushed');
    },
    script: [
      { who: 'caller 1', at: 'transact', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: /h#0000000002/, what: { freezeUntil: ({ world }) => world.notes.has('accepted') } },
    ],
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(log.filter((event) => event.type === 'StepCompleted')).toHaveLength(1);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('ending with the head: a cancel accepted while the run decides to end reaches the workflow, no wait being open', async () => {
  const { outcome, log, violations, unplayed } = await play({
    run: async (ctx, step) => {
      try {
        return await call(ctx, 'r1');
      } catch (error) {
        await step('undo');
        throw error;
      }
    },
    callers: (world, runId) => {
      world.stopAt(89.9, runId, 'cancel', 'c1');
      world.settleAt(90, runId, '1', 'pushed');
    },
    script: [
      { who: 'caller 1', at: 'transact', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: /h#0000000002/, what: { freezeUntil: ({ world }) => world.notes.has('accepted') } },
    ],
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(log.filter((event) => event.type === 'StepCompleted')).toHaveLength(1);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('results kept: a signal accepted during the last step does not make it run again, and is not lost', async () => {
  const { world, runId, outcome, log, violations } = await play({
    run: async (_ctx, step) => step('s1'),
    callers: (world, runId) => {
      world.signalAt(0.5, runId, 'n', 1, 'k');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'completed', result: 's1' });
  expect(world.trace.filter((line) => line.endsWith('step s1'))).toHaveLength(1);
  expect(log.map(({ type }) => type)).toContain('SignalReceived');
  expect(world.acceptedSignals).toEqual([{ runId, name: 'n', key: 'k' }]);
  expect(violations).toBe('');
});

test('let go: a wait that the workflow no longer waits for is closed while the run goes on', async () => {
  const { world, token, outcome, violations } = await play({
    run: async (ctx) => {
      await ctx.race([async (c) => call(c, 'r1'), async (c) => c.sleep({ seconds: 30 })]);
      await ctx.sleep({ minutes: 20 });
    },
    script: [],
  });
  expect(token('1')?.settlement?.outcome).toEqual({ kind: 'abandoned' });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(outcome?.status).toBe('completed');
  expect(violations).toBe('');
});

test('tombstone: a wait that is closed before its item exists starts nothing afterwards', async () => {
  // The step wins while the put of the token item is in flight.
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx, step) => Promise.race([call(ctx, 'r1'), step('s1')]),
    dedupes: false,
    script: [{ who: 'turn 1', at: 'put t#1', what: 'freeze100' }],
  });
  expect(world.remote.starts).toEqual([]);
  expect(outcome).toEqual({ status: 'completed', result: 's1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('close only what is open: a settlement that comes while the run closes its waits stands', async () => {
  const { world, token, outcome, violations, unplayed } = await play({
    run: async (ctx) => Promise.race([call(ctx, 'r1'), call(ctx, 'r2')]),
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed 1');
      world.settleAt(30, runId, '2', 'pushed 2');
    },
    script: [
      { who: 'relay 2', at: 'update t#2', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: 'update t#2', what: { freezeUntil: ({ token }) => token('2')?.settlement !== undefined } },
    ],
  });
  expect(world.settledTrue).toHaveLength(2);
  expect(token('2')?.settlement?.outcome).toEqual({ kind: 'completed', result: 'pushed 2', isError: false });
  expect(outcome).toEqual({ status: 'completed', result: 'pushed 1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('end effects: a process that dies after the terminal commit leaves neither a remote task nor a marker behind', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => Promise.race([call(ctx, 'r1'), call(ctx, 'r2')]),
    callers: (world, runId) => {
      world.settleAt(30, runId, '1', 'pushed');
    },
    script: [
      {
        who: 'turn 2',
        at: 'query a,h#',
        when: (world, runId) => world.log(runId).some((event) => event.type === 'RunEnded'),
        what: 'crashAndMessageLost',
      },
    ],
  });
  expect(world.remote.tasks.map(({ tool, cancelled }) => [tool, cancelled])).toEqual([
    ['r1', false],
    ['r2', true],
  ]);
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('terminate goes first: the settlement that the same turn finds does not complete the run', async () => {
  const { outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.settleAt(29.9, runId, '1', 'pushed');
      world.stopAt(30, runId, 'terminate', 'x1');
    },
    script: [{ who: 'relay 1', at: 'wake', what: 'drop' }],
  });
  expect(outcome).toEqual({ status: 'terminated' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('terminate goes first: one that comes while the turn runs steps ends the run', async () => {
  const { outcome, violations } = await play({
    run: async (_ctx, step) => {
      for (let index = 0; index < 10; index++) await step(`s${index}`);
      return 'done';
    },
    callers: (world, runId) => {
      world.stopAt(4.5, runId, 'terminate', 'x1');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'terminated' });
  expect(violations).toBe('');
});

test('inbox as seen: a cancel that came while the turn ran steps does not make it do the last one again', async () => {
  const { world, outcome, violations } = await play({
    run: async (_ctx, step) => {
      try {
        for (let index = 0; index < 10; index++) await step(`s${index}`);
      } finally {
        await step('undo');
      }
    },
    callers: (world, runId) => {
      world.stopAt(4.5, runId, 'cancel', 'c1');
    },
    script: [],
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(world.trace.filter((line) => line.endsWith('step undo'))).toHaveLength(1);
  expect(violations).toBe('');
});
