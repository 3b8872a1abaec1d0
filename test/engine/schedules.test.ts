import { defineApp, defineWorkflow, EngineError, hasCode, type ScheduleConfig } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { listSchedules } from '../../lib/operations/schedules/list-schedules.js';
import { pauseSchedule, resumeSchedule } from '../../lib/operations/schedules/pause-schedule.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { isScheduleWaiting, tickSchedules } from '../../lib/operations/schedules/tick-schedules.js';
import { checkSchedules } from '../../lib/workflow/schedule.js';
import { withTimePassing } from './support.js';

const report = defineWorkflow<{ minutes: number }>({
  name: 'report',
  run: async (ctx, { minutes }) => ctx.sleep({ minutes }),
});

function scheduled(config: Partial<ScheduleConfig> & Pick<ScheduleConfig, 'name'>, minutes = 1) {
  const schedule = { workflow: report, input: { minutes }, every: { minutes: 15 }, ...config } as ScheduleConfig;
  return createTestApp(defineApp({ workflows: [report], schedules: [schedule] }), { schedules: true });
}

type ScheduledApp = ReturnType<typeof scheduled>;

async function runs(app: ScheduledApp): Promise<readonly string[]> {
  const list = await listRuns(app.deps, { limit: 100 });
  return list.runs.map(({ tags, status }) => `${tags?.['tick'] ?? ''} ${status}`).sort();
}

it('a schedule of the app does not tick in a test that is not about it (F48)', async () => {
  const every = { name: 'hourly', workflow: report, every: { hours: 1 } } as const;
  const app = createTestApp(defineApp({ workflows: [report], schedules: [every] }));
  await app.pass({ days: 2 });
  expect(await app.list()).toEqual([]);
});

describe('a schedule (EN 22)', () => {
  it('starts a run at each interval, and says of each which tick it is', async () => {
    const app = scheduled({ name: 'quarterly' });
    await app.pass({ minutes: 47 });
    expect(await runs(app)).toEqual([
      '2026-01-01T00:15:00.000Z completed',
      '2026-01-01T00:30:00.000Z completed',
      '2026-01-01T00:45:00.000Z completed',
    ]);
  });

  it('follows cron in a time zone, over a change of the clocks', async () => {
    const nightly = {
      name: 'nightly',
      workflow: report,
      input: { minutes: 1 },
      cron: '0 2 * * *',
      timeZone: 'Europe/Berlin',
    };
    const app = createTestApp(defineApp({ workflows: [report], schedules: [nightly] }), {
      schedules: true,
      startAtMs: Date.UTC(2026, 2, 27),
    });
    await app.pass({ days: 3, hours: 23 });
    // On 29 March 02:00 does not exist in Berlin.
    expect(await runs(app)).toEqual([
      '2026-03-27T01:00:00.000Z completed',
      '2026-03-28T01:00:00.000Z completed',
      '2026-03-29T01:00:00.000Z completed',
      '2026-03-30T00:00:00.000Z completed',
    ]);
  });

  it('starts one run for a tick that several sweeps see', async () => {
    const app = scheduled({ name: 'quarterly' });
    await app.pass({ minutes: 16 });
    await Promise.all([tickSchedules(app.deps), tickSchedules(app.deps)]);
    await app.settleDown();
    expect(await runs(app)).toHaveLength(1);
  });

  it('makes up for ticks that no process was there to start, within its limit', async () => {
    const app = scheduled({ name: 'quarterly', catchUp: { minutes: 40 }, overlap: 'allow' });
    await app.pass({ minutes: 16 });
    app.clock.moveTo(app.clock.nowMs() + 3 * 3_600_000);
    await tickSchedules(app.deps);
    await app.pass({ minutes: 2 });
    expect((await runs(app)).map((run) => run.slice(11, 16))).toEqual(['00:15', '02:45', '03:00', '03:15']);
  });

  it('begins with its next tick, not with those before it was deployed', async () => {
    const app = scheduled({ name: 'quarterly', catchUp: { hours: 20 } });
    app.clock.moveTo(app.clock.nowMs() + 7 * 60_000);
    await tickSchedules(app.deps);
    await app.settleDown();
    expect(await runs(app)).toEqual([]);
  });

  it.each([
    ['skip', ['00:15 completed', '00:45 running']],
    // The tick of 00:30 starts at 00:36, and that of 00:45 waits for its end.
    ['buffer', ['00:15 completed', '00:30 running']],
    ['allow', ['00:15 completed', '00:30 completed', '00:45 running']],
    ['cancel', ['00:15 cancelled', '00:30 cancelled', '00:45 running']],
    ['terminate', ['00:15 terminated', '00:30 terminated', '00:45 running']],
  ] as const)('with overlap "%s" and a run that takes longer than the interval', async (overlap, expected) => {
    const app = scheduled({ name: 'quarterly', overlap }, 20);
    await app.pass({ minutes: 55 });
    const shortened = (await runs(app)).map((run) => run.replace(/^.*T(\d\d:\d\d):\S+/, '$1'));
    expect(shortened).toEqual(expected);
  });

  it('counts a run that goes on as a new one as under way, and stops the one that it is now (EN-22)', async () => {
    const rolling = defineWorkflow<{ round: number }>({
      name: 'rolling',
      run: async (ctx, { round }) => {
        await ctx.sleep({ minutes: 5 });
        return round < 6 ? ctx.continueAsNew({ round: round + 1 }) : round;
      },
    });
    const started = async (overlap: 'skip' | 'cancel') => {
      const schedule = { name: 'quarterly', workflow: rolling, input: { round: 1 }, every: { minutes: 15 }, overlap };
      const app = createTestApp(defineApp({ workflows: [rolling], schedules: [schedule] }), { schedules: true });
      await app.pass({ minutes: 41 });
      const list = await listRuns(app.deps, { limit: 100 });
      return list.runs.map(({ tags, status }) => `${tags?.['tick']?.slice(11, 16) ?? ''} ${status}`).sort();
    };
    const continued = (tick: string, count: number) => Array.from({ length: count }, () => `${tick} continued`);
    expect(await started('skip')).toEqual([...continued('00:15', 5), '00:15 running']);
    expect(await started('cancel')).toEqual([
      '00:15 cancelled',
      ...continued('00:15', 2),
      ...continued('00:30', 2),
      '00:30 running',
    ]);
  });

  it.each([
    ['cancel', 'cancelled'],
    ['terminate', 'terminated'],
  ] as const)(
    'with overlap "%s" stops a chain whose next run is still to come at the tick, and starts then (EN-22)',
    async (overlap, stopped) => {
      const rolling = defineWorkflow<{ round: number }>({
        name: 'rolling',
        run: async (ctx, { round }) => {
          await ctx.sleep({ minutes: 5 });
          return round < 20 ? ctx.continueAsNew({ round: round + 1 }) : round;
        },
      });
      const schedule = { name: 'quarterly', workflow: rolling, input: { round: 1 }, every: { minutes: 15 }, overlap };
      const app = createTestApp(defineApp({ workflows: [rolling], schedules: [schedule] }), { schedules: true });
      await app.pass({ minutes: 19 });
      // The run of 00:15 ends at 00:20, and the run that continues it cannot be created before the tick of 00:30.
      const { store } = app.deps;
      const createRun = store.heads.create.bind(store.heads);
      store.heads.create = async () => Promise.reject(new EngineError('STORE_UNAVAILABLE', 'throttled'));
      await expect(app.pass({ minutes: 2 })).rejects.toThrow('throttled');
      app.clock.moveTo(Date.UTC(2026, 0, 1, 0, 30));
      store.heads.create = createRun;
      expect(await withTimePassing(app, tickSchedules(app.deps))).toEqual({ started: 0 });
      const [first] = (await listRuns(app.deps, { limit: 1 })).runs;
      await runTurn(app.deps, { runId: first!.runId }, { remainingMs: () => 60_000 });
      await app.settleDown();
      const list = await listRuns(app.deps, { limit: 100 });
      const seen = list.runs.map(({ tags, status }) => `${tags?.['tick']?.slice(11, 16) ?? ''} ${status}`).sort();
      expect(seen).toEqual(['00:15 continued', `00:15 ${stopped}`, '00:30 running'].sort());
    },
  );

  it('with overlap "buffer" keeps one tick waiting, starts it at the end of the run before it, and once (EN-22)', async () => {
    const app = scheduled({ name: 'quarterly', overlap: 'buffer', every: { minutes: 15 } }, 50);
    await app.pass({ minutes: 16 });
    // Another process sweeps all the time.
    for (let minute = 0; minute < 104; minute++) {
      await app.pass({ minutes: 1 });
      await Promise.all([tickSchedules(app.deps), tickSchedules(app.deps)]);
    }
    const list = await listRuns(app.deps, { limit: 100 });
    const starts = list.runs.map(({ tags, createdAtMs }) => [
      tags?.['tick']?.slice(11, 16),
      new Date(createdAtMs).toISOString().slice(11, 16),
    ]);
    // The ticks in between are skipped.
    expect(starts.sort()).toEqual([
      ['00:15', '00:15'],
      ['00:30', '01:05'],
      ['01:15', '01:55'],
    ]);
  });

  it('with overlap "buffer" starts the tick that waits before a later one, also when the run before them ends between two looks', async () => {
    const app = scheduled({ name: 'quarterly', overlap: 'buffer' }, 50);
    await app.pass({ minutes: 40 });
    const [first] = (await listRuns(app.deps, { limit: 1 })).runs;
    const runId = first?.runId ?? '';
    app.clock.moveTo(app.clock.nowMs() + 6 * 60_000);
    const { store } = app.deps;
    const readHead = store.heads.read.bind(store.heads);
    let looks = 0;
    store.heads.read = async (id) => {
      if (++looks === 2) {
        await requestStop(app.deps, { runId, kind: 'terminate' });
        await runTurn(app.deps, { runId }, { remainingMs: () => 60_000 });
      }
      return readHead(id);
    };
    expect(await tickSchedules(app.deps)).toEqual({ started: 0 });
    await tickSchedules(app.deps);
    expect(await runs(app)).toEqual(['2026-01-01T00:15:00.000Z terminated', '2026-01-01T00:30:00.000Z running']);
  });

  it('that is paused has nothing to start, though a tick of it waits and the run before that has ended', async () => {
    const app = scheduled({ name: 'quarterly', overlap: 'buffer' }, 20);
    await app.pass({ minutes: 31 });
    const [schedule] = app.deps.app.schedules;
    const isWaiting = async () => schedule !== undefined && isScheduleWaiting(app.deps, schedule);
    await pauseSchedule(app.deps, 'quarterly');
    await app.pass({ minutes: 10 });
    expect(await isWaiting()).toBe(false);
    await resumeSchedule(app.deps, 'quarterly');
    expect(await isWaiting()).toBe(true);
  });

  it('finds a tick that waits after a restart, with other code', async () => {
    const app = scheduled({ name: 'quarterly', overlap: 'buffer' }, 20);
    await app.pass({ minutes: 31 });
    expect(await listSchedules(app.deps)).toMatchObject([{ waitingTickAtMs: Date.UTC(2026, 0, 1, 0, 30) }]);
    app.deploy(
      defineApp({
        workflows: [report],
        schedules: [{ name: 'quarterly', workflow: report, input: { minutes: 1 }, cron: '0 0 1 1 *' }],
      }),
    );
    await app.pass({ minutes: 10 });
    expect(await runs(app)).toEqual(['2026-01-01T00:15:00.000Z completed', '2026-01-01T00:30:00.000Z completed']);
    expect((await listSchedules(app.deps))[0]).not.toHaveProperty('waitingTickAtMs');
  });

  it('starts a tick whose sweep died between its decision and the start, and once', async () => {
    const app = scheduled({ name: 'quarterly' });
    const { store } = app.deps;
    const createRun = store.heads.create.bind(store.heads);
    store.heads.create = async () => Promise.reject(new EngineError('STORE_UNAVAILABLE', 'gone'));
    await app.pass({ minutes: 15 });
    expect(await runs(app)).toEqual([]);
    store.heads.create = createRun;
    await app.pass({ minutes: 3 });
    expect(await runs(app)).toEqual(['2026-01-01T00:15:00.000Z completed']);
  });

  it('gives up a tick that cannot be started after its catch-up time, and goes on with the next', async () => {
    const app = scheduled({ name: 'quarterly', catchUp: { minutes: 5 } });
    const { store } = app.deps;
    const createRun = store.heads.create.bind(store.heads);
    store.heads.create = async () => Promise.reject(new EngineError('INPUT_INVALID', 'no'));
    await app.pass({ minutes: 25 });
    store.heads.create = createRun;
    await app.pass({ minutes: 10 });
    expect(await runs(app)).toEqual(['2026-01-01T00:30:00.000Z completed']);
  });

  it('F86 keeps a tick that the table would not take, for however long', async () => {
    const app = scheduled({ name: 'hourly', every: { hours: 1 } });
    const { store } = app.deps;
    const createRun = store.heads.create.bind(store.heads);
    store.heads.create = async () => Promise.reject(new EngineError('STORE_UNAVAILABLE', 'throttled'));
    await app.pass({ hours: 1, minutes: 30 });
    store.heads.create = createRun;
    await app.pass({ minutes: 5 });
    expect(await runs(app)).toEqual(['2026-01-01T01:00:00.000Z completed']);
  });

  it('with jitter begins each run a while after its tick, the same for every sweep (EN-22)', async () => {
    const begins = async (): Promise<readonly number[]> => {
      const app = scheduled({ name: 'quarterly', jitter: { minutes: 10 } });
      await app.pass({ hours: 2 });
      const { runs: started } = await listRuns(app.deps, { limit: 100 });
      const views = await Promise.all(started.map(async ({ runId }) => app.show(runId)));
      return views.map(({ startAtMs = 0, tags }) => startAtMs - Date.parse(tags?.['tick'] ?? '')).sort((a, b) => a - b);
    };
    const delays = await begins();
    expect(delays).toHaveLength(8);
    expect(delays[0]).toBeGreaterThan(0);
    expect(delays.at(-1)).toBeLessThan(600_000);
    expect(new Set(delays).size).toBe(8);
    expect(await begins()).toEqual(delays);
  });

  it('that is paused starts nothing, over deploys, and goes on with its next tick (EN-22)', async () => {
    const app = scheduled({ name: 'quarterly', catchUp: { hours: 20 } });
    await app.pass({ minutes: 16 });
    await pauseSchedule(app.deps, 'quarterly');
    app.deploy(app.deps.app);
    await app.pass({ minutes: 40 });
    expect(await listSchedules(app.deps)).toEqual([
      {
        name: 'quarterly',
        workflow: 'report',
        paused: true,
        pausedAtMs: Date.UTC(2026, 0, 1, 0, 16),
        lastTickAtMs: Date.UTC(2026, 0, 1, 0, 15),
        lastRunId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      },
    ]);
    expect(await resumeSchedule(app.deps, 'quarterly')).toMatchObject({
      paused: false,
      nextTickAtMs: Date.UTC(2026, 0, 1, 1, 0),
    });
    await app.pass({ minutes: 10 });
    expect((await runs(app)).map((run) => run.slice(11, 16))).toEqual(['00:15', '01:00']);
  });

  it('that is paused before its first tick, or twice, or not at all, stays as it is', async () => {
    const app = scheduled({ name: 'quarterly' });
    expect(await resumeSchedule(app.deps, 'quarterly')).toMatchObject({ paused: false });
    const paused = await pauseSchedule(app.deps, 'quarterly');
    await app.pass({ minutes: 20 });
    expect(await pauseSchedule(app.deps, 'quarterly')).toEqual(paused);
    expect(await runs(app)).toEqual([]);
    await expect(pauseSchedule(app.deps, 'hourly')).rejects.toMatchObject({
      code: 'SCHEDULE_NOT_FOUND',
      message: 'no schedule has this name; known schedules: quarterly',
    });
  });

  it('that is paused during a sweep starts nothing in it', async () => {
    const app = scheduled({ name: 'quarterly' });
    await app.pass({ minutes: 14 });
    app.clock.moveTo(app.clock.nowMs() + 60_000);
    const { store } = app.deps;
    const readSchedule = store.schedules.read.bind(store.schedules);
    let isFirst = true;
    store.schedules.read = async (name) => {
      const state = await readSchedule(name);
      if (!isFirst) return state;
      isFirst = false;
      await pauseSchedule(app.deps, name);
      return state;
    };
    expect(await tickSchedules(app.deps)).toEqual({ started: 0 });
    expect(await runs(app)).toEqual([]);
  });

  it('goes on when another one cannot start', async () => {
    const strict = defineWorkflow({ name: 'strict', run: async () => Promise.resolve(1) });
    const config = defineApp({
      workflows: [report, strict],
      schedules: [
        { name: 'broken', workflow: strict, every: { minutes: 15 }, input: 'x'.repeat(3_000_000) },
        { name: 'fine', workflow: report, every: { minutes: 15 }, input: { minutes: 1 } },
      ],
    });
    const app = createTestApp(config, { schedules: true });
    await app.pass({ minutes: 20 });
    expect(await runs(app)).toEqual(['2026-01-01T00:15:00.000Z completed']);
  });

  it.each([
    ['a name with a blank', { name: 'a b' }],
    ['cron with seconds', { name: 'a', cron: '0 0 2 * * *' }],
    ['an unknown time zone', { name: 'a', cron: '0 2 * * *', timeZone: 'Europe/Nowhere' }],
    ['less than a minute', { name: 'a', every: { seconds: 30 } }],
    ['part of a minute', { name: 'a', every: { seconds: 90 } }],
    ['a catch-up of days', { name: 'a', catchUp: { days: 2 } }],
    ['a jitter of days', { name: 'a', jitter: { days: 2 } }],
    ['an overlap that is none', { name: 'a', overlap: 'queue' } as never],
  ])('is refused with %s', (_, config) => {
    const define = (): unknown => scheduled(config);
    expect(define).toThrow(/schedule/);
    try {
      define();
    } catch (error) {
      expect(hasCode(error, 'CONFIG_INVALID')).toBe(true);
    }
  });

  it('with a minute that does not exist is refused when its next tick is requested', async () => {
    const app = scheduled({ name: 'a', cron: '61 * * * *' });
    const refused = expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^schedule "a": .*61/) as unknown,
    }) as unknown;
    await expect(app.pass({ minutes: 1 })).rejects.toEqual(refused);
    await expect(checkSchedules(app.deps.app.schedules)).rejects.toEqual(refused);
  });

  it('with such a minute starts nothing, and the others go on', async () => {
    const fine = { name: 'fine', workflow: report, input: { minutes: 1 }, every: { minutes: 1 } };
    const broken = { ...fine, name: 'broken', cron: '61 * * * *' };
    const { deps } = createTestApp(defineApp({ workflows: [report], schedules: [broken, fine] }), { schedules: true });
    const logged: unknown[] = [];
    const log = { ...deps.log, error: (event: string, fields?: object) => void logged.push({ event, ...fields }) };
    expect(await tickSchedules({ ...deps, log })).toEqual({ started: 1 });
    expect(logged).toEqual([
      {
        event: 'schedule failed',
        schedule: 'broken',
        error: expect.objectContaining({ code: 'CONFIG_INVALID' }) as unknown,
      },
    ]);
  });

  it('is refused when another has its name, or its workflow is not in the app', () => {
    const schedule = { name: 'a', workflow: report, every: { minutes: 1 } };
    expect(() => defineApp({ workflows: [report], schedules: [schedule, schedule] })).toThrow(
      'two schedules are named "a"',
    );
    expect(() => defineApp({ workflows: [], schedules: [schedule] })).toThrow('which is not among the workflows');
  });
});
