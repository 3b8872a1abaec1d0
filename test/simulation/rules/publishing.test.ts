import { expect, test } from 'vitest';
import type { LifecycleEvent } from '../../../lib/history/lifecycle-event.js';
import { call, play, type Scene } from './scene.js';

// Lifecycle events: they are in the log first, then published, and only then recorded on the head.

/** A remote call, which a relay settles after half a minute. */
const oneCall: Pick<Scene, 'run' | 'callers' | 'bus'> = {
  bus: true,
  run: async (ctx) => call(ctx, 'r1'),
  callers: (world, runId) => {
    world.settleAt(30, runId, '1', 'pushed');
  },
};
const started = ['RunStarted', 'RemoteTaskStarted'];
const ended = ['RemoteTaskSettled', 'RunCompleted'];

const typesOf = (events: readonly LifecycleEvent[]): readonly string[] => events.map(({ type }) => type);
const idsOf = (events: readonly LifecycleEvent[]): readonly string[] => events.map(({ eventId }) => eventId);

test('each once: a run without trouble tells each event once, with the place in its log as the id', async () => {
  const { world, runId, violations } = await play({ ...oneCall, script: [] });
  expect(idsOf(world.published)).toEqual([`${runId}:1:0`, `${runId}:2:0`, `${runId}:3:0`, `${runId}:3:2`]);
  expect(typesOf(world.published)).toEqual([...started, ...ended]);
  expect(violations).toBe('');
});

test('published after the commit: an owner whose commit is lost tells nothing of it', async () => {
  const { world, violations, unplayed } = await play({
    ...oneCall,
    // Another turn ends the run meanwhile.
    script: [{ who: 'turn 2', at: 'transact', what: { freezeUntil: ({ world }) => world.seconds >= 600 } }],
  });
  expect(typesOf(world.published)).toEqual([...started, ...ended]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('marker after publishing: a turn that dies ahead of it is made up for by the sweep', async () => {
  const { world, violations, unplayed } = await play({
    ...oneCall,
    script: [{ who: 'turn 1', at: 'publish', what: 'crashAndMessageLost' }],
  });
  expect(typesOf(world.published)).toEqual([...started, ...ended]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('said afterwards: a turn that dies between publishing and the marker repeats the events under their ids', async () => {
  const { world, violations, unplayed } = await play({
    ...oneCall,
    script: [{ who: 'turn 1', at: 'update a dueSeq', what: 'crashAndMessageLost' }],
  });
  const [first, second, third, fourth] = idsOf(world.published);
  expect([third, fourth]).toEqual([first, second]);
  expect(typesOf(world.published)).toEqual([...started, ...started, ...ended]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test.each(['crashAfter', 'lostAck', 'lateApply', 'throttle', 'partlyTaken'] as const)(
  'bus: %s at the first publishing leads to a repeat at most',
  async (what) => {
    const { world, outcome, violations, unplayed } = await play({
      ...oneCall,
      script: [{ who: 'turn 1', at: 'publish', what }],
    });
    expect([...new Set(typesOf(world.published))]).toEqual([...started, ...ended]);
    expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
    expect(violations).toBe('');
    expect(unplayed).toEqual([]);
  },
);

test.each(['crashAfter', 'lostAck', 'lateApply', 'throttle'] as const)(
  'head: %s at the word on what has been published leads to a repeat at most',
  async (what) => {
    const { world, violations, unplayed } = await play({
      ...oneCall,
      script: [{ who: 'turn 1', at: /^update a .*publishedSeq/, what }],
    });
    expect([...new Set(typesOf(world.published))]).toEqual([...started, ...ended]);
    expect(violations).toBe('');
    expect(unplayed).toEqual([]);
  },
);

test('due as long as something is left: the sweep brings a run back that has nothing else to do', async () => {
  let publishedAt200S: readonly string[] = [];
  const { violations, unplayed } = await play({
    bus: true,
    run: async (ctx) => ctx.sleep({ minutes: 30 }),
    callers: (world) => {
      world.atSecond(200, () => {
        publishedAt200S = typesOf(world.published);
      });
    },
    script: [{ who: 'turn 1', at: 'publish', what: 'throttle' }],
  });
  expect(publishedAt200S).toEqual(['RunStarted']);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('not for an older owner: one that wakes up late does not take away the marker of a turn that could not publish', async () => {
  // The first turn has published everything that it knows of, and is about to remove the head's marker.
  const { world, outcome, endedAtS, violations, unplayed } = await play({
    ...oneCall,
    run: async (ctx) => {
      await call(ctx, 'r1');
      await ctx.sleep({ minutes: 20 });
      return 'slept';
    },
    script: [
      { who: 'turn 1', at: 'update a dueSeq', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: 'publish', what: 'throttle' },
      // No message is left that would bring the run back.
      { who: 'relay 1', at: 'wake', what: 'drop' },
      { who: 'poll', at: 'wake', what: 'drop' },
      { who: 'sweep', at: 'wake', what: 'drop' },
    ],
  });
  expect([...new Set(typesOf(world.published))]).toEqual([...started, ...ended]);
  expect(outcome).toEqual({ status: 'completed', result: 'slept' });
  expect(endedAtS).toBeLessThan(1_400);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('end: what the bus does not take keeps the marker of a run that closed waits at its end', async () => {
  const { world, violations, unplayed } = await play({
    ...oneCall,
    callers: (current, runId) => {
      current.stopAt(30, runId, 'terminate', 'x1');
    },
    script: [{ who: 'turn 2', at: 'publish', what: 'throttle' }],
  });
  expect(typesOf(world.published)).toEqual([...started, 'RemoteTaskSettled', 'RunTerminated']);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('end: a process that dies ahead of publishing leaves a marker, though the head had none of its own', async () => {
  // The settlement's marker stands at the end, so the head gets none.
  const { world, runId, violations, unplayed } = await play({
    ...oneCall,
    script: [{ who: 'turn 2', at: 'publish', what: 'crashAndMessageLost' }],
  });
  expect(typesOf(world.published)).toEqual([...started, ...ended]);
  expect(world.items.get(`run#${runId} a`)).toMatchObject({ publishedSeq: 3 });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('end: what the bus does not take brings an ended run back, though all else is done', async () => {
  const { world, endedAtS, violations, unplayed } = await play({
    ...oneCall,
    script: [{ who: 'turn 2', at: 'publish', what: 'throttle' }],
  });
  expect(typesOf(world.published)).toEqual([...started, ...ended]);
  expect(endedAtS).toBeLessThan(40);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('end: a wake that comes after the end tells nothing again', async () => {
  const { world, violations } = await play({
    ...oneCall,
    callers: (current, runId) => {
      current.settleAt(30, runId, '1', 'pushed');
      // Refused, since the run has ended, but the message of an earlier sweep may still arrive.
      current.wakeAt(40, runId);
      current.wakeAt(2_000, runId);
    },
    script: [],
  });
  expect(typesOf(world.published)).toEqual([...started, ...ended]);
  expect(violations).toBe('');
});

test('end: what was told is not told again by each look at a task that is still to be stopped', async () => {
  const refused = { who: 'turn', at: /^cancel/, what: 'refused' } as const;
  const { world, violations, unplayed } = await play({
    bus: true,
    run: async (ctx) => {
      await ctx.race([async (c) => call(c, 'r1'), async (c) => c.sleep({ seconds: 30 })]);
    },
    script: [refused, refused, refused],
    endS: 1_000,
  });
  expect(typesOf(world.published).filter((type) => type === 'RunCompleted')).toHaveLength(1);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('two owners: both may tell the same, and neither takes the word of the other back', async () => {
  const { world, runId, violations, unplayed } = await play({
    ...oneCall,
    // The first turn has published, and records that long after the run has ended.
    script: [{ who: 'turn 1', at: 'update a dueSeq', what: { freezeUntil: ({ world }) => world.seconds >= 600 } }],
  });
  expect([...new Set(typesOf(world.published))]).toEqual([...started, ...ended]);
  expect(world.items.get(`run#${runId} a`)).toMatchObject({ publishedSeq: 3 });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('paused: what was told before a pause is not told again by each look at it', async () => {
  const { world, violations } = await play({
    bus: true,
    run: async (ctx) => ctx.sleep({ minutes: 5 }),
    callers: (current, runId) => {
      current.controlAt(10, runId, 'pause');
      current.controlAt(100, runId, 'retryNow');
      current.controlAt(200, runId, 'resume');
    },
    script: [],
  });
  expect(typesOf(world.published)).toEqual(['RunStarted', 'RunCompleted']);
  expect(violations).toBe('');
});

/** A run that another version of its code does not fit, for a quarter of an hour. */
const aBlock: Pick<Scene, 'run' | 'other' | 'bus'> = {
  bus: true,
  run: async (ctx) => ctx.sleep({ minutes: 2 }),
  other: {
    run: async (_ctx, step) => step('something else'),
    isDeployed: (seconds) => seconds > 60 && seconds < 900,
  },
};

test('blocked: it is told once, however often the run is looked at', async () => {
  const { world, runId, violations } = await play({ ...aBlock, script: [] });
  expect(typesOf(world.published)).toEqual(['RunStarted', 'RunBlocked', 'RunCompleted']);
  expect(world.published[1]).toMatchObject({ eventId: `${runId}:1:blocked:1`, code: 'NONDETERMINISM', seq: 1 });
  expect(violations).toBe('');
});

test('blocked: what the bus does not take is told under the same number by the next look', async () => {
  const { world, runId, violations, unplayed } = await play({
    ...aBlock,
    script: [{ who: 'turn', at: 'publish RunBlocked', what: 'throttle' }],
  });
  expect(idsOf(world.published)).toContain(`${runId}:1:blocked:1`);
  expect(typesOf(world.published)).toEqual(['RunStarted', 'RunBlocked', 'RunCompleted']);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('blocked: a process that dies between publishing and the block repeats it under its id', async () => {
  const { world, runId, violations, unplayed } = await play({
    ...aBlock,
    script: [
      { who: 'turn', at: /^update a .*blocked/, when: ({ seconds }) => seconds > 60, what: 'crashAndMessageLost' },
    ],
  });
  const blocks = world.published.filter(({ type }) => type === 'RunBlocked');
  expect(idsOf(blocks)).toEqual([`${runId}:1:blocked:1`, `${runId}:1:blocked:1`]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('blocked: one that is not said any more, since the run has gone on, lends its id to no later block', async () => {
  const { world, violations, unplayed } = await play({
    bus: true,
    run: async (ctx) => {
      await ctx.sleep({ minutes: 2 });
      await ctx.sleep({ minutes: 20 });
    },
    other: {
      run: async (_ctx, step) => step('something else'),
      isDeployed: (seconds) => (seconds > 60 && seconds < 150) || (seconds > 600 && seconds < 1_800),
    },
    callers: (current, runId) => {
      current.wakeAt(160, runId);
      current.wakeAt(700, runId);
    },
    script: [
      {
        who: 'turn',
        at: /^update a .*blocked/,
        when: ({ seconds }) => seconds > 60,
        // The turn has published the block, and records that only after the fitting code has continued.
        what: { freezeUntil: ({ world: { seconds } }) => seconds >= 400 },
      },
    ],
  });
  const blocks = world.published.filter(({ type }) => type === 'RunBlocked');
  expect(blocks.map(({ seq }) => seq)).toEqual([1, 2]);
  expect(new Set(idsOf(blocks)).size).toBe(2);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
