import { expect, test } from 'vitest';
import type { HistoryEvent } from '../../../lib/history/event.js';
import { EngineError } from '../../../lib/base/errors.js';
import { turnTimeoutMs } from '../../../lib/base/limits.js';
import type { RemoteStart } from '../../../lib/operations/remote-task/start-attempt.js';
import { startRemoteTask } from '../../../lib/operations/remote-task/start-remote-task.js';
import type { Settlement, TokenRecord } from '../../../lib/history/records.js';
import { aFlow, started, startMs, WatchedServer } from '../../engine/support.js';
import { call, play, type Played, type Scene, type SceneSoFar } from './scene.js';
import { storeProxy } from '../../support/store-proxy.js';

// Starting a remote task: at most once at a server that does not deduplicate, and never without a record.

const isSettled = ({ token }: SceneSoFar): boolean => token('1')?.settlement !== undefined;
const hasHandle = ({ token }: SceneSoFar): boolean => token('1')?.handle !== undefined;

test('token item before the start: a process that dies after the call leaves the sign that keeps others from calling', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    script: [{ who: 'turn 1', at: /t#1/, when: (world) => world.remote.tasks.length === 1, what: 'crash' }],
  });
  expect(world.remote.tasks).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('old item: a settlement on it means that nothing is started', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1', { retrySafe: true }),
    dedupes: false,
    callers: (world, runId) => {
      world.settleAt(100, runId, '1', 'pushed');
    },
    script: [
      { who: 'turn 1', at: 'start r1', what: 'crash' },
      { who: 'turn 2', at: 'put t#1', what: { freezeUntil: isSettled } },
    ],
  });
  expect(world.remote.starts).toEqual([]);
  expect(outcome).toEqual({ status: 'completed', result: 'pushed' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('old item: a handle on it means that nothing is started', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1', { retrySafe: true }),
    tools: { r1: 300 },
    dedupes: false,
    script: [
      { who: 'turn 1', at: 'put t#1', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: 'put t#1', what: { freezeUntil: hasHandle } },
    ],
  });
  expect(world.remote.starts).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('old item: a handle on it means that a server which dedupes is not called either', async () => {
  const server = new WatchedServer({ dedupes: true });
  const run = await started(
    aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'r1' })),
    { reports: server },
  );
  const { deps } = run.app;
  const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't' } as const;
  const putToken = async (token: TokenRecord) => ({ put: false, token: { ...token, handle } });
  const store = storeProxy(deps.store, { get: (_, name) => (name === 'tokens.put' ? putToken : undefined) });
  const attempt = startRemoteTask({ ...deps, store }, anAttempt(run.runId)).catch(() => undefined);
  expect((await attempt)?.token.handle).toEqual(handle);
  expect(server.startedAtMs).toEqual([]);
});

test('handle on the item: it is the record of the start, though no commit speaks of it yet', async () => {
  const { world, outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 100 },
    script: [{ who: 'turn 1', at: 'poll', what: 'crash' }],
    endS: 200,
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(world.remote.starts).toHaveLength(1);
  expect(world.trace.filter((line) => line.includes('put t#1'))).toHaveLength(1);
  expect(log.map(({ type }) => type)).toEqual([
    ...['RunStarted', 'RemoteTaskRequested'],
    ...['RemoteTaskStarted', 'TokenSettled', 'RunEnding', 'RunEnded'],
  ]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('numbered attempts: only the one who put the item calls a server that does not dedupe', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    script: [{ who: 'turn 1', at: 'start r1', what: { freezeUntil: (scene) => isSettled(scene) || hasHandle(scene) } }],
  });
  expect(world.remote.tasks).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('deadline of the run, or of the wait: a store that takes its time until then leaves nothing to be begun', async () => {
  for (const dedupes of [true, false]) {
    const server = new WatchedServer({ dedupes });
    const run = await started(
      aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'r1' })),
      { reports: server },
    );
    const { deps } = run.app;
    let nowMs = startMs;
    const putToken = async (token: TokenRecord) => {
      nowMs = startMs + 10_000;
      return { put: true, token };
    };
    const store = storeProxy(deps.store, { get: (_, name) => ({ 'tokens.put': putToken })[name] });
    const late = { ...deps, store, clock: { nowMs: () => nowMs } };
    const attempt = anAttempt(run.runId);
    const deadlineAtMs = startMs + 10_000;
    for (const one of [
      { ...attempt, runEndsAtMs: deadlineAtMs },
      { ...attempt, wait: { ...attempt.wait, deadlineAtMs } },
    ]) {
      nowMs = startMs;
      // The log records that a server which must not be called twice was not called.
      expect(await startRemoteTask(late, one).catch((error: unknown) => error)).toMatchObject(
        dedupes ? { isPutOff: true } : { attempted: { type: 'RemoteTaskStartFailed', retryAtMs: deadlineAtMs } },
      );
    }
    expect(server.startedAtMs).toEqual([]);
  }
});

/** Returns the first attempt to call tool r1 of a server, in a turn of its own. */
function anAttempt(runId: string): RemoteStart {
  return {
    runId,
    wait: {
      kind: 'remoteTask',
      waitId: '1',
      name: 'r1',
      server: 'reports',
      requestedAtMs: startMs,
      deadlineAtMs: Infinity,
      failedAttempts: 0,
      rounds: 0,
      watch: false,
      asked: new Map(),
      answers: new Map(),
    },
    command: {
      kind: 'startRemoteTask',
      waitId: '1',
      server: 'reports',
      name: 'r1',
      request: { kind: 'tool', tool: 'r1', arguments: {} },
      digest: '',
      timeoutMs: 1,
      retrySafe: false,
      onCancel: 'cancel',
      onTimeout: 'cancel',
      answersQuestions: false,
      watch: false,
    },
    turnId: 'turn',
    called: new Set(),
    limits: { remainingMs: () => turnTimeoutMs },
    persist: (request) => request(),
  };
}

test('numbered attempts: the one who called does not call again when it reads again', async () => {
  const server = new WatchedServer({ dedupes: false });
  const run = await started(
    aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'r1' })),
    { reports: server },
  );
  const { deps } = run.app;
  const settled: unknown[] = [];
  const methods: Record<string, unknown> = {
    'tokens.put': async (token: TokenRecord) => ({ put: server.startedAtMs.length === 0, token }),
    // The task is known only to its starter, which cancels it.
    'starts.storeHandle': async () => Promise.reject(new EngineError('STORE_UNAVAILABLE', 'throttled')),
    'tokens.settle': async (_: string, __: string, { outcome }: Settlement) => {
      settled.push(outcome);
      return { settled: true };
    },
  };
  const store = storeProxy(deps.store, { get: (_, name) => methods[name] });
  const attempt = anAttempt(run.runId);
  await expect(startRemoteTask({ ...deps, store }, attempt)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await startRemoteTask({ ...deps, store }, attempt).catch(() => undefined);
  expect(server.startedAtMs).toHaveLength(1);
  expect(server.cancels).toBe(1);
  expect(settled).toMatchObject([{ error: { code: 'REMOTE_START_AMBIGUOUS' } }]);
});

test('handle in hand: a write of the handle that gets no answer is made again, and the task is kept', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 30 },
    dedupes: false,
    script: [
      { who: 'turn 1', at: 'update t#1 handle', what: 'lateApply' },
      { who: 'turn 1', at: 'update t#1 handle', what: 'throttle' },
    ],
  });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([false]);
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('numbered attempts: two owners do not both claim the attempt that follows a refused one', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    script: [
      { who: 'turn 1', at: 'start r1', what: 'refused' },
      { who: 'turn 2', at: 'start r1', what: { freezeUntil: (scene) => isSettled(scene) || hasHandle(scene) } },
    ],
  });
  expect(world.remote.tasks).toHaveLength(1);
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('numbered attempts: a refused attempt is in the log and the next one starts the task', async () => {
  const { world, outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 30 },
    dedupes: false,
    script: [
      { who: 'turn 1', at: 'start r1', what: 'refused' },
      { who: 'turn 2', at: 'start r1', what: 'refused' },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(log.flatMap((event) => (event.type === 'RemoteTaskStartFailed' ? [event.attempt] : []))).toEqual([1, 2]);
  expect(world.remote.tasks).toHaveLength(1);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('ambiguous only without handle: a handle that comes meanwhile is waited for', async () => {
  const { outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 300 },
    dedupes: false,
    script: [
      { who: 'turn 1', at: 'update t#1 handle', what: { freezeUntil: ({ played }) => played(1) } },
      { who: 'turn 2', at: 'update t#1 settled', what: { freezeUntil: hasHandle } },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('handle only without settlement: the task of a handle that is refused is cancelled with the handle in hand', async () => {
  const { world, outcome, token, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    script: [{ who: 'turn 1', at: 'update t#1 handle', what: { freezeUntil: isSettled } }],
  });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(token('1')?.handle).toBeUndefined();
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('one key: a start that got no answer is repeated under the same idempotency key', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 30 },
    script: [{ who: 'turn 1', at: 'start r1', what: 'noReply' }],
  });
  expect(world.remote.tasks).toHaveLength(1);
  expect(world.remote.starts).toHaveLength(2);
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('asked for: the task of a process that died with its handle is found and waited for, and nothing is started again', async () => {
  const { world, outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 300 },
    dedupes: false,
    finds: true,
    script: [{ who: 'turn 1', at: /t#1/, when: (world) => world.remote.tasks.length === 1, what: 'crash' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(world.remote.starts).toHaveLength(1);
  expect(log.flatMap((event) => (event.type === 'RemoteTaskStartLost' ? [event.look] : []))).toEqual([1]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('asked for: a start that never arrived is asked for three times and then reported, and nothing is started again', async () => {
  const { world, outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    finds: true,
    script: [{ who: 'turn 1', at: 'start r1', what: 'noReplyLost' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(world.remote.starts).toEqual([]);
  expect(log.flatMap((event) => (event.type === 'RemoteTaskStartLost' ? [event.look] : []))).toEqual([1, 2, 3]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('asked for: a look that another turn has made meanwhile, and recorded, is not recorded again', async () => {
  const looks = (log: readonly HistoryEvent[]) =>
    log.flatMap((event) => (event.type === 'RemoteTaskStartLost' ? [event.look] : []));
  const { log, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    finds: true,
    script: [
      { who: 'turn 1', at: 'start r1', what: 'noReplyLost' },
      {
        who: 'turn',
        at: 'put h#',
        when: (world, runId) => looks(world.log(runId)).length === 1,
        what: { freezeUntil: ({ world, runId }) => looks(world.log(runId)).length > 1 },
      },
    ],
  });
  expect(looks(log)).toEqual([1, 2, 3]);
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('asked for: the owner of the start is frozen with its handle meanwhile; there is one task and it is waited for', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 400 },
    dedupes: false,
    finds: true,
    script: [
      {
        who: 'turn 1',
        at: 'update t#1 handle',
        what: { freezeUntil: ({ token }) => token('1')?.handle !== undefined },
      },
    ],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([false]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

async function cancelledAfterDeath(server: Pick<Scene, 'dedupes' | 'finds'>): Promise<Played> {
  return play({
    run: async (ctx) => call(ctx, 'r1'),
    ...server,
    callers: (world, runId) => {
      world.stopAt(5, runId, 'cancel', 'c1');
    },
    script: [{ who: 'turn 1', at: /t#1/, when: (world) => world.remote.tasks.length === 1, what: 'crash' }],
  });
}

test('lost start: a task whose starter died is cancelled with its run, where the server dedupes (GB-05)', async () => {
  const { world, token, outcome, violations, unplayed } = await cancelledAfterDeath({ dedupes: true });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(token('1')?.cancel?.kind).toBe('sent');
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('lost start: a task whose starter died is cancelled with its run, where the server can be asked (GB-05)', async () => {
  const { world, token, outcome, violations, unplayed } = await cancelledAfterDeath({ dedupes: false, finds: true });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(world.remote.starts).toHaveLength(1);
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(token('1')?.cancel?.kind).toBe('sent');
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('lost start: one that was turned away is not made again to be cancelled', async () => {
  const { world, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.stopAt(0.5, runId, 'cancel', 'c1');
    },
    script: [{ who: 'turn 1', at: 'start r1', what: 'refused' }],
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(world.remote.starts).toEqual([]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});
