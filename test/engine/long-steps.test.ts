import { NonRetryableError, StepFailed, type StepContext, type StepOptions } from 'outwait';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../lib/base/errors.js';
import { runLongStep, type LongStepResult } from '../../lib/operations/steps/run-long-step.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { requestControl } from '../../lib/operations/requests/control-run.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { settleWait } from '../../lib/operations/requests/settle-wait.js';
import type { Queues } from '../../lib/queue/queue.js';
import { mortal, type Mortal } from './mortal.js';
import { aFlow, anApp, endedAfterMs, eventTypes, started, startMs, withTimePassing, type Started } from './support.js';

const S = 1_000;
const codeOf = (error: unknown): string => (error as { code: string }).code;
const messageOf = (error: unknown): string => (error as Error).message;
const plenty = { remainingMs: () => 900 * S };

/** Starts a run of one long step; if the step fails, its code is the result. */
async function aLongStep(work: (step: StepContext) => unknown, options: StepOptions = {}): Promise<Started> {
  return started(aFlow(async (ctx) => ctx.step('work', work, { long: true, ...options }).catch(codeOf)));
}

/** Runs the turn that requests the step; the message to the workers is lost. */
async function asked(run: Started): Promise<void> {
  const queues: Queues = {
    sendTurn: async (message, dedupId) => run.app.deps.queues.sendTurn(message, dedupId),
    sendWork: async (message, delayMs) => run.app.deps.queues.sendWork(message, delayMs),
    sendStep: async () => undefined,
    sendStart: async () => undefined,
  };
  await runTurn({ ...run.app.deps, queues }, { runId: run.runId }, plenty);
}

const tokenOf = async ({ app, runId }: Started) => (await app.deps.store.tokens.read(runId, '1'))!;

/**
 * Runs a worker that gets a message for the current due instant of the step; if another worker died, after its lease
 * has run out.
 */
async function aWorker(run: Started, deps = run.app.deps, limits = plenty): Promise<LongStepResult> {
  const { dueAtMs = 0, step } = await tokenOf(run);
  if (step !== undefined && step.strikes > 0) run.app.clock.moveTo(dueAtMs);
  return withTimePassing(run.app, runLongStep(deps, { runId: run.runId, waitId: '1', dueAtMs }, limits));
}

/** Creates a step that kills its process that many times, and then returns the progress that it was given. */
function aDeadlyStep(
  deaths: number,
  beforeIt: (step: StepContext, run: Started) => Promise<void> = async () => undefined,
) {
  const state: { run: Started | undefined; process: Mortal | undefined; ran: number } = {
    run: undefined,
    process: undefined,
    ran: 0,
  };
  const work = async (step: StepContext): Promise<unknown> => {
    state.ran++;
    if (state.ran > deaths || state.process === undefined || state.run === undefined) return step.progress ?? 'nothing';
    await beforeIt(step, state.run);
    state.process.die();
    return new Promise(() => undefined);
  };
  const crash = async (): Promise<void> => {
    if (state.run === undefined) throw new Error('there is no run yet');
    state.process = mortal(state.run.app.deps);
    await Promise.race([aWorker(state.run, state.process.deps), withTimePassing(state.run.app, state.process.death)]);
    state.process = undefined;
  };
  return { state, work, crash };
}

describe('a long step', () => {
  it('runs in a worker, while the run waits for its token', async () => {
    const run = await aLongStep(({ attempt, idempotencyKey }) => [attempt, idempotencyKey]);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: [1, `${run.runId}/1`] });
    expect(await eventTypes(run)).toEqual(['RunStarted', 'StepRequested', 'TokenSettled', 'RunEnding', 'RunEnded']);
    expect(await endedAfterMs(run)).toBe(0);
  });

  it('gives undefined when its function does', async () => {
    const { app, runId } = await started(
      aFlow(async (ctx) => (await ctx.step<unknown>('work', () => undefined, { long: true })) === undefined),
    );
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
  });

  it('may take up to 14 minutes, which the turn does not wait for', async () => {
    const run = await aLongStep(async () => {
      await run.app.clock.delay(839 * S);
      return 'done';
    });
    await withTimePassing(run.app, run.app.settleDown());
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
    expect(await endedAfterMs(run)).toBe(839 * S);
  });

  it('whose race is over before the log has it is closed by its settlement alone', async () => {
    const run = await started(
      aFlow(async (ctx) => {
        await ctx.race([async (one) => one.step('work', () => 1, { long: true }), async () => 'at once']);
        await ctx.sleep({ minutes: 5 });
      }),
    );
    await run.app.settleDown();
    expect(await eventTypes(run)).toEqual(['RunStarted', 'StepRequested', 'TimerStarted', 'TokenSettled']);
  });

  it('is failed when an attempt takes longer than its timeout', async () => {
    const run = await aLongStep(
      async ({ signal }) => {
        await run.app.clock.delay(700 * S);
        return signal.aborted;
      },
      { timeout: { minutes: 10 }, retry: { maxAttempts: 1 } },
    );
    await withTimePassing(run.app, run.app.settleDown());
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'STEP_TIMED_OUT' });
    expect(await endedAfterMs(run)).toBe(600 * S);
  });

  it.each([
    [{ timeout: { minutes: 15 } }, 'step "work": timeout must be from 1 ms to 840 s, got 900 s'],
    [{ heartbeatTimeout: { milliseconds: 0 } }, 'step "work": heartbeatTimeout must be at least 1 ms'],
  ] as const)('is refused with %j', async (options, message) => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.step('work', () => 1, { long: true, ...options })));
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_INVALID', message } });
  });

  it('is repeated after its pauses and given what the attempt before it reported', async () => {
    const atMs: number[] = [];
    const run = await aLongStep(
      ({ attempt, progress, report }) => {
        atMs.push(run.app.clock.nowMs() - startMs);
        if (attempt === 3) return progress ?? 'nothing';
        report([...((progress ?? []) as number[]), attempt]);
        throw new Error('not yet');
      },
      { retry: { initialInterval: { seconds: 200 }, maxInterval: { minutes: 20 } } },
    );
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: [1, 2] });
    expect(atMs).toEqual([0, 200 * S, 600 * S]);
    expect((await tokenOf(run)).step).toMatchObject({ failedAttempts: 2, lastError: { code: 'STEP_FAILED' } });
  });

  it('ends with its last error, and at once with one that is not retryable', async () => {
    let ran = 0;
    const options: StepOptions = { long: true, retry: { maxAttempts: 2 } };
    const flow = aFlow(async (ctx) => [
      await ctx.step('a', () => Promise.reject(new Error(`no ${++ran}`)), options).catch(messageOf),
      await ctx.step('b', () => Promise.reject(new NonRetryableError(`no ${++ran}`)), options).catch(codeOf),
      await ctx.step('c', (): unknown => 1n, options).catch(codeOf),
    ]);
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: ['step "a" failed: no 2', 'STEP_FAILED', 'STEP_FAILED'],
    });
    expect(ran).toBe(3);
  });

  it('has no further attempt that its deadline would cut off', async () => {
    let ran = 0;
    const run = await aLongStep(
      () => {
        ran++;
        throw new Error('no');
      },
      { deadline: { seconds: 10 }, retry: { maxAttempts: 9, initialInterval: { seconds: 4 } } },
    );
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'STEP_FAILED' });
    expect(ran).toBe(2);
  });

  it('ends at its deadline, which aborts an attempt that is under way', async () => {
    const { aborted, run } = await anEndless({ deadline: { minutes: 5 } });
    await run.app.pass({ minutes: 6 }, { whileStepsRun: true });
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'STEP_TIMED_OUT' });
    expect(aborted()).toBe(true);
    expect(await endedAfterMs(run)).toBe(300 * S);
  });
});

/** Starts a run of a long step that continues until its signal aborts. */
async function anEndless(options: StepOptions = {}) {
  let aborted = false;
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const run = await aLongStep(async ({ signal }) => {
    begun();
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    aborted = true;
    throw new Error('stopped');
  }, options);
  return { run, hasBegun, aborted: () => aborted };
}

describe('a long step whose worker died', () => {
  it('is begun again when the lease has run out, with the progress that was saved', async () => {
    const deadly = aDeadlyStep(1, async (step, { app }) => {
      step.report({ row: 7 });
      await app.clock.delay(25 * S);
      // Reported after the last beat, so it is lost.
      step.report({ row: 8 });
    });
    const run = (deadly.state.run = await aLongStep(deadly.work));
    await asked(run);
    await deadly.crash();
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: { row: 7 } });
    // The beat was at 20 s, and the lease holds for 90 s from then on.
    expect(await endedAfterMs(run)).toBe(110 * S);
    expect(deadly.state.ran).toBe(2);
  });

  it('three times is given up as poison, and not with fewer', async () => {
    for (const [deaths, result] of [
      [2, 'nothing'],
      [3, 'STEP_POISONED'],
    ] as const) {
      const deadly = aDeadlyStep(deaths);
      const run = (deadly.state.run = await aLongStep(deadly.work));
      await asked(run);
      for (let death = 0; death < deaths; death++) await deadly.crash();
      expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result });
    }
  });

  it('counts strikes from the last attempt that failed', async () => {
    const deadly = aDeadlyStep(2);
    const run = (deadly.state.run = await aLongStep(async (step) => {
      if (deadly.state.ran === 2 && step.attempt === 1) throw new Error('lives, but fails');
      return deadly.work(step);
    }));
    await asked(run);
    await deadly.crash();
    await deadly.crash();
    expect((await tokenOf(run)).step).toMatchObject({ strikes: 2, failedAttempts: 0 });
    expect(await aWorker(run)).toBe('failed');
    expect((await tokenOf(run)).step).toMatchObject({ strikes: 0, failedAttempts: 1 });
  });

  it('and that may run at most once is not begun again', async () => {
    const deadly = aDeadlyStep(1);
    const run = (deadly.state.run = await aLongStep(deadly.work, { atMostOnce: true }));
    await asked(run);
    await deadly.crash();
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'STEP_INTERRUPTED' });
    expect(deadly.state.ran).toBe(1);
  });
});

describe('messages to the workers', () => {
  it('may be lost: the sweep sends another one within two minutes', async () => {
    const run = await aLongStep(() => 'done');
    await asked(run);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(await endedAfterMs(run)).toBe(60 * S);
  });

  it('may come twice: of two workers one runs the attempt', async () => {
    let ran = 0;
    const run = await aLongStep(() => ++ran);
    await asked(run);
    const results = await Promise.all([aWorker(run), aWorker(run)]);
    expect(results.sort()).toEqual(['settled', 'stale']);
    expect(ran).toBe(1);
  });

  it('for a stale due instant of the step begin nothing', async () => {
    const { run, hasBegun } = await anEndless();
    await asked(run);
    const { dueAtMs = 0 } = await tokenOf(run);
    void aWorker(run);
    await hasBegun;
    const message = { runId: run.runId, waitId: '1', dueAtMs };
    expect(await runLongStep(run.app.deps, message, plenty)).toBe('stale');
    expect(await runLongStep(run.app.deps, { ...message, waitId: '2' }, plenty)).toBe('stale');
  });

  it('that come before the lease of a worker has run out begin nothing', async () => {
    const { run, hasBegun } = await anEndless();
    await asked(run);
    void aWorker(run);
    await hasBegun;
    const { dueAtMs = 0 } = await tokenOf(run);
    expect(await runLongStep(run.app.deps, { runId: run.runId, waitId: '1', dueAtMs }, plenty)).toBe('stale');
    expect((await tokenOf(run)).step).toMatchObject({ strikes: 1 });
  });

  it('that find the step settled make up for the wake that was lost', async () => {
    const run = await aLongStep(() => 'done');
    await asked(run);
    const { dueAtMs = 0 } = await tokenOf(run);
    // Handles the wake of the start.
    await run.app.settleDown();
    const { queues } = run.app.deps;
    const losing: Queues = {
      sendTurn: async () => undefined,
      sendWork: async (message, delayMs) => queues.sendWork(message, delayMs),
      sendStep: async (message, delayMs) => queues.sendStep(message, delayMs),
      sendStart: async (message, delayMs) => queues.sendStart(message, delayMs),
    };
    expect(await aWorker(run, { ...run.app.deps, queues: losing })).toBe('settled');
    expect(await runLongStep(run.app.deps, { runId: run.runId, waitId: '1', dueAtMs }, plenty)).toBe('stale');
    await run.app.settleDown();
    expect((await run.app.show(run.runId)).status).toBe('completed');
  });
});

describe('a long step that nobody waits for any more', () => {
  it.each(['cancel', 'terminate'] as const)('is aborted within a beat after a %s', async (kind) => {
    const { run, hasBegun, aborted } = await anEndless();
    const settled = run.app.settleDown();
    await hasBegun;
    if (kind === 'cancel') await run.app.cancel(run.runId);
    else await requestStop(run.app.deps, { runId: run.runId, kind });
    await settled;
    expect(aborted()).toBe(true);
    expect(run.app.clock.nowMs() - startMs).toBeLessThanOrEqual(20 * S);
    expect((await run.app.show(run.runId)).status).toBe(kind === 'cancel' ? 'completed' : 'terminated');
  });

  it('is aborted when another branch of a race was first', async () => {
    let aborted = false;
    const flow = aFlow(async (ctx) => {
      const first = await ctx.race([
        async (branch) =>
          branch.step(
            'work',
            async ({ signal }) => {
              await new Promise((resolve) => {
                signal.addEventListener('abort', resolve, { once: true });
              });
              aborted = true;
            },
            { long: true },
          ),
        async (branch) => branch.sleep({ minutes: 3 }).then(() => 'timer'),
      ]);
      await ctx.sleep({ hours: 1 });
      return first;
    });
    const run = await started(flow);
    await run.app.pass({ minutes: 5 }, { whileStepsRun: true });
    expect(aborted).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'timer' });
    expect((await tokenOf(run)).settlement?.outcome).toEqual({ kind: 'abandoned' });
  });

  it('changes nothing with a result after the end of its run', async () => {
    let finish = (): void => undefined;
    const run = await aLongStep(
      () =>
        new Promise((resolve) => {
          finish = () => {
            resolve('late');
          };
        }),
    );
    await asked(run);
    const { dueAtMs = 0 } = await tokenOf(run);
    const working = runLongStep(run.app.deps, { runId: run.runId, waitId: '1', dueAtMs }, plenty);
    await run.app.deps.drain();
    await requestStop(run.app.deps, { runId: run.runId, kind: 'terminate' });
    await run.app.settleDown();
    const before = JSON.stringify(await run.app.deps.store.runs.read(run.runId));
    finish();
    expect(await working).toBe('lost');
    expect(JSON.stringify(await run.app.deps.store.runs.read(run.runId))).toBe(before);
  });

  it('can be settled by hand, and drops what its worker does', async () => {
    const { run, hasBegun, aborted } = await anEndless();
    const ended = run.app.runToEnd(run.runId);
    await hasBegun;
    const outcome = { kind: 'completed', result: 'by hand', isError: false } as const;
    expect(await settleWait(run.app.deps, run.runId, '1', outcome)).toEqual({ settled: true });
    expect(await ended).toEqual({ status: 'completed', result: 'by hand' });
    expect(aborted()).toBe(true);
  });
});

describe('a long step that is settled by hand as failed', () => {
  it.each([
    [{ kind: 'failed', message: 'no disk' } as const, 'step "work" failed: no disk'],
    [{ kind: 'completed', result: 7, isError: true } as const, 'step "work" was settled as failed'],
  ])('fails like a step: %j', async (outcome, message) => {
    const flow = aFlow(async (ctx) =>
      ctx
        .step('work', () => 1, { long: true })
        .catch((error: unknown) => [error instanceof StepFailed, codeOf(error), messageOf(error)]),
    );
    const run = await started(flow);
    await asked(run);
    await settleWait(run.app.deps, run.runId, '1', outcome);
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: [true, 'STEP_FAILED', message],
    });
  });
});

describe('an attempt of a long step', () => {
  it('is not begun with too little time left; the sweep comes back to it', async () => {
    const run = await aLongStep(() => 'done', { timeout: { minutes: 2 } });
    await asked(run);
    expect(await aWorker(run, run.app.deps, { remainingMs: () => 149 * S })).toBe('put off');
    expect((await tokenOf(run)).step).toMatchObject({ strikes: 0 });
    expect(await aWorker(run, run.app.deps, { remainingMs: () => 150 * S })).toBe('settled');
  });

  it('is not begun while the run is paused', async () => {
    let ran = 0;
    const run = await aLongStep(() => {
      ran++;
      return 'done';
    });
    await asked(run);
    await requestControl(run.app.deps, run.runId, 'pause');
    await run.app.pass({ minutes: 10 });
    expect(ran).toBe(0);
    expect(await run.app.show(run.runId)).toMatchObject({ status: 'running', waits: [{ kind: 'longStep' }] });
    await requestControl(run.app.deps, run.runId, 'resume');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(await endedAfterMs(run)).toBeLessThanOrEqual(12 * 60 * S);
  });

  it('is put off while the workflow is missing or blocked, without a strike', async () => {
    const run = await aLongStep(() => 'done', { atMostOnce: true });
    await asked(run);
    const fitting = run.app.deps.app;
    for (const broken of [aFlow(async (ctx) => ctx.sleep({ hours: 1 })), undefined]) {
      run.app.deploy(broken === undefined ? { ...fitting, workflows: new Map() } : anApp(broken));
      expect(await aWorker(run)).toBe('put off');
    }
    run.app.deploy(fitting);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
  });

  it('is not begun after the deadline', async () => {
    let ran = 0;
    const run = await aLongStep(() => ++ran, { deadline: { seconds: 30 } });
    await asked(run);
    run.app.clock.moveTo(startMs + 30 * S);
    expect(await aWorker(run)).toBe('settled');
    expect((await tokenOf(run)).settlement).toMatchObject({ by: 'timeout', outcome: { kind: 'timed_out' } });
    expect(ran).toBe(0);
  });

  it('that fails after a retry-now has its pause, whatever else wakes the run', async () => {
    let ran = 0;
    const flow = aFlow(async (ctx) =>
      Promise.all([
        ctx.step(
          'work',
          async () => {
            await run.app.clock.delay(S);
            if (++ran < 3) throw new Error('no');
            return 'done';
          },
          { long: true, retry: { initialInterval: { hours: 2 }, maxInterval: { hours: 2 } } },
        ),
        ctx.signal('news'),
      ]),
    );
    const run = await started(flow);
    const tenMinutes = async (): Promise<void> => run.app.pass({ minutes: 10 }, { whileStepsRun: true });
    await tenMinutes();
    await requestControl(run.app.deps, run.runId, 'retryNow');
    await tenMinutes();
    await run.app.signal(run.runId, 'news');
    await tenMinutes();
    expect(ran).toBe(2);
  });

  it('that waits for its time is begun at once by a retry-now', async () => {
    let ran = 0;
    const run = await aLongStep(() => (++ran < 3 ? Promise.reject(new Error('no')) : 'done'), {
      retry: { initialInterval: { hours: 2 }, maxInterval: { hours: 2 } },
    });
    for (let time = 1; time <= 2; time++) {
      await run.app.pass({ minutes: 10 });
      expect(ran).toBe(time);
      await requestControl(run.app.deps, run.runId, 'retryNow');
    }
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(await endedAfterMs(run)).toBe(20 * 60 * S);
  });

  it('survives a store that fails while its result is stored', async () => {
    const run = await aLongStep(() => 'done');
    const settle = run.app.deps.store.tokens.settle.bind(run.app.deps.store.tokens);
    let failures = 0;
    run.app.deps.store.tokens.settle = async (...args) => {
      if (++failures <= 3) throw new EngineError('STORE_UNAVAILABLE', 'throttled');
      return settle(...args);
    };
    await withTimePassing(run.app, run.app.runToEnd(run.runId));
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'done' });
    expect((await tokenOf(run)).step).toMatchObject({ strikes: 1 });
  });
});

describe('what is shown of a long step', () => {
  it('is its attempt, since when it runs, its lease, its progress and its last error', async () => {
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const run = await aLongStep(
      async ({ attempt, report }) => {
        report({ rows: attempt });
        if (attempt === 1) throw new Error('no');
        await run.app.clock.delay(30 * S);
        begun();
        return new Promise(() => undefined);
      },
      { retry: { initialInterval: { seconds: 10 } } },
    );
    await run.app.settleDown();
    const failed = { failedAttempts: 1, lastError: { message: 'step "work" failed: no' }, progress: { rows: 1 } };
    const [waiting] = (await run.app.show(run.runId)).waits;
    expect(waiting).toMatchObject({ kind: 'longStep', name: 'work', nextAtMs: startMs + 10 * S, ...failed });
    expect(waiting).not.toHaveProperty('runningSinceMs');
    void run.app.runToEnd(run.runId);
    await withTimePassing(run.app, hasBegun);
    expect((await run.app.show(run.runId)).waits).toMatchObject([
      { ...failed, runningSinceMs: startMs + 10 * S, leaseUntilMs: startMs + 120 * S, progress: { rows: 2 } },
    ]);
  });
});

describe('`long` on a step that a history has already', () => {
  it.each([
    [false, true],
    [true, false],
  ])('may be changed: the history decides how it ends (long: %s, then %s)', async (before, after) => {
    const flow = (long: boolean) =>
      aFlow(async (ctx) => [await ctx.step('work', () => 'done', { long }), await ctx.signal('go')]);
    const { app, runId } = await started(flow(before));
    await app.settleDown();
    app.deploy(anApp(flow(after)));
    await app.signal(runId, 'go', 'on');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['done', 'on'] });
  });

  it('leaves a step that was asked for as a short one in the turns, and within their time', async () => {
    const flow = (options: StepOptions) =>
      aFlow(async (ctx) =>
        ctx.step('work', ({ attempt }) => (attempt < 3 ? Promise.reject(new Error('not yet')) : attempt), {
          retry: { initialInterval: { minutes: 1 } },
          ...options,
        }),
      );
    const run = await started(flow({}));
    await run.app.settleDown();
    run.app.deploy(anApp(flow({ long: true, timeout: { minutes: 14 } })));
    let wakes = 0;
    const { queues } = run.app.deps;
    const sendTurn = queues.sendTurn.bind(queues);
    queues.sendTurn = async (message, dedupId) => {
      if (++wakes > 20) throw new Error('woken again and again');
      await sendTurn(message, dedupId);
    };
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 3 });
    expect(wakes).toBeLessThan(20);
  });

  it('leaves a step that is under way with the worker that has it', async () => {
    let ran = 0;
    const flow = (long: boolean) => aFlow(async (ctx) => ctx.step('work', () => ++ran, { long }));
    const run = await started(flow(true));
    await asked(run);
    run.app.deploy(anApp(flow(false)));
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 1 });
    expect(await eventTypes(run)).toContain('TokenSettled');
  });
});
