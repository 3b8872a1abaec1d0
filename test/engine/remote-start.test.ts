import type { RemoteCall } from 'outwait';
import { describe, expect, it } from 'vitest';
import type { StartReply } from '../../lib/remote/transport.js';
import { aFlow, endedAfterMs, started, WatchedServer } from './support.js';

const busy: StartReply = { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'the server answered 503' } };
const lost: StartReply = { kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE', message: 'no answer within 20 s' } };

function calling(call: Partial<RemoteCall> = {}): ReturnType<typeof aFlow> {
  return aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', ...call } as RemoteCall));
}

function secondsOf({ startedAtMs }: WatchedServer): readonly number[] {
  return startedAtMs.map((atMs) => atMs / 1_000);
}

describe('a start that is refused', () => {
  it('is tried five times, 1, 2, 4 and 8 s apart, with one key, then fails as RemoteStartFailed (S0-10, S0-12)', async () => {
    const reports = new WatchedServer({ start: () => busy });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'failed',
      error: {
        code: 'REMOTE_START_FAILED',
        message: 'the remote task on "reports" could not be started in 5 attempts: the server answered 503',
        details: { server: 'reports', attempts: 5 },
      },
    });
    expect(secondsOf(reports)).toEqual([0, 1, 3, 7, 15]);
    expect(new Set(reports.starts.map(({ key }) => key)).size).toBe(1);
  });

  it('is not repeated sooner than the server asks', async () => {
    const reports = new WatchedServer({
      start: (attempt) => (attempt === 1 ? { ...busy, retryAfterMs: 30_000 } : undefined),
    });
    const run = await started(calling(), { reports });
    await run.app.pass({ minutes: 1 });
    expect(secondsOf(reports)).toEqual([0, 30]);
  });

  it('gives the outcome of the attempt that succeeds', async () => {
    const reports = new WatchedServer({
      task: { after: { minutes: 5 }, result: 'late but there' },
      start: (attempt) => (attempt < 3 ? busy : undefined),
    });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed', result: { result: 'late but there' } });
    expect(secondsOf(reports)).toEqual([0, 1, 3]);
  });

  it('times out at its deadline when the next attempt would come after it', async () => {
    const reports = new WatchedServer({ start: () => ({ ...busy, retryAfterMs: 600_000 }) });
    const run = await started(calling({ timeout: { seconds: 100 } }), { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    expect(await endedAfterMs(run)).toBe(100_000);
    expect(secondsOf(reports)).toEqual([0]);
  });

  it('waits no longer when the run is cancelled', async () => {
    const reports = new WatchedServer({ start: () => busy });
    const run = await started(calling(), { reports });
    await run.app.pass({ seconds: 4 });
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled' });
    await run.app.pass({ hours: 1 });
    expect(secondsOf(reports)).toEqual([0, 1, 3]);
  });
});

describe('a start that is refused', () => {
  it('is not repeated and fails as RemoteStartRefused', async () => {
    const reports = new WatchedServer({ task: { refusal: 'no quota' } });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'failed',
      error: { code: 'REMOTE_START_REFUSED', message: 'no quota', details: { server: 'reports' } },
    });
    expect(reports.starts).toHaveLength(1);
  });
});

describe('a start that was sent and got no answer', () => {
  it('is reported, and not repeated, where the server might start a second task', async () => {
    const reports = new WatchedServer({ dedupes: false, start: () => lost });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: {
        code: 'REMOTE_START_AMBIGUOUS',
        message: expect.stringContaining('a task on "reports" may have been started') as unknown,
        details: { server: 'reports' },
      },
    });
    expect(reports.starts).toHaveLength(1);
  });

  it('is repeated with the same key where the server dedupes, and one task runs (S0-14)', async () => {
    const reports = new WatchedServer({
      task: { after: { minutes: 1 }, result: 'once' },
      start: (attempt) => (attempt === 1 ? lost : undefined),
    });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({ result: { result: 'once', taskId: 'task-1' } });
    expect(secondsOf(reports)).toEqual([0, 1]);
  });

  it('is repeated where the call says that a second execution does no harm', async () => {
    const reports = new WatchedServer({
      dedupes: false,
      start: (attempt) => (attempt === 1 ? lost : undefined),
      task: { result: 'twice' },
    });
    const { app, runId } = await started(calling({ retrySafe: true }), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed' });
    expect(reports.starts).toHaveLength(2);
  });
});

describe('idempotency keys (S0-12)', () => {
  it('differ between two calls of equal arguments and between two runs', async () => {
    const reports = new WatchedServer({ task: { result: 1 } });
    const flow = aFlow(async (ctx) => {
      for (let time = 0; time < 2; time++) await ctx.callRemoteTask({ server: 'reports', tool: 'export' });
    });
    const { app, runId } = await started(flow, { reports });
    await app.runToEnd(runId);
    await app.runToEnd(await app.start(flow, null));
    expect(new Set(reports.starts.map(({ key }) => key)).size).toBe(4);
  });
});
