import type { StepContext, StepOptions } from 'outwait';
import { expect, test } from 'vitest';
import * as limits from '../../../lib/base/limits.js';
import type { Log } from '../../../lib/base/log.js';
import { releaseTokens } from '../../../lib/operations/turn/release-markers.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { requestControl } from '../../../lib/operations/requests/control-run.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import type { RemoteTaskTransport } from '../../../lib/remote/transport.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { Host } from '../../engine/host.js';
import {
  aFlow,
  endedAfterMs,
  eventTypes,
  started,
  startMs,
  WatchedServer,
  withTimePassing,
  type Flow,
  type Started,
} from '../../engine/support.js';
import { storeProxy } from '../../support/store-proxy.js';

const S = 1_000;
const codeOf = (error: unknown): string => (error as { code: string }).code;
const sinceStartS = ({ app }: Started): number => (app.clock.nowMs() - startMs) / S;
const outcomeOf = async ({ app, runId }: Started) => (await app.show(runId)).outcome;

/** Runs a turn of a minute, in which time passes. */
async function aTurn(run: Started, deps = run.app.deps, deliveryCount = 1): Promise<void> {
  const endsAtMs = run.app.clock.nowMs() + limits.turnTimeoutMs;
  const remainingMs = (): number => endsAtMs - run.app.clock.nowMs();
  await withTimePassing(run.app, runTurn(deps, { runId: run.runId }, { remainingMs, deliveryCount }));
}

// The signal of a step that is no longer waited for.

/** Creates a step of at most a minute that records when its signal aborted, and continues for 3 s regardless. */
function aDeafStep() {
  const seen: { abortedAtS?: number; run?: Started } = {};
  const work = async ({ signal }: StepContext): Promise<string> => {
    signal.addEventListener('abort', () => {
      if (seen.run !== undefined) seen.abortedAtS = sinceStartS(seen.run);
    });
    await seen.run?.app.clock.delay(3 * S);
    return 'late';
  };
  return { seen, work };
}

test('F15 aborts when its race is over, and the turn goes on without it', async () => {
  const { seen, work } = aDeafStep();
  const run: Started = (seen.run = await started(
    aFlow(async (ctx) => {
      await ctx.race([(branch) => branch.step('work', work), (branch) => branch.sleep({ milliseconds: 300 })]);
      await ctx.step('after', async () => run.app.clock.delay(5 * S));
      return sinceStartS(run);
    }),
  ));
  await aTurn(run);
  expect(seen.abortedAtS).toBe(0.3);
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 5.3 });
  expect((await eventTypes(run)).filter((type) => type === 'StepCompleted')).toHaveLength(1);
});

test('F15 holds no turn up: it ends when nothing that is waited for is under way', async () => {
  const { seen, work } = aDeafStep();
  const run = (seen.run = await started(
    aFlow(async (ctx) => {
      await ctx.race([(branch) => branch.step('work', work), (branch) => branch.sleep({ milliseconds: 300 })]);
      await ctx.sleep({ hours: 1 });
    }),
  ));
  await aTurn(run);
  expect(sinceStartS(run)).toBe(0.3);
});

test('F15 aborts when its scope is cancelled', async () => {
  const { seen, work } = aDeafStep();
  const run = (seen.run = await started(
    aFlow(async (ctx) => {
      const scoped = ctx.scope(async (inner, handle) => {
        const working = inner.step('work', work).catch(codeOf);
        await ctx.sleep({ seconds: 1 });
        handle.cancel();
        return working;
      });
      await scoped;
      await ctx.step('after', async () => seen.run?.app.clock.delay(5 * S));
    }),
  ));
  await aTurn(run);
  expect(seen.abortedAtS).toBe(1);
  expect(await endedAfterMs(run)).toBe(6 * S);
});

test('F15 aborts when the run is cancelled', async () => {
  const { seen, work } = aDeafStep();
  const run = (seen.run = await started(
    aFlow(async (ctx) =>
      ctx.step('work', work).finally(async () => ctx.step('tidy', async () => seen.run?.app.clock.delay(5 * S))),
    ),
  ));
  const stopped = run.app.clock
    .delay(S)
    .then(async () => requestStop(run.app.deps, { runId: run.runId, kind: 'cancel' }));
  await aTurn(run);
  await stopped;
  // A turn looks for a cancel every 2 s.
  expect(seen.abortedAtS).toBe(2);
  expect(await outcomeOf(run)).toEqual({ status: 'cancelled' });
  expect(await endedAfterMs(run)).toBe(7 * S);
});

test('F15 aborts when the workflow ends without it', async () => {
  const { seen, work } = aDeafStep();
  const run = (seen.run = await started(
    aFlow(async (ctx) => Promise.race([ctx.step('work', work), ctx.sleep({ seconds: 1 }).then(() => 'first')])),
  ));
  await aTurn(run);
  expect(seen.abortedAtS).toBe(1);
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'first' });
});

test('F15 does not abort before the log has that nobody waits: another owner may order it otherwise', async () => {
  const { seen, work } = aDeafStep();
  const run = (seen.run = await started(
    aFlow(async (ctx) => ctx.race([(branch) => branch.step('work', work), (branch) => branch.sleep({ seconds: 1 })])),
  ));
  const { deps } = run.app;
  const abortedAtCommit: unknown[] = [];
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name.startsWith('log.commit')) abortedAtCommit.push(seen.abortedAtS);
        return Reflect.apply(value, target, args);
      };
    },
  });
  await aTurn(run, { ...deps, store });
  expect(seen.abortedAtS).toBe(1);
  expect(abortedAtCommit).toEqual([undefined, undefined]);
});

// The deadline of a step in a turn.

test('F16 ends an attempt that is under way, as it does that of a long step', async () => {
  let ran = 0;
  let aborted = false;
  const options: StepOptions = { deadline: { seconds: 1 }, retry: { maxAttempts: 9 } };
  const run: Started = await started(
    aFlow(async (ctx) =>
      ctx
        .step(
          'work',
          async ({ signal }) => {
            ran++;
            await run.app.clock.delay(3 * S, signal);
            aborted = signal.aborted;
            throw new Error('stopped');
          },
          options,
        )
        .catch((error: unknown) => [codeOf(error), (error as Error).message]),
    ),
  );
  await aTurn(run);
  const said = ['STEP_TIMED_OUT', 'step "work" did not end before its deadline'];
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: said });
  expect(await endedAfterMs(run)).toBe(S);
  expect([ran, aborted]).toEqual([1, true]);

  const long = await started(
    aFlow(async (ctx) =>
      ctx
        .step('work', () => new Promise(() => undefined), { ...options, long: true })
        .catch((error: unknown) => [codeOf(error), (error as Error).message]),
    ),
  );
  await long.app.pass({ seconds: 90 }, { whileStepsRun: true });
  expect(await outcomeOf(long)).toEqual({ status: 'completed', result: said });
});

test('F16 leaves a shorter timeout its word', async () => {
  const run: Started = await started(
    aFlow(async (ctx) =>
      ctx
        .step('work', async () => run.app.clock.delay(9 * S), {
          timeout: { seconds: 1 },
          deadline: { seconds: 5 },
          retry: { maxAttempts: 1 },
        })
        .catch((error: unknown) => (error as Error).message),
    ),
  );
  await aTurn(run);
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'step "work" took longer than 1000 ms' });
});

test('F16 begins no attempt after it', async () => {
  let ran = 0;
  const run = await started(
    aFlow(async (ctx) => ctx.step('work', () => ++ran, { deadline: { minutes: 1 } }).catch(codeOf)),
  );
  // Requested by a turn that has no time to begin it.
  await runTurn(run.app.deps, { runId: run.runId }, { remainingMs: () => 10 * S });
  run.app.clock.moveTo(startMs + 61 * S);
  await aTurn(run);
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'STEP_TIMED_OUT' });
  expect(ran).toBe(0);
});

test('F16 lets a step begin for which less time is left than its timeout', async () => {
  const run = await started(aFlow(async (ctx) => ctx.step('work', () => 'done', { deadline: { seconds: 3 } })));
  await runTurn(run.app.deps, { runId: run.runId }, { remainingMs: () => 3 * S + limits.turnReserveMs });
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'done' });
});

// The timeout of a run.

async function timed(flow: Flow, timeoutMs: number): Promise<Started> {
  const { app } = await started(flow);
  const { runId } = await startRun(app.deps, { workflow: 'flow', input: null, timeoutMs });
  return { app, runId };
}

test('F17 ends it within a turn, and nothing begins after it', async () => {
  const ran: string[] = [];
  let aborted = false;
  const run: Started = await timed(
    aFlow(async (ctx) => {
      await ctx.step('a', async ({ signal }) => {
        ran.push('a');
        signal.addEventListener('abort', () => (aborted = true));
        await run.app.clock.delay(3 * S);
      });
      await ctx.step('b', () => ran.push('b'));
    }),
    500,
  );
  let rounds = 0;
  const deps = { ...run.app.deps, drain: async () => (rounds++, run.app.deps.drain()) };
  await aTurn(run, deps);
  expect(await outcomeOf(run)).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMED_OUT' } });
  expect(await endedAfterMs(run)).toBe(500);
  expect(ran).toEqual(['a']);
  expect(aborted).toBe(true);
  expect(rounds).toBeLessThan(20);
});

test('F17 no instant that nobody can act on has the turn look again and again', async () => {
  const run: Started = await started(
    aFlow(async (ctx) => {
      let failures = 0;
      const retried = ctx.step('retried', () => {
        if (failures++ === 0) throw new Error('not yet');
        return sinceStartS(run);
      });
      const slow = ctx.step('slow', async () => run.app.clock.delay(5 * S));
      await slow;
      return retried;
    }),
  );
  let rounds = 0;
  const deps = { ...run.app.deps, drain: async () => (rounds++, run.app.deps.drain()) };
  // A redelivered message: one step at a time, so the retry that is due at 1 s is held back.
  await aTurn(run, deps, 2);
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 5 });
  expect(rounds).toBeLessThan(40);
});

// The pause that an error requests.

async function attemptsOf(error: () => Error): Promise<{ readonly atS: readonly number[]; readonly warned: string[] }> {
  const warned: string[] = [];
  const quiet = (): void => undefined;
  const log: Log = { debug: quiet, info: quiet, warn: (event) => warned.push(event), error: quiet };
  const atS: number[] = [];
  const run: Started = await started(
    aFlow(async (ctx) =>
      ctx.step('work', () => {
        atS.push(sinceStartS(run));
        if (atS.length === 1) throw error();
      }),
    ),
    {},
    { log },
  );
  await run.app.runToEnd(run.runId);
  return { atS, warned: warned.filter((event) => event.includes('retryAfterMs')) };
}

test('F23 is a day at most: an instant in place of a length is cut, with a warning', async () => {
  for (const retryAfterMs of [3 * 86_400 * S, startMs + 30 * S]) {
    const { atS, warned } = await attemptsOf(() => Object.assign(new Error('429'), { retryAfterMs }));
    expect(atS).toEqual([0, 86_400]);
    expect(warned).toHaveLength(1);
  }
});

test('F23 of less than a day is kept, without one', async () => {
  const { atS, warned } = await attemptsOf(() => Object.assign(new Error('429'), { retryAfterMs: 80_000 * S }));
  expect(atS).toEqual([0, 80_000]);
  expect(warned).toEqual([]);
});

test('F23 is none when the error throws at a look at it: no code of a user makes a turn throw', async () => {
  for (const property of ['retryAfterMs', 'nonRetryable', 'name']) {
    let looks = 0;
    const { atS } = await attemptsOf(() =>
      Object.defineProperty(new Error('429'), property, {
        get: () => {
          // Names are read once, when the error is caught.
          if (property !== 'name' || looks++ > 0) throw new Error('do not look');
          return 'Error';
        },
      }),
    ).catch(() => ({ atS: [] }));
    expect(atS).toEqual([0, 1]);
  }
});

// Work that is begun with little time left.

const sums = limits as unknown as Readonly<Record<string, number>>;

test.each([
  ['storeWriteMs', ['storeConnectTimeoutMs', 'storeRequestTimeoutMs']],
  ['turnReserveMs', ['storeWriteMs']],
  ['startCallMs', ['requestTimeoutMs', 'storeWriteMs']],
  ['startReserveMs', ['startsWaitMaxMs', 'serverTraitsTimeoutMs', 'storeWriteMs', 'requestTimeoutMs', 'storeWriteMs']],
  ['answerReserveMs', ['requestTimeoutMs', 'storeWriteMs']],
  ['pollReserveMs', ['storeWriteMs', 'requestTimeoutMs', 'storeWriteMs']],
  ['cancelReserveMs', ['requestTimeoutMs', 'storeWriteMs']],
  ['lostStartReserveMs', ['serverTraitsTimeoutMs', 'serverTraitsTimeoutMs', 'requestTimeoutMs', 'storeWriteMs']],
  ['publishReserveMs', ['busAnswerTimeoutMs', 'storeWriteMs']],
] as const)('F91 %s is the sum of the limits of its parts, and fits into a turn', (sum, parts) => {
  expect(sums[sum]).toBe(parts.reduce((total, part) => total + (sums[part] ?? Number.NaN), 0));
  expect(sums[sum]).toBeLessThan(limits.turnTimeoutMs);
  // The longest step, with the time that must be left after it.
  expect(limits.stepTimeoutMaxMs + limits.turnReserveMs).toBeLessThan(limits.turnTimeoutMs);
});

/** Runs a turn of a run with one remote call; each operation of its server and its store takes as long as it may. */
async function slowStart(leftMs: number) {
  const server = new WatchedServer({ task: { never: true }, dedupes: false });
  const run = await started(
    aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'r1' })),
    { reports: server },
  );
  const { clock, deps } = run.app;
  const inner = deps.transports.get('reports');
  const transport: RemoteTaskTransport = {
    protocol: 'mcp',
    dedupes: false,
    problemWith: () => undefined,
    admit: async () => {
      await clock.delay(limits.startsWaitMaxMs);
      return { kind: 'admitted', leave: async () => undefined };
    },
    traits: async () => new Promise(() => undefined),
    start: async (request) => {
      await clock.delay(limits.requestTimeoutMs);
      return inner.start(request);
    },
    get: async (handle) => inner.get(handle),
    cancel: async (handle) => inner.cancel(handle),
  };
  const slow = new Set(['tokens.put', 'starts.storeHandle']);
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (slow.has(name)) await clock.delay(limits.storeWriteMs);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const endsAtMs = clock.nowMs() + leftMs;
  const turn = runTurn(
    { ...deps, store, transports: { get: () => transport } },
    { runId: run.runId },
    { remainingMs: () => endsAtMs - clock.nowMs() },
  );
  await withTimePassing(run.app, turn);
  return { run, server, endsAtMs };
}

test('F91 a start that fits has its handle stored before the time is over, though each part takes as long as it may', async () => {
  const { run, server, endsAtMs } = await slowStart(limits.startReserveMs);
  expect(server.startedAtMs).toHaveLength(1);
  const token = await run.app.deps.store.tokens.read(run.runId, '1');
  expect(token?.handle).toBeDefined();
  expect(run.app.clock.nowMs()).toBe(endsAtMs);
});

test('F91 a start that does not fit is not begun', async () => {
  const { run, server } = await slowStart(limits.startReserveMs - 1);
  expect(server.startedAtMs).toEqual([]);
  expect(await run.app.deps.store.tokens.read(run.runId, '1')).toBeUndefined();
});

test('F91 a claim that took longer than it may is given back: towards a server that must not be called twice the log says so', async () => {
  const server = new WatchedServer({ task: { after: { seconds: 1 }, result: 'done' }, dedupes: false });
  const run = await started(
    aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'r1' })).result),
    { reports: server },
  );
  const { clock, deps } = run.app;
  let puts = 0;
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (name === 'tokens.put' && ++puts === 1) await clock.delay(30 * S);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  await new Host(run, { ...deps, store }).toEnd();
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 'done' });
  expect(server.startedAtMs).toHaveLength(1);
  expect(await eventTypes(run)).toContain('RemoteTaskStartFailed');
});

async function cancelledWith(leftMs: number): Promise<number> {
  const server = new WatchedServer();
  const run = await started(
    aFlow(async (ctx) => ctx.sleep({ days: 1 })),
    { reports: server },
  );
  const token: TokenRecord = {
    runId: run.runId,
    waitId: '1',
    server: 'reports',
    attempt: 1,
    writerId: 'w',
    createdAtMs: startMs,
    deadlineAtMs: startMs + 3_600 * S,
    pollErrors: 0,
    handle: { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't' },
    settlement: { writerId: 's', atMs: startMs, by: 'timeout', outcome: { kind: 'timed_out' } },
  };
  await releaseTokens(run.app.deps, [token], { remainingMs: () => leftMs });
  return server.cancels;
}

test('F91 a cancel that fits is sent', async () => {
  expect(await cancelledWith(limits.cancelReserveMs)).toBe(1);
});

test('F91 a cancel that does not fit is not', async () => {
  expect(await cancelledWith(limits.cancelReserveMs - 1)).toBe(0);
});

// A pause during work in hand.

test('F14 a timer that was due during a pause fires with the resume, though a step is still under way', async () => {
  const run: Started = await started(
    aFlow(async (ctx) => {
      const work = ctx.step('work', async () => run.app.clock.delay(20 * S));
      await ctx.sleep({ seconds: 5 });
      const firedAtS = sinceStartS(run);
      await work;
      return firedAtS;
    }),
  );
  const control = (kind: 'pause' | 'resume', atS: number): Promise<void> =>
    run.app.clock
      .delay(atS * S)
      .then(() => requestControl(run.app.deps, run.runId, kind))
      .then(() => undefined);
  await Promise.all([aTurn(run), control('pause', 1), control('resume', 8)]);

  const outcome = await outcomeOf(run);
  expect(outcome).toMatchObject({ status: 'completed' });
  const { result } = outcome as { result: number };
  expect(result).toBeGreaterThanOrEqual(8);
  expect(result).toBeLessThan(13);
});

test('F02 a pass that lost its commit to a pause records what is under way first', async () => {
  let ran = 0;
  const run: Started = await started(
    aFlow(async (ctx) => {
      const work = ctx.step('work', async () => {
        ran++;
        await run.app.clock.delay(5 * S);
        return ran;
      });
      await ctx.sleep({ seconds: 1 });
      return work;
    }),
  );
  const { deps } = run.app;
  let lost = false;
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'log.commit') return value.bind(target) as unknown;
      return async (...args: Parameters<typeof deps.store.log.commit>) => {
        const [runId, commit] = args;
        if (lost || !commit.events.some(({ type }) => type === 'TimerFired')) return deps.store.log.commit(...args);
        lost = true;
        await requestControl(deps, runId, 'pause');
        await deps.store.log.commit(runId, { ...commit, writerId: 'another' });
        return deps.store.log.commit(runId, commit);
      };
    },
  });
  await aTurn(run, { ...deps, store });
  expect(await eventTypes(run)).toContain('StepCompleted');
  await requestControl(deps, run.runId, 'resume');
  await aTurn(run);
  expect(await outcomeOf(run)).toEqual({ status: 'completed', result: 1 });
  expect(ran).toBe(1);
});
