import type { StepContext } from 'outwait';
import { expect, test } from 'vitest';
import { turnReserveMs } from '../../../lib/base/limits.js';
import { runLongStep } from '../../../lib/operations/steps/run-long-step.js';
import { runTurn, turnPassesMax, quickPasses, passBackoffMaxMs } from '../../../lib/operations/turn/run-turn.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { eventsOf, Host, throttled } from '../../engine/host.js';
import { mortal } from '../../engine/mortal.js';
import {
  aFlow,
  endedAfterMs,
  started,
  startMs,
  WatchedServer,
  withTimePassing,
  type Started,
} from '../../engine/support.js';
import { storeProxy } from '../../support/store-proxy.js';

const S = 1_000;
const codeOf = (error: unknown): string => (error as { code: string }).code;

const call = async (server: WatchedServer): Promise<Started> =>
  started(
    aFlow(async (ctx) =>
      ctx.callRemoteTask({ server: 'reports', tool: 'r1', timeout: { hours: 1 } }).then(({ result }) => result, codeOf),
    ),
    { reports: server },
  );

// A store that refuses the commit of a result.

test('F02 is no attempt of the step: it ran once and its result is committed when the store takes it', async () => {
  let ran = 0;
  const run = await started(aFlow(async (ctx) => ctx.step('work', () => ++ran).catch(codeOf)));
  let refused = 0;
  const deps = throttled(run.app.deps, (call) => eventsOf(call).includes('StepCompleted') && ++refused <= 5);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 1 });
  expect(ran).toBe(1);
});

test('F02 for longer than the turn has time: handed over without a strike, and the step runs again until it is recorded', async () => {
  let ran = 0;
  const run = await started(aFlow(async (ctx) => ctx.step('work', () => ++ran).catch(codeOf)));
  const deps = throttled(run.app.deps, (call) => call.atS < 400 && eventsOf(call).includes('StepCompleted'));
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: ran });
  // The turns followed one another, each for as long as it had time; no message was delivered twice.
  expect(ran).toBeGreaterThan(5);
  expect(ran).toBeLessThan(10);
});

test('F02 with half of the commits refused no step is poisoned and none runs twice', async () => {
  let ran = 0;
  const run = await started(
    aFlow(async (ctx) => {
      for (let i = 0; i < 20; i++) await ctx.step(`s${i}`, () => ++ran);
      return ran;
    }),
  );
  let calls = 0;
  const deps = throttled(run.app.deps, ({ method }) => method.startsWith('log.commit') && ++calls % 2 === 1);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 20 });
  expect(ran).toBe(20);
});

test('F02 of an attempt that was announced: the start that was handed over is no strike, and the next one says so', async () => {
  let ran = 0;
  const run = await started(aFlow(async (ctx) => ctx.step('work', () => ++ran).catch(codeOf)));
  // A turn that receives a message for the third time notices crashes.
  const deps = throttled(run.app.deps, (call) => call.atS < 250 && eventsOf(call).includes('StepCompleted'));
  const limits = { remainingMs: () => startMs + 60 * S - run.app.clock.nowMs(), deliveryCount: 3 };
  await withTimePassing(run.app, runTurn(deps, { runId: run.runId }, limits));
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toMatchObject({ status: 'completed', result: ran });
  const starts = (await run.app.history(run.runId)).events.filter(({ type }) => type === 'StepStarted');
  expect(starts.length).toBeGreaterThan(3);
  expect(starts.slice(1).every((event) => event.type === 'StepStarted' && event.unharmed === true)).toBe(true);
});

test('F02 only a process that died counts: its start is a strike although the message says that an earlier one is none', async () => {
  let ran = 0;
  let die = (): void => undefined;
  const run = await started(
    aFlow(async (ctx) =>
      ctx
        .step('work', async () => {
          ran++;
          die();
          await new Promise(() => undefined);
        })
        .catch(codeOf),
    ),
  );
  const crash = async (deliveryCount: number, begun: number): Promise<void> => {
    const process = mortal(run.app.deps);
    die = process.die;
    const message = { runId: run.runId, unharmed: [{ waitId: '1', attempt: 1, begun }] };
    const limits = { remainingMs: () => 60 * S, deliveryCount };
    await Promise.race([runTurn(process.deps, message, limits), process.death]);
  };
  // The first attempt was handed over; its message is redelivered each time that its receiver died.
  await crash(2, 1);
  await crash(2, 1);
  await crash(3, 1);
  await crash(4, 1);
  expect(ran).toBe(4);
  await withTimePassing(
    run.app,
    runTurn(run.app.deps, { runId: run.runId }, { remainingMs: () => 60 * S, deliveryCount: 5 }),
  );
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'STEP_POISONED' });
});

test('F02 does not have a step that may run at most once run again', async () => {
  let ran = 0;
  const run = await started(aFlow(async (ctx) => ctx.step('work', () => ++ran, { atMostOnce: true }).catch(codeOf)));
  const deps = throttled(run.app.deps, (call) => call.atS < 120 && eventsOf(call).includes('StepCompleted'));
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'STEP_INTERRUPTED' });
  expect(ran).toBe(1);
});

test('F02 a step that may run at most once and was announced, but never begun for want of time, runs', async () => {
  let ran = 0;
  const run = await started(aFlow(async (ctx) => ctx.step('work', () => ++ran, { atMostOnce: true }).catch(codeOf)));
  // Announced in time, and recorded when the step of at most 45 s no longer fits.
  const deps = throttled(run.app.deps, (call) => call.atS < 20 && eventsOf(call).includes('StepStarted'));
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 1 });
});

// A store that refuses other writes while steps are running.

test('F88 an effect that the store turns away is tried again: the step at most once is recorded, others do not run again', async () => {
  const ran = { once: 0, plain: 0 };
  const run: Started = await started(
    aFlow(async (ctx) => {
      const once = ctx.step(
        'once',
        async () => {
          ran.once++;
          await run.app.clock.delay(5 * S);
          return 'once';
        },
        { atMostOnce: true },
      );
      const plain = ctx.step('plain', async () => {
        ran.plain++;
        await run.app.clock.delay(4 * S);
        return 'plain';
      });
      await ctx.sleep({ seconds: 2 });
      const { outcome } = await ctx.externalToken({ name: 'approval', timeout: { seconds: 90 } });
      return [await once, await plain, await outcome.then(() => 'settled', codeOf)];
    }),
  );
  let refused = 0;
  const deps = throttled(run.app.deps, ({ method }) => method === 'tokens.put' && ++refused <= 6);
  const host = new Host(run, deps);
  await host.toEnd();
  // The second one is for the end of the token.
  expect(host.turns).toBeLessThan(4);
  expect((await run.app.show(run.runId)).outcome).toEqual({
    status: 'completed',
    result: ['once', 'plain', 'EXTERNAL_TIMED_OUT'],
  });
  expect(ran).toEqual({ once: 1, plain: 1 });
});

test('F88 an effect that cannot be done in this turn is left to the next one, and what others ended with is committed', async () => {
  const ran = { once: 0 };
  const run: Started = await started(
    aFlow(async (ctx) => {
      const once = ctx.step(
        'once',
        async () => {
          ran.once++;
          await run.app.clock.delay(5 * S);
          return 'once';
        },
        { atMostOnce: true },
      );
      const { outcome } = await ctx.externalToken({ name: 'approval', timeout: { seconds: 200 } });
      return [await once, await outcome.then(() => 'settled', codeOf)];
    }),
  );
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'tokens.put' && atS < 150);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toMatchObject({
    status: 'completed',
    result: ['once', 'EXTERNAL_TIMED_OUT'],
  });
  expect(ran.once).toBe(1);
});

test('F88 a look for a cancel that fails ends nothing', async () => {
  let ran = 0;
  const run: Started = await started(
    aFlow(async (ctx) =>
      ctx.step('work', async () => {
        ran++;
        await run.app.clock.delay(9 * S);
        return ran;
      }),
    ),
  );
  const deps = throttled(run.app.deps, ({ method }) => method === 'inbox.readAll');
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 1 });
  expect(await endedAfterMs(run)).toBe(9 * S);
});

test('F88 what an effect breaks on does not drop what a step beside it ends with', async () => {
  let ran = 0;
  const run: Started = await started(
    aFlow(async (ctx) => {
      const work = ctx.step('work', async () => {
        ran++;
        await run.app.clock.delay(5 * S);
        return ran;
      });
      await ctx.externalToken({ name: 'approval' });
      return work;
    }),
  );
  const { deps } = run.app;
  let broken = true;
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'tokens.put' || !broken) return value.bind(target) as unknown;
      return async () => Promise.reject(new TypeError('a bug'));
    },
  });
  const limits = { remainingMs: () => 60 * S };
  await expect(withTimePassing(run.app, runTurn({ ...deps, store }, { runId: run.runId }, limits))).rejects.toThrow(
    'a bug',
  );
  broken = false;
  await withTimePassing(run.app, runTurn(deps, { runId: run.runId }, limits));
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 1 });
  expect(ran).toBe(1);
});

test('F02 a pass whose commit was lost hands what it has on: the step under way is not begun again', async () => {
  let ran = 0;
  const run: Started = await started(
    aFlow(async (ctx) => {
      const work = ctx.step('work', async () => {
        ran++;
        await run.app.clock.delay(5 * S);
        return ran;
      });
      await ctx.sleep({ seconds: 2 });
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
        const isTimer = commit.events.some(({ type }) => type === 'TimerFired');
        if (!isTimer || lost) return deps.store.log.commit(...args);
        // Another owner makes the same commit, first.
        lost = true;
        await deps.store.log.commit(runId, { ...commit, writerId: 'another' });
        return deps.store.log.commit(runId, commit);
      };
    },
  });
  await withTimePassing(run.app, runTurn({ ...deps, store }, { runId: run.runId }, { remainingMs: () => 60 * S }));
  expect(lost).toBe(true);
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 1 });
  expect(ran).toBe(1);
  expect(await endedAfterMs(run)).toBe(5 * S);
});

test('result that another owner has recorded: dropped, and the run goes on from there', async () => {
  const run = await started(aFlow(async (ctx) => ctx.step('one', () => 1).then(async () => ctx.step('two', () => 2))));
  const { deps } = run.app;
  let lost = false;
  const store = storeProxy(deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'log.commit') return value.bind(target) as unknown;
      return async (...args: Parameters<typeof deps.store.log.commit>) => {
        const [runId, commit] = args;
        if (lost || !commit.events.some(({ type }) => type === 'StepCompleted')) return deps.store.log.commit(...args);
        lost = true;
        await deps.store.log.commit(runId, { ...commit, writerId: 'another' });
        return deps.store.log.commit(runId, commit);
      };
    },
  });
  await withTimePassing(run.app, runTurn({ ...deps, store }, { runId: run.runId }, { remainingMs: () => 60 * S }));
  expect(lost).toBe(true);
  const { outcome } = await run.app.show(run.runId);
  expect(outcome).toEqual({ status: 'completed', result: 2 });
  const { events } = await run.app.history(run.runId);
  expect(events.flatMap((event) => (event.type === 'StepCompleted' ? [event.waitId] : []))).toEqual(['1', '2']);
});

test('pass after pass without a commit: the next ones come after a pause, as long as there is time for it', async () => {
  const run = await started(aFlow(async (ctx) => ctx.step('one', () => 1)));
  const lostAfterMs = async (remainingMs: number): Promise<readonly [commits: number, pauses: number]> => {
    const seen = { commits: 0, pauses: 0 };
    const commit = async (): Promise<boolean> => {
      seen.commits++;
      return false;
    };
    const { deps } = run.app;
    const store = storeProxy(deps.store, {
      get(target, name) {
        const value: unknown = name === 'log.commit' ? commit : Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const delay = async (): Promise<void> => {
      seen.pauses++;
    };
    const turn = runTurn({ ...deps, store, delay }, { runId: run.runId }, { remainingMs: () => remainingMs });
    await expect(turn).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    return [seen.commits, seen.pauses];
  };
  expect(await lostAfterMs(60 * S)).toEqual([turnPassesMax, turnPassesMax - quickPasses]);
  expect(await lostAfterMs(turnReserveMs + passBackoffMaxMs)).toEqual([turnPassesMax, turnPassesMax - quickPasses]);
  expect(await lostAfterMs(turnReserveMs + passBackoffMaxMs - 1)).toEqual([quickPasses, 0]);
});

test('start under way when its run is terminated: the turn waits for it, so that its task is known', async () => {
  class SlowServer extends WatchedServer {
    answered = 0;
    override async start(...args: Parameters<WatchedServer['start']>) {
      await requestStop(run.app.deps, { runId: run.runId, kind: 'terminate' });
      await run.app.clock.delay(20 * S);
      const reply = await super.start(...args);
      this.answered++;
      return reply;
    }
  }
  const server = new SlowServer({ dedupes: false });
  const run: Started = await call(server);
  await withTimePassing(run.app, runTurn(run.app.deps, { runId: run.runId }, { remainingMs: () => 600 * S }));
  expect((await run.app.show(run.runId)).status).toMatch(/ending|terminated/);
  expect(server.answered).toBe(1);
});

// A long step whose settlement is refused.

const longStep = async (work: (step: StepContext) => unknown, options = {}): Promise<Started> =>
  started(aFlow(async (ctx) => ctx.step('work', work, { long: true, ...options }).catch(codeOf)));

test('F02 for 6 minutes: it ran once, and is settled then', async () => {
  let ran = 0;
  const run = await longStep(() => ++ran);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'tokens.settle' && atS < 360);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 1 });
  expect(ran).toBe(1);
  expect(await endedAfterMs(run)).toBeLessThan(370 * S);
});

test('F02 for longer than its worker has time: handed over without a strike', async () => {
  let ran = 0;
  const run = await longStep(() => ++ran);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'tokens.settle' && atS < 3_000);
  await new Host(run, deps).toEnd(4_000);
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: ran });
  // Each worker has 900 s.
  expect(ran).toBe(4);
  expect((await run.app.deps.store.tokens.read(run.runId, '1'))?.step?.strikes).toBe(1);
});

test('F02 and that may run at most once is not run again', async () => {
  let ran = 0;
  const run = await longStep(() => ++ran, { atMostOnce: true });
  const deps = throttled(
    run.app.deps,
    ({ method, args, atS }) => method === 'tokens.settle' && atS < 1_000 && JSON.stringify(args).includes('completed'),
  );
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'STEP_INTERRUPTED' });
  expect(ran).toBe(1);
});

test('F02 a failure that is turned away is an attempt, and no strike', async () => {
  let ran = 0;
  const run = await longStep(({ attempt }) => {
    ran++;
    if (attempt === 1) throw new Error('no');
    return attempt;
  });
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'longSteps.recordFailure' && atS < 360);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 2 });
  expect(ran).toBe(2);
});

test('message of a worker that lives: sent again in a minute when the store cannot be read, not given back', async () => {
  const run = await longStep(() => 1);
  const sent: unknown[] = [];
  const sendStep = async (message: unknown, delayMs: number): Promise<void> => {
    sent.push([message, delayMs]);
  };
  const deps = {
    ...throttled(run.app.deps, ({ method }) => method === 'tokens.read'),
    queues: { sendStep } as unknown as typeof run.app.deps.queues,
  };
  const message = { runId: run.runId, waitId: '1', dueAtMs: startMs };
  const limits = { remainingMs: () => 60 * S };
  expect(await runLongStep(deps, { ...message, unharmed: 'w' }, limits)).toBe('put off');
  expect(sent).toEqual([[{ ...message, unharmed: 'w' }, 60 * S]]);
  // Another delivery of any other message reports as much as this one.
  await expect(runLongStep(deps, message, limits)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(sent).toHaveLength(1);
});

// A store that refuses the handle of a remote task.

const aTask = { after: { minutes: 10 }, result: 'done' };

test.each([true, false])(
  'F03 for 7 s: the task goes on and its result arrives; the server dedupes: %s',
  async (dedupes) => {
    const server = new WatchedServer({ task: aTask, dedupes });
    const run = await call(server);
    const deps = throttled(run.app.deps, ({ method, atS }) => method === 'starts.storeHandle' && atS < 7);
    await new Host(run, deps).toEnd();
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
    expect([server.startedAtMs.length, server.cancels]).toEqual([1, 0]);
  },
);

test('F03 for longer than a turn has time, by a server that dedupes: the task is found again and not cancelled', async () => {
  const server = new WatchedServer({ task: aTask, dedupes: true });
  const run = await call(server);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'starts.storeHandle' && atS < 200);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
  expect(server.cancels).toBe(0);
});

test('F03 for longer than a turn has time, by one that does not: the task is cancelled, and the call is ambiguous', async () => {
  const server = new WatchedServer({ task: aTask, dedupes: false });
  const run = await call(server);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'starts.storeHandle' && atS < 200);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect([server.startedAtMs.length, server.cancels]).toEqual([1, 1]);
});

test('F03 the settlement of a start that had ended at once is tried as long: nothing is started again', async () => {
  const server = new WatchedServer({ task: { result: 'at once' }, dedupes: false });
  const run = await call(server);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'tokens.settle' && atS < 20);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toMatchObject({ status: 'completed' });
  expect((await run.app.show(run.runId)).outcome).not.toMatchObject({ result: 'REMOTE_START_AMBIGUOUS' });
  expect(server.startedAtMs).toHaveLength(1);
});
