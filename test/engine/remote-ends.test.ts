import { RemoteTaskError, textOf, type RemoteCall } from 'outwait';
import type { ScriptedTask } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { EngineErrorCode } from '../../lib/base/errors.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { aFlow, endedAfterMs, eventTypes, started, startMs, WatchedServer } from './support.js';

const exportCall: RemoteCall = {
  server: 'reports',
  tool: 'export',
  arguments: { month: '2026-10' },
  timeout: { hours: 6 },
};

/** Makes one call, and returns what a workflow sees of its end. */
const flow = aFlow(async (ctx) => {
  try {
    return await ctx.callRemoteTask(exportCall);
  } catch (error) {
    if (!(error instanceof RemoteTaskError)) throw error;
    const { name, code, message, details } = error;
    return { name, code, message, details };
  }
});

function failing(code: EngineErrorCode, message: string): WatchedServer {
  return new WatchedServer({ read: () => ({ kind: 'ended', end: { kind: 'failed', error: { code, message } } }) });
}

async function resultWith(reports: WatchedServer): Promise<unknown> {
  const { app, runId } = await started(flow, { reports });
  const outcome = await app.runToEnd(runId);
  return outcome.status === 'completed' ? outcome.result : outcome;
}

describe('a remote task that ends', () => {
  it('gives its result, with server and task (S0-50)', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 1 }, result: { rows: 412 } } });
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: { result: { rows: 412 }, isError: false, server: 'reports', taskId: 'task-1' },
    });
    expect(await eventTypes(run)).toEqual([
      'RunStarted',
      'RemoteTaskRequested',
      'RemoteTaskStarted',
      'TokenSettled',
      'RunEnding',
      'RunEnded',
    ]);
    expect(reports.starts).toHaveLength(1);
    expect(reports.cancels).toBe(0);
  });

  it('with isError is an outcome and no exception, and is not tried again (S0-09)', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 1 }, result: 'no bookings', isError: true } });
    expect(await resultWith(reports)).toMatchObject({ result: 'no bookings', isError: true });
    expect(reports.starts).toHaveLength(1);
  });

  it('in the reply to its start is never read (S0-02, GB-11)', async () => {
    const reports = new WatchedServer({ task: { result: 'at once' } });
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ result: { result: 'at once' } });
    expect(reports.reads).toBe(0);
    expect(await endedAfterMs(run)).toBe(0);
  });

  it.each<[string, EngineErrorCode, string]>([
    ['failed (S0-51)', 'REMOTE_TASK_FAILED', 'RemoteTaskFailed'],
    ['rejected (S0-51)', 'REMOTE_TASK_REJECTED', 'RemoteTaskRejected'],
    ['cancelled by somebody else (S0-52)', 'REMOTE_TASK_CANCELLED', 'RemoteTaskCancelled'],
  ])('%s throws its own class and names the server', async (_, code, name) => {
    const reports = failing(code, 'remote task over: disk full');
    expect(await resultWith(reports)).toEqual({
      name,
      code,
      message: 'remote task over: disk full',
      details: { server: 'reports', taskId: 'task-1', phase: 'run' },
    });
    expect(reports.starts).toHaveLength(1);
  });

  it('failed with artifacts hands them to the workflow on the error (S2-18, GB-13)', async () => {
    const artifacts = [
      { artifactId: 'a', parts: [{ text: 'first half' }] },
      { artifactId: 'b', parts: [{ text: 'second' }] },
    ];
    const error = {
      code: 'REMOTE_TASK_FAILED',
      message: 'remote task failed: disk full',
      details: { server: 'reports', state: 'TASK_STATE_FAILED', artifacts },
    } as const;
    const reports = new WatchedServer({ read: () => ({ kind: 'ended', end: { kind: 'failed', error } }) });
    expect(await resultWith(reports)).toEqual({
      name: 'RemoteTaskFailed',
      code: 'REMOTE_TASK_FAILED',
      message: 'remote task failed: disk full',
      details: { server: 'reports', taskId: 'task-1', phase: 'run', state: 'TASK_STATE_FAILED', artifacts },
    });
  });

  it.each<[string, ScriptedTask, string, string | undefined]>([
    ['a failure in the reply to the start', { failure: 'no quota' }, 'RemoteTaskFailed', 'start'],
    ['a rejection in the reply to the start', { rejection: 'no' }, 'RemoteTaskRejected', 'start'],
    ['a failure later', { after: { minutes: 1 }, failure: 'no quota' }, 'RemoteTaskFailed', 'run'],
  ])('says in which phase it did: %s (GB-16)', async (_, task, name, phase) => {
    expect(await resultWith(new WatchedServer({ task }))).toMatchObject({ name, details: { phase } });
  });

  it('with isError says so when the reply to the start already did, and then only (GB-16)', async () => {
    const refused = { result: 'no quota', isError: true };
    expect(await resultWith(new WatchedServer({ task: refused }))).toMatchObject({ isError: true, phase: 'start' });
    const later = await resultWith(new WatchedServer({ task: { ...refused, after: { minutes: 1 } } }));
    expect(later).toMatchObject({ isError: true });
    expect(later).not.toHaveProperty('phase');
  });

  it('with a result over 2 MiB fails the call and names size and limit (S0-95)', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 1 }, result: 'x'.repeat(2_097_151) } });
    expect(await resultWith(reports)).toEqual({
      status: 'failed',
      error: {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'the result of the remote task on "reports" is 2097153 bytes of JSON, the limit is 2097152',
        details: { server: 'reports', taskId: 'task-1', sizeBytes: 2_097_153, limitBytes: 2_097_152 },
      },
    });
  });

  it('on an A2A agent gives the task', async () => {
    const supplier = new WatchedServer({
      protocol: 'a2a',
      task: { after: { hours: 3 }, result: { artifacts: [{ parts: [{ text: '50' }] }] } },
    });
    const quote = aFlow(async (ctx) =>
      textOf(await ctx.callRemoteTask({ server: 'supplier', skill: 'quote', arguments: {} })),
    );
    const { app, runId } = await started(quote, { supplier });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: '50' });
  });
});

describe('a remote task without an end', () => {
  const never: ScriptedTask = { never: true };

  it('times out at its deadline, neither before nor after, and is cancelled (S0-54, S0-112)', async () => {
    const reports = new WatchedServer({ task: never });
    const run = await started(flow, { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: {
        name: 'RemoteTaskTimedOut',
        code: 'REMOTE_TASK_TIMED_OUT',
        message: 'remote task "export" on "reports" did not end within 21600 s',
        details: { server: 'reports', taskId: 'task-1', timeoutMs: 21_600_000 },
      },
    });
    expect(await endedAfterMs(run)).toBe(21_600_000);
    expect(reports.cancels).toBe(1);
  });

  it.each([
    [{ milliseconds: 1 }, 1],
    [{ milliseconds: 1_200 }, 2],
    [{ seconds: 90 }, 90],
    [{ seconds: 91 }, 91],
    [{ minutes: 61 }, 3_660],
  ])('and a timeout of %j ends after %i s and within a sweep of that (S0-110)', async (timeout, seconds) => {
    const atMs = startMs + 123;
    const run = await started(
      aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout })),
      { reports: new WatchedServer({ task: never }) },
      { startAtMs: atMs },
    );
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    const lateMs = (await endedAfterMs(run)) - 123 - seconds * 1_000;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThanOrEqual(60_000);
  });

  it('has 24 hours where no timeout is given', async () => {
    const run = await started(
      aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' })),
      { reports: new WatchedServer({ task: never }) },
    );
    await run.app.runToEnd(run.runId);
    expect(await endedAfterMs(run)).toBe(86_400_000);
  });

  it('whose every reply is unusable is waited for until the deadline (S0-75)', async () => {
    const reports = new WatchedServer({
      read: () => ({
        kind: 'unreadable',
        error: { code: 'REMOTE_PROTOCOL_VIOLATION', message: 'the task is not the one requested' },
      }),
    });
    expect(await resultWith(reports)).toMatchObject({ code: 'REMOTE_TASK_TIMED_OUT' });
  });
});

describe('a call that cannot be made', () => {
  it.each<[string, RemoteCall, object]>([
    [
      'to a server that the app does not have (S0-08, S0-16)',
      { server: 'archive', tool: 'export' },
      {
        code: 'SERVER_NOT_FOUND',
        message: 'no server is named "archive"; known servers: reports, supplier',
        details: { server: 'archive' },
      },
    ],
    [
      'to a server named like a part of every object',
      { server: 'constructor', tool: 'export' },
      {
        code: 'SERVER_NOT_FOUND',
        message: 'no server is named "constructor"; known servers: reports, supplier',
        details: { server: 'constructor' },
      },
    ],
    [
      'of a skill to an MCP server (S0-08)',
      { server: 'reports', skill: 'export' },
      {
        code: 'CONFIG_INVALID',
        message: 'the call to "reports" cannot be made: an MCP server has tools',
        details: { server: 'reports' },
      },
    ],
    [
      'of a tool to an A2A agent',
      { server: 'supplier', tool: 'quote' },
      { code: 'CONFIG_INVALID', details: { server: 'supplier' } },
    ],
  ])('%s fails at once', async (_, call, error) => {
    const reports = new WatchedServer();
    const supplier = new WatchedServer({ protocol: 'a2a' });
    const run = await started(
      aFlow(async (ctx) => ctx.callRemoteTask(call)),
      { reports, supplier },
    );
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'failed', error });
    expect(await endedAfterMs(run)).toBe(0);
    expect([...reports.starts, ...supplier.starts]).toEqual([]);
  });
});

describe('a settlement by a relay', () => {
  const relayed = { kind: 'completed', result: 'by relay', isError: false } as const;

  it('wins over the poll when it is first; every later one is told so (S0-90, S0-105)', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 1 }, result: 'by poll' } });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ minutes: 1 });
    const token = app.deps.tokens.settleToken({ runId, waitId: '1' });
    expect(await settleToken(app.deps, { token, outcome: relayed })).toEqual({ settled: true });
    expect(await settleToken(app.deps, { token, outcome: relayed })).toEqual({
      settled: false,
      reason: 'already_settled',
    });
    expect(await app.runToEnd(runId)).toMatchObject({ result: { result: 'by relay', server: 'reports' } });
  });

  it('that fails the task names the server', async () => {
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.pass({ minutes: 1 });
    const token = app.deps.tokens.settleToken({ runId, waitId: '1' });
    await settleToken(app.deps, { token, outcome: { kind: 'failed', message: 'disk full' } });
    expect(await app.runToEnd(runId)).toMatchObject({
      result: { name: 'RemoteTaskFailed', message: 'remote task failed: disk full', details: { server: 'reports' } },
    });
  });

  it('after the timeout, or of an ended run, changes nothing (S0-92)', async () => {
    const late = await started(
      aFlow(async (ctx) => {
        await ctx.callRemoteTask({ server: 'reports', tool: 'a', timeout: { minutes: 1 } }).catch(() => 1);
        await ctx.callRemoteTask({ server: 'reports', tool: 'b' });
      }),
      { reports: new WatchedServer() },
    );
    const { app, runId } = late;
    await app.pass({ hours: 1 });
    const settle = async (waitId: string): Promise<unknown> =>
      settleToken(app.deps, { token: app.deps.tokens.settleToken({ runId, waitId }), outcome: relayed });
    expect(await settle('1')).toEqual({ settled: false, reason: 'timed_out' });
    await app.cancel(runId);
    await app.runToEnd(runId);
    const before = await app.history(runId);
    expect(await settle('2')).toEqual({ settled: false, reason: 'run_ended' });
    await app.pass({ hours: 1 });
    expect(await app.history(runId)).toEqual(before);
  });

  it('of a wait that was never requested is refused like a forged token', async () => {
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.settleDown();
    const token = app.deps.tokens.settleToken({ runId, waitId: '2' });
    await expect(settleToken(app.deps, { token, outcome: relayed })).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
      message: 'no wait is known for this token',
    });
  });
});
