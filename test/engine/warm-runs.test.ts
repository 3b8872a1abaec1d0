import { beforeEach, describe, expect, it } from 'vitest';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import { RunState } from '../../lib/history/run-state.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { type WarmRun, WarmRuns } from '../../lib/operations/warm-runs.js';
import { aFlow, anApp, started } from './support.js';
import { answerTo, TwoProcesses } from './two-processes.js';

function aRun(eventCount: number): WarmRun {
  const state = new RunState();
  state.eventCount = eventCount;
  return { state } as WarmRun;
}

describe('a run that its process remembers', () => {
  it('of 5,000 events goes on with its head and what has come', async () => {
    const scene = new TwoProcesses(
      aFlow(async (ctx) => {
        for (let step = 1; step <= 2_498; step++) await ctx.step('step', () => step);
        return [await answerTo(ctx, 'first'), await answerTo(ctx, 'second'), await answerTo(ctx, 'third')];
      }),
    );
    await scene.start();
    expect(await scene.log()).toHaveLength(4_999);

    await scene.settle('2499', 'one');
    // Reads its head, no newer commit, and the token.
    expect(await scene.turn(scene.a, { waitId: '2499' })).toMatchObject({ reads: 3, items: 2 });

    await scene.settle('2500', 'two');
    // Another process reads the head, a commit for each step and each change of a token, and two tokens.
    expect(await scene.turn(scene.b, { waitId: '2500' })).toMatchObject({ reads: 1, items: 2_505 });
  });

  it('without news of what has come reads every token and inbox item, and no older commit', async () => {
    const scene = new TwoProcesses(
      aFlow(async (ctx) => {
        const second = answerTo(ctx, 'second');
        return [await answerTo(ctx, 'first'), await second];
      }),
    );
    await scene.start();
    await scene.settle('1', 'b');
    expect(await scene.turn(scene.a)).toMatchObject({ reads: 2, items: 3 });
    await scene.settle('2', 'a');
    await scene.turn(scene.a);
    expect(await scene.outcome()).toEqual({ status: 'completed', result: ['a', 'b'] });
  });

  it('is read whole when another process has written to its log meanwhile', async () => {
    const ran: string[] = [];
    const scene = new TwoProcesses(
      aFlow(async (ctx) => {
        const results: unknown[] = [];
        for (const name of ['one', 'two', 'three', 'four']) {
          const result = await answerTo(ctx, name);
          results.push(await ctx.step(name, () => (ran.push(name), result)));
        }
        return results;
      }),
    );
    await scene.start();
    await scene.settle('1', 'a');
    await scene.turn(scene.a, { waitId: '1' });
    await scene.settle('3', 'b');
    await scene.turn(scene.b, { waitId: '3' });
    await scene.settle('5', 'c');
    const { items } = await scene.turn(scene.a, { waitId: '5' });
    expect(items).toBeGreaterThan(10);
    await scene.settle('7', 'd');
    await scene.turn(scene.b, { waitId: '7' });
    expect(ran).toEqual(['one', 'two', 'three', 'four']);
    expect(await scene.outcome()).toEqual({ status: 'completed', result: ['a', 'b', 'c', 'd'] });
    const log = await scene.log();
    expect(log.filter(({ type }) => type === 'TokenSettled')).toHaveLength(4);
    expect(log.filter(({ type }) => type === 'StepCompleted')).toHaveLength(4);
  });

  it('takes in signals one by one, and finds one that no message named', async () => {
    const scene = new TwoProcesses(
      aFlow(async (ctx) => {
        const taken: unknown[] = [];
        while (taken.length < 6) taken.push(await ctx.signal('go'));
        return taken;
      }),
    );
    await scene.start();
    for (const payload of ['1', '2', '3']) {
      // Reads its head, no newer commit, and the signal, but none of the signals before it.
      expect(await scene.turn(scene.a, { inboxId: await scene.signal(payload) })).toMatchObject({ reads: 3, items: 2 });
    }
    await scene.signal('4');
    // The head counts one more signal than it was notified of.
    expect(await scene.turn(scene.a, { inboxId: await scene.signal('5') })).toMatchObject({ reads: 4, items: 7 });
    await scene.turn(scene.a, { inboxId: await scene.signal('6') });
    expect(await scene.outcome()).toEqual({ status: 'completed', result: ['1', '2', '3', '4', '5', '6'] });
  });

  it('can be cancelled, and cleans up', async () => {
    const scene = new TwoProcesses(
      aFlow(async (ctx) => {
        try {
          return await answerTo(ctx, 'never');
        } finally {
          await ctx.shield((inner) => inner.step('undo', () => 'undone'));
        }
      }),
    );
    const runId = await scene.start();
    await requestStop(scene.a, { runId, kind: 'cancel', requestId: 'c' });
    await scene.turn(scene.a, { inboxId: 'cancel-c' });
    expect(await scene.outcome()).toMatchObject({ status: 'cancelled' });
    expect((await scene.log()).map(({ type }) => type)).toContain('StepCompleted');
  });

  it('goes on with its steps after a turn that had no time for them', async () => {
    const scene = new TwoProcesses(
      aFlow(async (ctx) => {
        let sum = 0;
        for (let step = 1; step <= 7; step++) sum += await ctx.step('step', () => step);
        return sum;
      }),
    );
    const { runId } = await startRun(scene.a, { workflow: 'flow', key: 'slow' });
    const items: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      let asked = 0;
      scene.table.take();
      // Enough time for two steps.
      await runTurn(scene.a, { runId }, { remainingMs: () => (asked++ < 2 ? turnTimeoutMs : 0) });
      items.push(scene.table.take().items);
    }
    expect((await scene.a.store.heads.read(runId))?.status).toBe('running');
    // Reads only the head each time.
    expect(items).toEqual([1, 1, 1]);
  });

  it('of another version of its workflow is read whole', async () => {
    const flow = aFlow(async (ctx) => answerTo(ctx, 'first'));
    const { app, runId } = await started(flow);
    await app.settleDown();
    app.deploy(anApp(aFlow(async (ctx) => `now ${String(await answerTo(ctx, 'first'))}`)));
    await app.settle(await app.tokenOf(runId, 'first'), 'yes');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'now yes' });
  });
});

describe('what a process remembers', () => {
  const twoAnswers = aFlow(async (ctx) => [await answerTo(ctx, 'first'), await answerTo(ctx, 'second')]);

  it('is the runs that had a turn last; of others all is read', async () => {
    const scene = new TwoProcesses(twoAnswers, new WarmRuns({ runs: 1, events: 1_000 }));
    await scene.start('x');
    await scene.start('y');
    await scene.settle('1', 'a', 'y');
    expect(await scene.turn(scene.a, { waitId: '1' }, 'y')).toMatchObject({ reads: 3, items: 2 });
    await scene.settle('1', 'a', 'x');
    expect((await scene.turn(scene.a, { waitId: '1' }, 'x')).reads).toBe(1);
    await scene.settle('2', 'b', 'y');
    await scene.turn(scene.a, { waitId: '2' }, 'y');
    expect(await scene.outcome('y')).toEqual({ status: 'completed', result: ['a', 'b'] });
  });

  let runs: WarmRuns;
  beforeEach(() => {
    runs = new WarmRuns({ runs: 3, events: 100 });
  });
  const kept = (...ids: readonly string[]): readonly string[] => ids.filter((id) => runs.take(id) !== undefined);

  it('is a limited number of runs, and a turn that takes one has it alone', () => {
    for (const id of ['a', 'b', 'c', 'd']) runs.keep(id, aRun(1));
    expect(kept('a', 'b', 'c', 'd')).toEqual(['b', 'c', 'd']);
    expect(kept('b', 'c', 'd')).toEqual([]);
  });

  it('is at most so many events: the oldest runs go, and one that is too large is not kept', () => {
    runs.keep('a', aRun(60));
    runs.keep('b', aRun(40));
    runs.keep('b', aRun(50));
    runs.keep('c', aRun(101));
    expect(kept('a', 'b', 'c')).toEqual(['b']);
  });
});

describe('what a process remembers, short of memory,', () => {
  it('is nothing', () => {
    let hasRoom = true;
    const runs = new WarmRuns({ hasRoom: () => hasRoom });
    runs.keep('a', aRun(1));
    hasRoom = false;
    runs.keep('b', aRun(1));
    expect(runs.take('a')).toBeUndefined();
    expect(runs.take('b')).toBeUndefined();
  });
});

describe('shouldContinueAsNew', () => {
  it('counts what the turn that asks has recorded, as a replay does', async () => {
    const flow = aFlow(async (ctx) => {
      for (let part = 0; part < 10_000; part++) ctx.progress(String(part));
      await ctx.step('a', () => 1);
      return ctx.shouldContinueAsNew;
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
  });
});
