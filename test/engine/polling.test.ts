import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHistory } from '../../lib/cli/format-events.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { pollTask } from '../../lib/operations/remote-task/poll-task.js';
import type { PollReply } from '../../lib/remote/transport.js';
import { aFlow, endedAfterMs, started, WatchedServer } from './support.js';

const flow = aFlow(
  async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { days: 2 } })).result,
);

const unreadable: PollReply = {
  kind: 'unreadable',
  error: { code: 'REMOTE_UNREACHABLE', message: 'the server answered 503' },
};

function working(pollAfterMs?: number): PollReply {
  return { kind: 'working', state: 'working', ...(pollAfterMs === undefined ? {} : { pollAfterMs }) };
}

function gapsOf(atMs: readonly number[]): readonly number[] {
  return atMs.slice(1).map((time, index) => time - atMs[index]!);
}

describe('reads of a remote task (S0-70)', () => {
  it.each([
    [{ minutes: 1 }, 12],
    [{ hours: 1 }, 60],
    [{ hours: 6 }, 140],
    [{ days: 1 }, 360],
  ])('of a task of %j are about %i, and its end is seen within a tenth of its age', async (after, about) => {
    const reports = new WatchedServer({ task: { after, result: 'done' } });
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(reports.reads).toBeGreaterThan(about * 0.75);
    expect(reports.reads).toBeLessThan(about * 1.25);
    const tookMs =
      ('minutes' in after ? after.minutes * 60_000 : 0) +
      ('hours' in after ? after.hours * 3_600_000 : 0) +
      ('days' in after ? after.days * 86_400_000 : 0);
    const lagMs = (await endedAfterMs(run)) - tookMs;
    expect(lagMs).toBeGreaterThanOrEqual(0);
    // A claim lasts a minute, and the rest of it after the last hop is waited for.
    expect(lagMs).toBeLessThanOrEqual(Math.max(tookMs / 10, 60_000));
  });

  it('begin 5 s after the start', async () => {
    const reports = new WatchedServer();
    const { app } = await started(flow, { reports });
    await app.pass({ seconds: 30 });
    expect(reports.readAtMs).toEqual([5_000, 10_000, 15_000, 20_000, 25_000, 30_000]);
  });

  it('are never closer together than the server asks between them (I11)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 400_000 }), { minLength: 1, maxLength: 40 }),
        async (hints) => {
          const hintAfter = (read: number): number => hints[(read - 1) % hints.length]!;
          const reports = new WatchedServer({ read: (read) => working(hintAfter(read)) });
          const { app } = await started(flow, { reports });
          await app.pass({ hours: 2 });
          expect(reports.reads).toBeGreaterThan(10);
          gapsOf(reports.readAtMs).forEach((gapMs, index) => {
            expect(gapMs).toBeGreaterThanOrEqual(hintAfter(index + 1));
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  it('are as far apart as a steady hint asks, also around the end of a claim (I11)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1_000, max: 130_000 }), async (hintMs) => {
        const reports = new WatchedServer({ read: () => working(hintMs) });
        const { app } = await started(flow, { reports });
        await app.pass({ minutes: 15 });
        expect(Math.min(...gapsOf(reports.readAtMs))).toBeGreaterThanOrEqual(hintMs);
      }),
      { numRuns: 40, examples: [[25_000]] },
    );
  });

  it('follow one steady hint', async () => {
    const reports = new WatchedServer({ read: () => working(90_000) });
    const { app } = await started(flow, { reports });
    await app.pass({ minutes: 10 });
    expect(gapsOf(reports.readAtMs)).toEqual([90_000, 90_000, 90_000, 90_000, 90_000, 90_000]);
  });

  it.each([0, -1, 0.3, Number.NaN])('take no harm from the hint %d', async (hint) => {
    const reports = new WatchedServer({ read: () => working(hint) });
    const { app } = await started(flow, { reports });
    await app.pass({ minutes: 1 });
    expect(reports.readAtMs.slice(0, 6)).toEqual([5_000, 10_000, 15_000, 20_000, 25_000, 30_000]);
  });

  it('believe a hint of 1e12 up to an hour, and never past the deadline', async () => {
    const reports = new WatchedServer({ read: () => working(1e12) });
    const run = await started(
      aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 2.5 } })),
      { reports },
    );
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    expect(gapsOf(reports.readAtMs)).toEqual([3_600_000, 3_600_000]);
    expect(await endedAfterMs(run)).toBe(9_000_000);
  });
});

describe('reads that fail (S0-74)', () => {
  it('are 10, 20, 40, 80, 160, 300 and again 300 s apart', async () => {
    const reports = new WatchedServer({ read: () => unreadable });
    const { app } = await started(flow, { reports });
    await app.pass({ minutes: 25 });
    expect(gapsOf(reports.readAtMs).map((gapMs) => gapMs / 1_000)).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('are forgotten after a good one', async () => {
    const reports = new WatchedServer({ read: (read) => (read <= 3 ? unreadable : working()) });
    const { app } = await started(flow, { reports });
    await app.pass({ seconds: 100 });
    expect(reports.readAtMs.map((atMs) => atMs / 1_000).slice(0, 6)).toEqual([5, 15, 35, 75, 83, 92]);
  });

  it('wait as long as the server asks', async () => {
    const reports = new WatchedServer({
      read: (read) => (read === 1 ? { ...unreadable, retryAfterMs: 200_000 } : working()),
    });
    const { app } = await started(flow, { reports });
    await app.pass({ minutes: 4 });
    expect(reports.readAtMs.slice(0, 2)).toEqual([5_000, 205_000]);
  });

  it('settle nothing, and a later good one does', async () => {
    const reports = new WatchedServer({
      task: { after: { minutes: 3 }, result: 'done' },
      read: (read) => (read <= 6 ? unreadable : undefined),
    });
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
  });
});

describe('a process that is the only one of its table', () => {
  it('F74 makes a read at once that one which has died had claimed', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 1 }, result: 'rows' } });
    const { app, runId } = await started(flow, { reports });
    await app.settleDown();
    const { deps, clock } = app;
    const { dueAtMs = 0 } = (await deps.store.tokens.read(runId, '1'))!;
    clock.moveTo(dueAtMs);
    const claimedUntilMs = dueAtMs + 60_000;
    await deps.store.polls.claim(runId, '1', { seenDueAtMs: dueAtMs, dueAtMs: claimedUntilMs });
    const sent: { readonly delayMs: number; readonly dueAtMs?: number | undefined }[] = [];
    const queues: typeof deps.queues = {
      ...deps.queues,
      sendWork: async (message, delayMs) =>
        void sent.push({ delayMs, dueAtMs: 'dueAtMs' in message ? message.dueAtMs : undefined }),
    };
    await fanOutDue({ ...deps, queues });
    await fanOutDue({ ...deps, queues }, { atBoot: true });
    expect(sent).toEqual([
      { delayMs: 60_000, dueAtMs: claimedUntilMs },
      { delayMs: 0, dueAtMs: claimedUntilMs },
    ]);
    expect(await pollTask(deps, { kind: 'poll', runId, waitId: '1', dueAtMs: claimedUntilMs })).toBe('working');
  });
});

describe('the history of a run whose task works', () => {
  it('F76 shows the start of the task before a commit has it', async () => {
    const { app, runId } = await started(flow, {
      reports: new WatchedServer({ task: { after: { hours: 1 }, result: 1 } }),
    });
    await app.settleDown();
    const early = await app.history(runId);
    expect(early.events.map(({ type }) => type)).not.toContain('RemoteTaskStarted');
    expect(early.uncommitted).toMatchObject([{ type: 'RemoteTaskStarted', waitId: '1', handle: { taskId: 'task-1' } }]);
    expect(formatHistory(early)).toMatch(/next .* remote task export on reports started as task task-1/);
    await app.runToEnd(runId);
    const late = await app.history(runId);
    expect(late.events.map(({ type }) => type)).toContain('RemoteTaskStarted');
    expect(late).not.toHaveProperty('uncommitted');
  });
});
