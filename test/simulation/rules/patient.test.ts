import { expect, test } from 'vitest';
import { call, play, type Played, type Scene, type SceneSoFar } from './scene.js';

// Starts that a worker makes outside of a turn, since the answer may take minutes: at most one at a server that does
// not deduplicate, none that is not recorded, and none that waits for ever.

const isSettled = ({ token }: SceneSoFar): boolean => token('1')?.settlement !== undefined;
const ambiguous = { status: 'completed', result: 'REMOTE_START_AMBIGUOUS' } as const;
const done = { status: 'completed', result: 'r1' } as const;
const servers = [
  { kind: 'dedupes', dedupes: true },
  { kind: 'is asked for its task', dedupes: false, finds: true },
  { kind: 'knows no repeat', dedupes: false },
] as const;

/** Plays one call of a server that answers its start after 40 s. */
async function slowCall(scene: Partial<Scene>): Promise<Played> {
  const played = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 100 },
    startsTakeS: 40,
    script: [],
    ...scene,
  });
  expect(played.violations).toBe('');
  expect(played.unplayed).toEqual([]);
  return played;
}

const startsOf = ({ world }: Played): number => world.remote.starts.length;
const failures = ({ log }: Played): readonly string[] =>
  log.map(({ type }) => type).filter((type) => /^RemoteTaskStart(Failed|Lost)$/.test(type));

test('F62 hand-over: a worker makes the start, once, and turns that come meanwhile make none', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({
      ...server,
      callers: (world, runId) => {
        for (const atS of [5, 20, 35]) world.wakeAt(atS, runId);
      },
    });
    expect([kind, played.outcome, startsOf(played)]).toEqual([kind, done, 1]);
    expect(failures(played)).toEqual([]);
    // Besides the request and the end there are two writes of the token: those of a start in a turn and a claim.
    const writes = played.world.trace.filter((line) => / (put|update) t#1/.test(line) && line.includes('startClaim'));
    expect(writes).toHaveLength(1);
  }
});

test('F62 message: one that is lost is made good by the sweep', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({ ...server, script: [{ who: 'turn 1', at: 'start in', what: 'drop' }] });
    expect([kind, played.outcome, startsOf(played)]).toEqual([kind, done, 1]);
    expect(played.endedAtS).toBeLessThan(60 + 60 + 40 + 100 + 60);
  }
});

test('F62 message: one that is lost, and the marker of the hand-over: its process died before it was sent', async () => {
  const played = await slowCall({ dedupes: false, script: [{ who: 'turn 1', at: 'start in', what: 'crash' }] });
  expect([played.outcome, startsOf(played)]).toEqual([done, 1]);
});

test('F62 message: one that comes twice makes no second call', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({ ...server, script: [{ who: 'turn 1', at: 'start in', what: 'duplicate' }] });
    expect([kind, played.outcome, startsOf(played)]).toEqual([kind, done, 1]);
  }
});

test('F62 claim: of two workers that read the same item one calls', async () => {
  const played = await slowCall({
    dedupes: false,
    script: [
      { who: 'turn 1', at: 'start in', what: 'duplicate' },
      {
        who: 'starter 1',
        at: /^update t#1 startClaim/,
        what: { freezeUntil: ({ token }) => token('1')?.workerStart?.claim !== undefined },
      },
    ],
  });
  expect([played.outcome, startsOf(played)]).toEqual([done, 1]);
});

test('F62 death before the claim: nothing was called, so another worker calls', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({
      ...server,
      script: [{ who: 'starter 1', at: /^update t#1 startClaim/, what: 'crash' }],
    });
    expect([kind, played.outcome, startsOf(played)]).toEqual([kind, done, 1]);
  }
});

test('F62 death at the claim or before the call: nobody can tell, so towards a server that knows no repeat none is made', async () => {
  for (const [at, what] of [
    [/^update t#1 startClaim/, 'crashAfter'],
    ['start r1', 'crash'],
  ] as const) {
    const [repeated, asked, told] = await Promise.all(
      servers.map(async ({ kind: _, ...server }) =>
        slowCall({ ...server, script: [{ who: 'starter 1', at, what }], endS: 5_000 }),
      ),
    );
    expect([repeated!.outcome, startsOf(repeated!)]).toEqual([done, 1]);
    expect([asked!.outcome, startsOf(asked!)]).toEqual([ambiguous, 0]);
    expect(failures(asked!)).toEqual(['RemoteTaskStartLost', 'RemoteTaskStartLost', 'RemoteTaskStartLost']);
    expect([told!.outcome, startsOf(told!)]).toEqual([ambiguous, 0]);
  }
});

test('F62 death after the call: the task is found by a repeat or a question, or the call ends as ambiguous; never a second', async () => {
  const script = [{ who: 'starter 1', at: /^update t#1 handle/, what: 'crash' }] as const;
  for (const { kind, ...server } of servers) {
    const played = await slowCall({ ...server, script, endS: 5_000 });
    expect(played.world.remote.tasks).toHaveLength(1);
    expect([kind, played.outcome, startsOf(played)]).toEqual([
      kind,
      kind === 'knows no repeat' ? ambiguous : done,
      kind === 'dedupes' ? 2 : 1,
    ]);
  }
});

test('F62 death after the handle was stored: it is the record of the start', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({
      ...server,
      script: [{ who: 'starter 1', at: /^update t#1 handle/, what: 'crashAfter' }],
    });
    expect([kind, played.outcome, startsOf(played)]).toEqual([kind, done, 1]);
    expect(played.endedAtS).toBeLessThan(400);
  }
});

test('F62 an attempt that was not processed is left for a turn, whose commit alone says so; the next is made by a worker too', async () => {
  const refused = { who: 'starter 1', at: 'start r1', what: 'refused' } as const;
  for (const script of [
    [refused],
    // The wake is lost, or the turn dies while it handles it: its marker stays until the log has the result.
    [refused, { who: 'starter 1', at: 'wake', what: 'drop' }],
    [refused, { who: 'starter 1', at: 'wake', what: 'crash' }],
    [refused, { who: 'turn 2', at: 'put h#', what: 'crashAndMessageLost' }],
    [refused, { who: 'turn 2', at: 'put h#', what: 'lostAck' }],
  ] as const) {
    for (const { kind, ...server } of servers) {
      const played = await slowCall({ ...server, script });
      expect([kind, played.outcome, startsOf(played)]).toEqual([kind, done, 1]);
      expect(failures(played)).toEqual(['RemoteTaskStartFailed']);
    }
  }
});

test('F62 what came of a start is in the log once, though two turns take it in', async () => {
  const isTaken = ({ world, runId }: SceneSoFar): boolean =>
    world.log(runId).some(({ type }) => type === 'RemoteTaskStartFailed');
  const played = await slowCall({
    script: [
      { who: 'starter 1', at: 'start r1', what: 'refused' },
      { who: 'turn 2', at: 'put h#', what: { freezeUntil: isTaken } },
    ],
  });
  expect(played.outcome).toEqual(done);
  expect(failures(played)).toEqual(['RemoteTaskStartFailed']);
});

test('F62 death before it is left: the lease runs out, and the start is of unknown fate', async () => {
  const script = [
    { who: 'starter 1', at: 'start r1', what: 'refused' },
    { who: 'starter 1', at: /^update t#1 startCame/, what: 'crash' },
  ] as const;
  const repeated = await slowCall({ script });
  expect([repeated.outcome, startsOf(repeated)]).toEqual([done, 1]);
  const told = await slowCall({ script, dedupes: false });
  expect([told.outcome, startsOf(told)]).toEqual([ambiguous, 0]);
});

test('F62 a worker that is taken for dead and lives: what it has started is cancelled, and the first word stands', async () => {
  const played = await slowCall({
    dedupes: false,
    script: [{ who: 'starter 1', at: 'start r1', what: { freezeUntil: isSettled } }],
  });
  expect(played.outcome).toEqual(ambiguous);
  expect(played.world.remote.tasks).toMatchObject([{ cancelled: true }]);
});

test('F62 a wait that is closed during the call: its task is cancelled by the worker, and started no second time', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({
      ...server,
      run: async (ctx) =>
        ctx.race([async (c) => call(c, 'r1'), async (c) => c.sleep({ seconds: 20 }).then(() => 'too late')]),
    });
    expect([kind, played.outcome]).toEqual([kind, { status: 'completed', result: 'too late' }]);
    expect([startsOf(played), played.world.remote.tasks.map(({ cancelled }) => cancelled)]).toEqual([1, [true]]);
    expect(played.token('1')).toMatchObject({ cancel: { kind: 'sent' } });
    expect(played.token('1')?.dueAtMs).toBeUndefined();
  }
});

test('F62 a wait that is closed before the call: it is not made', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({
      ...server,
      run: async (ctx) => call(ctx, 'r1'),
      callers: (world, runId) => {
        world.stopAt(10, runId, 'cancel', 'c1');
      },
      script: [{ who: 'starter 1', at: /^update t#1 startClaim/, what: { freezeUntil: isSettled } }],
    });
    expect([kind, played.outcome?.status, startsOf(played)]).toEqual([kind, 'cancelled', 0]);
  }
});

test('F62 a worker dies over a call whose wait is closed: the task is found and cancelled where that can be', async () => {
  const script = [{ who: 'starter 1', at: /^update t#1 handle/, what: 'crash' }] as const;
  const callers: Scene['callers'] = (world, runId) => {
    world.stopAt(20, runId, 'cancel', 'c1');
  };
  for (const { kind, ...server } of servers) {
    const played = await slowCall({ ...server, script, callers, endS: 5_000 });
    const isFound = kind !== 'knows no repeat';
    expect([kind, played.world.remote.tasks.map(({ cancelled }) => cancelled)]).toEqual([kind, [isFound]]);
    expect(played.token('1')?.dueAtMs).toBeUndefined();
  }
});

test('F62 deadline: it ends the wait though its worker died, when it comes', async () => {
  for (const { kind, ...server } of servers) {
    const played = await slowCall({
      ...server,
      run: async (ctx) => call(ctx, 'r1', { timeout: { seconds: 200 } }),
      script: [{ who: 'starter 1', at: 'start r1', what: 'crash' }],
    });
    expect([kind, played.outcome]).toEqual([kind, { status: 'completed', result: 'REMOTE_TASK_TIMED_OUT' }]);
    expect(played.endedAtS).toBeGreaterThanOrEqual(200);
    expect(played.endedAtS).toBeLessThan(203);
  }
});

test('F62 pause: a start that no worker has begun waits for the resume', async () => {
  const played = await slowCall({
    callers: (world, runId) => {
      world.controlAt(1, runId, 'pause');
      world.controlAt(300, runId, 'resume');
    },
    script: [{ who: 'turn 1', at: 'start in', what: 'drop' }],
  });
  expect(played.outcome).toEqual(done);
  expect(
    played.world.trace.filter((line) => line.endsWith(' start r1')).map((line) => Number(line.split(' ')[0]) > 300),
  ).toEqual([true]);
});

test('F62 hand-over: no turn looks at it, nor writes to its item, while a worker has it', async () => {
  const played = await slowCall({
    callers: (world, runId) => {
      for (const atS of [5, 20, 35]) world.wakeAt(atS, runId);
    },
  });
  const byTurns = played.world.trace.filter((line) => / turn\.\d+ (put|update) t#1/.test(line));
  expect(byTurns.filter((line) => Number(line.split(' ')[0]) < 60)).toHaveLength(1);
});

// A wait that ends with its start unanswered, at a server that deduplicates: the start is repeated, to learn the task's
// id.

const looks = ({ world }: Pick<Played, 'world'>): readonly string[] =>
  world.trace.filter((line) => line.includes('update t#1 lookUntilMs'));
const startersOf = ({ world }: Played): readonly string[] =>
  world.trace.flatMap((line) => (line.endsWith(' start r1') ? [line.split(' ')[1]!.split('.')[0]!] : []));

/** Plays a call that waits a minute for a server that answers starts after two. */
async function endsFirst(scene: Partial<Scene> = {}): Promise<Played> {
  const played = await slowCall({
    run: async (ctx) => call(ctx, 'r1', { timeout: { seconds: 60 } }),
    startsTakeS: 120,
    endS: 4_000,
    ...scene,
  });
  expect(played.outcome).toEqual({ status: 'completed', result: 'REMOTE_TASK_TIMED_OUT' });
  return played;
}
const left = ({ token }: Played) => ({ dueAtMs: token('1')?.dueAtMs, cancel: token('1')?.cancel?.kind });
const stopped = { dueAtMs: undefined, cancel: 'sent' };

test('F62 lost start of a closed wait: a worker looks for its task with the time that a start takes, and a turn cancels it', async () => {
  const played = await endsFirst();
  expect(startersOf(played)).toEqual(['starter', 'starter']);
  expect(played.world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(left(played)).toEqual(stopped);
});

test('F62 lost start of a closed wait: of two workers one looks, and no turn asks again meanwhile', async () => {
  const played = await endsFirst({
    callers: (world, runId) => {
      for (const atS of [200, 230, 260]) world.wakeAt(atS, runId);
    },
    script: [
      { who: 'turn', at: 'start in', when: (world) => world.seconds > 60, what: 'duplicate' },
      {
        who: 'starter',
        at: 'update t#1 lookUntilMs',
        what: { freezeUntil: ({ token }) => token('1')?.lookUntilMs !== undefined },
      },
    ],
  });
  expect(startersOf(played)).toHaveLength(2);
  expect(played.world.trace.filter((line) => line.includes(' start in')).length).toBeLessThanOrEqual(3);
  expect(left(played)).toEqual(stopped);
});

test('F62 lost start of a closed wait: a worker that dies with the answer is followed by another', async () => {
  const played = await endsFirst({
    script: [{ who: 'starter', at: /^update t#1 handle/, when: (world) => world.seconds > 60, what: 'crash' }],
  });
  expect(looks(played)).toHaveLength(2);
  expect(played.world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(left(played)).toEqual(stopped);
});

test('F62 lost start of a closed wait: a store that turns the handle away is asked until it takes it', async () => {
  const played = await endsFirst({
    script: [{ who: 'starter', at: /^update t#1 handle/, when: (world) => world.seconds > 60, what: 'throttle' }],
  });
  expect(startersOf(played)).toHaveLength(2);
  expect(left(played)).toEqual(stopped);
});

test('F62 lost start of a closed wait: without an answer it is looked for again a minute later, not at the end of the claim', async () => {
  const played = await endsFirst({
    script: [{ who: 'starter', at: 'start r1', when: (world) => world.seconds > 60, what: 'noReply' }],
  });
  expect(played.world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  const [first, , second] = looks(played).map((line) => Number(line.split(' ')[0]));
  expect(second! - first!).toBeLessThanOrEqual(120 + 60 + 60);
  expect(left(played)).toEqual(stopped);
});

test('F62 lost start of a closed wait: one that names no task leaves nothing to be done', async () => {
  const played = await endsFirst({ asks: { r1: { first: 1, then: 0 } } });
  expect(played.world.remote.tasks).toEqual([]);
  expect(startersOf(played)).toHaveLength(2);
  expect(left(played)).toEqual({ dueAtMs: undefined, cancel: undefined });
});
