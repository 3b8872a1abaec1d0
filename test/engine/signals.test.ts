import { hasCode } from 'outwait';
import { describe, expect, it } from 'vitest';
import { requestControl } from '../../lib/operations/requests/control-run.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { aFlow, endedAfterMs, eventTypes, started, startMs } from './support.js';

describe('a signal (EN-7)', () => {
  it('that came before its wait is kept for it (S0-175)', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.sleep({ hours: 1 });
      return ctx.signal('go');
    });
    const { app, runId } = await started(flow);
    expect(await app.signal(runId, 'go', 'early')).toBe(true);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'early' });
  });

  it('is for the open wait, not for one that was requested where everything is closed', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.race([
        async (one) => one.sleep({ hours: 1 }).catch(async () => one.signal('go')),
        async (other) => other.sleep({ minutes: 1 }),
      ]);
      return ctx.signal('go');
    });
    for (const isEarly of [true, false]) {
      const { app, runId } = await started(flow);
      if (!isEarly) await app.pass({ minutes: 5 });
      await app.signal(runId, 'go', 'taken');
      expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'taken' });
    }
  });

  it('wakes a run that waits for it, at once', async () => {
    const run = await started(aFlow(async (ctx) => ctx.signal('go')));
    await run.app.pass({ days: 3 });
    await run.app.signal(run.runId, 'go', { by: 'Ada' });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: { by: 'Ada' } });
    expect(await endedAfterMs(run)).toBe(259_200_000);
  });

  it('without a payload gives undefined', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => typeof (await ctx.signal('go'))));
    await app.signal(runId, 'go');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'undefined' });
  });

  it.each([
    ['before their waits', false],
    ['while the run waits', true],
  ])(
    'of many within one millisecond %s is taken in the order in which they were accepted (S0-175)',
    async (_, waits) => {
      const flow = aFlow(async (ctx) => {
        const got: unknown[] = [];
        for (let count = 0; count < 6; count++) got.push(await ctx.signal('n'));
        return got;
      });
      const { app, runId } = await started(flow);
      if (waits) await app.settleDown();
      // Their keys sort in another order.
      for (const [n, key] of ['f', 'b', 'e', 'a', 'd', 'c'].entries()) await app.signal(runId, 'n', n, key);
      expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [0, 1, 2, 3, 4, 5] });
    },
  );

  it('goes to the oldest wait of its name', async () => {
    const flow = aFlow(async (ctx) => Promise.all([ctx.signal('a'), ctx.signal('b'), ctx.signal('a')]));
    const { app, runId } = await started(flow);
    await app.settleDown();
    for (const [name, payload] of [
      ['a', 1],
      ['a', 2],
      ['b', 3],
    ] as const)
      await app.signal(runId, name, payload);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [1, 3, 2] });
  });

  it('that a wait does not accept stays for later waits (S0-176)', async () => {
    const flow = aFlow(async (ctx) => {
      const big = await ctx.signal('n', { where: (n) => Number(n) > 10 });
      return [big, await ctx.signal('n'), await ctx.signal('n')];
    });
    const { app, runId } = await started(flow);
    await app.signal(runId, 'n', 1);
    await app.settleDown();
    await app.signal(runId, 'n', 12);
    await app.signal(runId, 'n', 2);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [12, 1, 2] });
  });

  it('that only a later wait accepts goes to that one', async () => {
    const flow = aFlow(async (ctx) => {
      const [even, odd] = [2, 1].map(async (rest) => ctx.signal('n', { where: (n) => Number(n) % 2 === rest % 2 }));
      return [await even, await odd];
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.signal(runId, 'n', 3);
    await app.signal(runId, 'n', 4);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [4, 3] });
  });

  it.each([
    ['kept', false],
    ['new', true],
  ])('that is %s and makes the predicate throw fails that wait, not the run', async (_, waits) => {
    const flow = aFlow(async (ctx) => {
      const where = (payload: unknown): boolean => (payload as { deep: { flag: boolean } }).deep.flag;
      const first = await ctx.signal('n', { where }).catch((error: unknown) => (error as Error).name);
      return [first, await ctx.signal('n')];
    });
    const { app, runId } = await started(flow);
    if (waits) await app.settleDown();
    await app.signal(runId, 'n', 'flat');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['TypeError', 'flat'] });
  });

  it('is one signal however often it is sent with one key, also after the end (S0-175)', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('go')));
    for (let time = 0; time < 5; time++) {
      expect(await app.signal(runId, 'go', 'paid', 'order-7')).toBe(true);
      await app.settleDown();
    }
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'paid' });
    expect(await app.signal(runId, 'go', 'paid', 'order-7')).toBe(true);
    expect((await app.show(runId)).unreadSignals).toBeUndefined();
    expect(await app.signal(runId, 'go', 9, 'order-8')).toBe(false);
  });

  it('with the key of a signal of another name, or of a cancel, is a signal of its own (S0-173)', async () => {
    const flow = aFlow(async (ctx) => [await ctx.signal('a'), await ctx.signal('b')]);
    const { app, runId } = await started(flow);
    await app.signal(runId, 'a', 1, 'k');
    await app.signal(runId, 'b', 2, 'k');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [1, 2] });
  });

  it('whose name and key run together with those of another is still another (S0-173)', async () => {
    const flow = aFlow(async (ctx) => [await ctx.signal('a'), await ctx.signal('a-b')]);
    const { app, runId } = await started(flow);
    await app.signal(runId, 'a', 1, 'b-c');
    await app.signal(runId, 'a-b', 2, 'c');
    expect(await app.runToEnd(runId, { within: { days: 1 } })).toEqual({ status: 'completed', result: [1, 2] });
  });

  it('that is accepted during the last step is read where the workflow looks once more (S0-177)', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.step('last', () => run.app.signal(run.runId, 'go', 'in time'));
      return ctx.signal('go', { timeout: { seconds: 1 } });
    });
    const run = await started(flow);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'in time' });
  });

  it('that is accepted during the last step and never read is in the history and listed as unread (S0-177)', async () => {
    const flow = aFlow(async (ctx) => ctx.step('last', () => run.app.signal(run.runId, 'go', 'too late')));
    const run = await started(flow);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: true });
    expect((await run.app.show(run.runId)).unreadSignals).toEqual(['go']);
    const types = await eventTypes(run);
    expect(types.indexOf('SignalReceived')).toBeLessThan(types.indexOf('RunEnding'));
    const received = (await run.app.history(run.runId)).events.find(({ type }) => type === 'SignalReceived');
    expect(received).toMatchObject({ name: 'go', payload: 'too late' });
  });

  it.each([3, 1_200])(
    'that no turn had taken in when its run was terminated is listed as unread, as each of %i (S0-177)',
    async (count) => {
      const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('go')));
      await app.settleDown();
      await requestControl(app.deps, runId, 'pause');
      await app.settleDown();
      // A commit holds some hundreds of these.
      const names = Array.from({ length: count }, (_, n) => `${String(n).padStart(5, '0')}${'x'.repeat(120)}`);
      for (const name of names) await app.signal(runId, name);
      await app.settleDown();
      expect((await app.show(runId)).unreadSignals).toEqual(names);
      await requestStop(app.deps, { runId, kind: 'terminate' });
      await app.settleDown();
      expect(await app.show(runId)).toMatchObject({ status: 'terminated', unreadSignals: names });
      // None of them brings the run back either.
      const shards = await Promise.all(
        Array.from({ length: 16 }, (_, shard) => app.deps.store.lists.due(shard, Number.MAX_SAFE_INTEGER, 10)),
      );
      expect(shards.flatMap(({ rows }) => rows)).toEqual([]);
    },
  );

  it('does not go to a wait that a cancel has closed', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.signal('go').catch(() => undefined);
      return ctx.signal('go');
    });
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId);
    await app.settleDown();
    await app.signal(runId, 'go', 'second');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'second' });
  });

  it('and a timer in a race: whichever comes first', async () => {
    const flow = aFlow(async (ctx) =>
      ctx.race([(c) => c.signal('go'), (c) => c.sleep({ hours: 1 }).then(() => 'timer')]),
    );
    const [early, late] = [await started(flow), await started(flow)];
    await early.app.pass({ minutes: 59 });
    await early.app.signal(early.runId, 'go', 'signal');
    expect(await early.app.runToEnd(early.runId)).toEqual({ status: 'completed', result: 'signal' });
    expect(await late.app.runToEnd(late.runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(await late.app.signal(late.runId, 'go')).toBe(false);
  });

  it.each([['f'.repeat(32)], ['no id'], ['']])('to the unknown run "%s" is refused', async (runId) => {
    const { app } = await started(aFlow(async (ctx) => ctx.signal('go')));
    await expect(app.signal(runId, 'go')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it.each([
    ['an empty name', { name: '' }],
    ['a name of 129 characters', { name: 'n'.repeat(129) }],
    ['an empty key', { name: 'go', key: '' }],
    ['a key of 129 characters', { name: 'go', key: 'k'.repeat(129) }],
  ])('with %s is refused and changes nothing', async (_, signal) => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('go')));
    await app.settleDown();
    await expect(signalRun(app.deps, runId, signal)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect((await app.show(runId)).unreadSignals).toBeUndefined();
  });

  it('holds 256 KiB of JSON and no byte more (S0-181)', async () => {
    const flow = aFlow(async (ctx) => ((await ctx.signal('go')) as string).length);
    const { app, runId } = await started(flow);
    await expect(app.signal(runId, 'go', 'x'.repeat(262_143))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { sizeBytes: 262_145, limitBytes: 262_144 },
    });
    await app.signal(runId, 'go', 'x'.repeat(262_142));
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 262_142 });
  });
});

describe('the deadline of a wait for a signal (EN-7)', () => {
  const flow = aFlow(async (ctx) => {
    try {
      return await ctx.signal('go', { timeout: { hours: 2 } });
    } catch (error) {
      if (!hasCode(error, 'SIGNAL_TIMED_OUT')) throw error;
      return [ctx.now() - startMs, await ctx.signal('go')];
    }
  });

  it('ends it on time, and a later signal goes to a later wait', async () => {
    const { app, runId } = await started(flow);
    await app.pass({ hours: 3 });
    await app.signal(runId, 'go', 'late');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: [7_200_000, 'late'] });
  });

  it('does not beat a signal that came before it', async () => {
    const { app, runId } = await started(flow);
    await app.pass({ minutes: 119 });
    await app.signal(runId, 'go', 'in time');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'in time' });
  });
});
