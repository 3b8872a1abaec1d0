import { type Debounce, defineApp, defineWorkflow, hasCode, type Throttle } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { startNamedRun } from '../../lib/operations/requests/start-named-run.js';
import { startRun, type StartRequest } from '../../lib/operations/requests/start-run.js';

interface Note {
  readonly user: string;
  readonly n: number;
}

/** An app whose workflow notes when it begins, in seconds, and with which input. */
function newApp(limits: { readonly throttle?: Throttle<Note>; readonly debounce?: Debounce<Note> }) {
  const notes: [seconds: number, n: number][] = [];
  const note = defineWorkflow<Note>({
    name: 'note',
    ...limits,
    run: async (ctx, { n }) => ctx.step('note', () => notes.push([seconds(), n])),
  });
  const kit = createTestApp(defineApp({ workflows: [note] }));
  const startMs = kit.clock.nowMs();
  const seconds = (): number => Math.round((kit.clock.nowMs() - startMs) / 1_000);
  const start = (n: number, more: Partial<StartRequest> = {}, user = 'ada') =>
    startRun(kit.deps, { workflow: 'note', input: { user, n }, ...more });
  return { kit, notes, start };
}

const key = ({ user }: Note): string => user;

describe('throttled starts (EN-31)', () => {
  it('begin at most as often as the limit allows, in order', async () => {
    const { kit, notes, start } = newApp({ throttle: { key, limit: 2, period: { seconds: 10 } } });
    for (let n = 1; n <= 5; n++) await start(n);
    await start(6, {}, 'bob');
    await kit.pass({ minutes: 1 });
    expect(notes).toEqual([
      [0, 1],
      [0, 2],
      [0, 6],
      [10, 3],
      [10, 4],
      [20, 5],
    ]);
  });

  it('share the limit if there is no key, and do not count a repeated start', async () => {
    const { kit, notes, start } = newApp({ throttle: { limit: 1, period: { seconds: 10 } } });
    for (let n = 0; n < 3; n++) await start(1, { key: 'k' });
    await start(2, {}, 'bob');
    await kit.pass({ minutes: 1 });
    expect(notes).toEqual([
      [0, 1],
      [10, 2],
    ]);
  });

  it('lose none of many concurrent ones', async () => {
    const { kit, notes, start } = newApp({ throttle: { limit: 1, period: { seconds: 1 } } });
    const starting = Promise.all(Array.from({ length: 8 }, (_, n) => start(n)));
    await kit.pass({ minutes: 1 });
    await starting;
    expect(notes.map(([at]) => at)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('are refused if the workflow says so, and told when to try again', async () => {
    const throttle: Throttle<Note> = { limit: 1, period: { seconds: 10 }, whenExceeded: 'refuse' };
    const { kit, notes, start } = newApp({ throttle });
    await start(1, { key: 'k' });
    await expect(start(2)).rejects.toMatchObject({
      code: 'START_THROTTLED',
      details: { retryAtMs: kit.clock.nowMs() + 10_000 },
    });
    expect((await start(1, { key: 'k' })).deduplicated).toBe(true);
    await kit.pass({ seconds: 10 });
    await start(3);
    await kit.pass({ seconds: 1 });
    expect(notes.map(([, n]) => n)).toEqual([1, 3]);
  });

  it('are not refused because the clock of another process is ahead', async () => {
    const throttle: Throttle<Note> = { limit: 3, period: { seconds: 10 }, whenExceeded: 'refuse' };
    const { kit, notes, start } = newApp({ throttle });
    const startAhead = (n: number, aheadMs: number) => {
      const clock = { nowMs: () => kit.clock.nowMs() + aheadMs };
      return startRun({ ...kit.deps, clock }, { workflow: 'note', input: { user: 'ada', n } });
    };
    await startAhead(1, 2_000);
    await start(2);
    await start(3);
    // Allowed by the clock that is behind ten seconds after the first slot.
    await expect(start(4)).rejects.toMatchObject({ details: { retryAfterMs: 12_000 } });
    await kit.pass({ seconds: 2 });
    expect(notes.map(([, n]) => n)).toEqual([1, 2, 3]);
  });

  it('of two tenants do not count for one another, and keep the place of those without a tenant', async () => {
    const { kit, notes, start } = newApp({ throttle: { key, limit: 1, period: { seconds: 10 } } });
    const startOf = (tenant: string, n: number) => {
      const caller = { id: tenant, tenant, roles: ['operate'] } as const;
      return startRun({ ...kit.deps, caller }, { workflow: 'note', input: { user: 'ada', n } });
    };
    await start(1);
    await startOf('acme', 2);
    await startOf('bolt', 3);
    await startOf('acme', 4);
    await start(5);
    await kit.pass({ minutes: 1 });
    expect([...notes].sort(([, a], [, b]) => a - b)).toEqual([
      [0, 1],
      [0, 2],
      [0, 3],
      [10, 4],
      [10, 5],
    ]);
    // The key of versions that knew no tenants.
    const stored = await (await kit.deps.store.limitedStarts()).readThrottle(kit.deps.digest('note\nada'));
    expect(stored).toMatchObject({ generation: 2 });
  });

  it('have their timeout from when they begin', async () => {
    const { kit, notes, start } = newApp({ throttle: { limit: 1, period: { minutes: 10 } } });
    await start(1);
    await start(2, { timeoutMs: 60_000 });
    await kit.pass({ minutes: 11 });
    expect(notes.map(([, n]) => n)).toEqual([1, 2]);
  });
});

describe('debounced starts (EN-31)', () => {
  const debounce: Debounce<Note> = { key, period: { seconds: 10 }, maxWait: { seconds: 25 } };

  it('become one run with the input of the last', async () => {
    const { kit, notes, start } = newApp({ debounce });
    const first = await start(1);
    await kit.pass({ seconds: 6 });
    const second = await start(2);
    await start(3, {}, 'bob');
    await kit.pass({ minutes: 1 });
    expect(second).toEqual({ runId: first.runId, deduplicated: false, debounced: true });
    expect(notes).toHaveLength(2);
    expect(notes).toEqual(
      expect.arrayContaining([
        [16, 2],
        [16, 3],
      ]),
    );
    expect((await kit.show(first.runId)).input).toEqual({ user: 'ada', n: 2 });
  });

  it('begin after the longest wait at the latest, and then anew', async () => {
    const { kit, notes, start } = newApp({ debounce });
    for (let n = 1; n <= 6; n++) {
      await start(n);
      await kit.pass({ seconds: 7 });
    }
    await kit.pass({ minutes: 1 });
    expect(notes).toEqual([
      [25, 4],
      [45, 6],
    ]);
  });

  it('are deduplicated by their idempotency keys, whichever run they led to', async () => {
    const { kit, notes, start } = newApp({ debounce });
    const { runId } = await start(1, { key: 'a' });
    await start(2, { key: 'b' });
    for (const [n, name] of [
      [1, 'a'],
      [2, 'b'],
    ] as const)
      expect(await start(n, { key: name })).toEqual({ runId, deduplicated: true });
    await expect(start(3, { key: 'b' })).rejects.toSatisfy((error) => hasCode(error, 'KEY_REUSED'));
    await kit.pass({ minutes: 1 });
    expect(await start(2, { key: 'b' })).toEqual({ runId, deduplicated: true });
    await kit.pass({ minutes: 1 });
    expect(notes).toEqual([[10, 2]]);
  });

  it('become one run if they are concurrent', async () => {
    const { kit, notes, start } = newApp({ debounce });
    const starting = Promise.all(Array.from({ length: 8 }, (_, n) => start(n, { key: `key ${n}` })));
    await kit.pass({ minutes: 1 });
    expect(new Set((await starting).map(({ runId }) => runId)).size).toBe(1);
    expect(notes).toHaveLength(1);
  });

  it('reach the run that is about to begin, or start another one', async () => {
    const { kit, notes, start } = newApp({ debounce });
    const limitedStarts = await kit.deps.store.limitedStarts();
    const close = limitedStarts.closeDebounce.bind(limitedStarts);
    // A start comes after a turn has read the run, and before it closes it.
    limitedStarts.closeDebounce = async (...closed) => {
      limitedStarts.closeDebounce = close;
      await start(2);
      return close(...closed);
    };
    await start(1);
    await kit.pass({ minutes: 1 });
    expect(notes.map(([, n]) => n)).toEqual([2]);
  });

  it('start another run if the waiting one begins meanwhile', async () => {
    const { kit, notes, start } = newApp({ debounce });
    const limitedStarts = await kit.deps.store.limitedStarts();
    const replace = limitedStarts.replaceInput.bind(limitedStarts);
    limitedStarts.replaceInput = async (...later) => {
      limitedStarts.replaceInput = replace;
      // The run begins after the start has read it; it has not ended yet.
      const { debounce: waiting } = (await kit.deps.store.heads.read(later[0].runId))!;
      await limitedStarts.closeDebounce(later[0].runId, waiting!);
      return replace(...later);
    };
    const first = await start(1);
    const second = await start(2);
    expect(second.runId).not.toBe(first.runId);
    await kit.pass({ minutes: 1 });
    expect(notes.map(([, n]) => n).sort()).toEqual([1, 2]);
  });

  it('start another run if the waiting one was cancelled', async () => {
    const { kit, notes, start } = newApp({ debounce });
    const { runId } = await start(1);
    await kit.cancel(runId);
    await kit.settleDown();
    expect((await start(2)).runId).not.toBe(runId);
    await kit.pass({ minutes: 1 });
    expect(notes).toEqual([[10, 2]]);
  });

  it('take no id', async () => {
    const { kit } = newApp({ debounce });
    const named = startNamedRun(kit.deps, { workflow: 'note', id: 'i', input: { user: 'ada', n: 1 } });
    await expect(named).rejects.toSatisfy((error) => hasCode(error, 'INPUT_INVALID'));
  });
});

describe('limits of starts that cannot be', () => {
  const period = { seconds: 10 };
  it.each<[object, string]>([
    [{ concurrency: {} }, 'concurrency.key must be a function of the input'],
    [{ concurrency: { key: () => 'k', whenBusy: 'wait' } }, 'concurrency.whenBusy must be queue, replace or refuse'],
    [{ throttle: { limit: 0, period } }, 'throttle.limit must be a whole number from 1 to 100'],
    [{ throttle: { limit: 101, period } }, 'throttle.limit must be a whole number from 1 to 100'],
    [{ throttle: { limit: 1, period: 5 } }, 'throttle.period must be from 1 second to 31 days'],
    [{ throttle: { limit: 1, period, key: 'user' } }, 'throttle.key must be a function of the input'],
    [{ throttle: { limit: 1, period, whenExceeded: 'drop' } }, 'throttle.whenExceeded must be delay or refuse'],
    [{ debounce: { period: { milliseconds: 1 } } }, 'debounce.period must be from 1 second to 31 days'],
    [{ debounce: { period, maxWait: { seconds: 9 } } }, 'debounce.maxWait must be at least the period'],
    [{ debounce: { period }, throttle: { limit: 1, period } }, 'debounce and throttle exclude one another'],
  ])('are refused: %j', (options, message) => {
    const run = async (): Promise<null> => null;
    expect(() => defineWorkflow({ name: 'odd', run, ...options })).toThrow(`workflow "odd": ${message}`);
  });
});

describe('a child with an input from which no key can be computed', () => {
  const run = async (): Promise<null> => null;
  const period = { seconds: 10 };
  const key = (input: Note): string => input.user;
  it.each([
    defineWorkflow<Note>({ name: 'concurrency', concurrency: { key }, run }),
    defineWorkflow<Note>({ name: 'throttle', throttle: { key, limit: 1, period }, run }),
  ])('fails, and its parent goes on ($name)', async (child) => {
    const parent = defineWorkflow({
      name: 'parent',
      run: async (ctx) => {
        try {
          return await ctx.child(child, { user: 5, n: 1 } as unknown as Note);
        } catch (error) {
          if (!hasCode(error, 'CHILD_FAILED')) throw error;
          return (error.details?.['error'] as { code: string }).code;
        }
      },
    });
    const kit = createTestApp(defineApp({ workflows: [parent, child] }));
    const runId = await kit.start(parent);
    expect(await kit.runToEnd(runId)).toEqual({ status: 'completed', result: 'INPUT_INVALID' });
  });
});
