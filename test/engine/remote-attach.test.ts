import { hasCode, type AttachCall } from 'outwait';
import { scriptedServer, type ScriptedTask } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { StartReply } from '../../lib/remote/transport.js';
import { aFlow, anApp, endedAfterMs, eventTypes, started, WatchedServer } from './support.js';

const attach: AttachCall = { server: 'reports', taskId: 'export-7', timeout: { hours: 6 } };

function attaching(call: Partial<AttachCall> = {}): ReturnType<typeof aFlow> {
  return aFlow(async (ctx) => ctx.attachRemoteTask({ ...attach, ...call }));
}

function having(task: ScriptedTask): WatchedServer {
  const reports = new WatchedServer({ dedupes: false });
  reports.begin('export-7', task);
  return reports;
}

class AdoptingServer extends WatchedServer {
  adopted = 0;
  readonly #replies: readonly StartReply[];

  constructor(replies: readonly StartReply[]) {
    super({ dedupes: false });
    this.begin('export-7', { after: { minutes: 5 }, result: 'rows' });
    this.#replies = replies;
  }

  override async adopt(task: { readonly taskId: string }): Promise<StartReply> {
    return this.#replies[this.adopted++] ?? super.adopt(task);
  }
}

describe('a task that somebody else has started (GB-31)', () => {
  it('is read, waited for and gives its result; nothing is started', async () => {
    const reports = having({ after: { hours: 1 }, result: { rows: 412 } });
    const run = await started(attaching(), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: { result: { rows: 412 }, isError: false, server: 'reports', taskId: 'export-7' },
    });
    expect(reports.starts).toEqual([]);
    expect(await eventTypes(run)).toEqual([
      'RunStarted',
      'RemoteTaskRequested',
      'RemoteTaskStarted',
      'TokenSettled',
      'RunEnding',
      'RunEnded',
    ]);
  });

  it('that has ended already gives its result at once', async () => {
    const reports = new WatchedServer();
    const run = await started(attaching(), { reports });
    reports.begin('export-7', { after: { milliseconds: 0 }, result: 'rows' });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed', result: { result: 'rows' } });
    expect(await endedAfterMs(run)).toBe(0);
  });

  it('that the server does not know is refused', async () => {
    const { app, runId } = await started(attaching({ taskId: 'other' }), { reports: having({ never: true }) });
    expect(await app.runToEnd(runId)).toMatchObject({
      error: { code: 'REMOTE_START_REFUSED', message: 'no such task', details: { server: 'reports' } },
    });
  });

  it('is read again after a read without an answer, towards any server', async () => {
    const noAnswer: StartReply = { kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE', message: 'no answer' } };
    const reports = new AdoptingServer([noAnswer, noAnswer]);
    const { app, runId } = await started(attaching(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed', result: { result: 'rows' } });
    expect(reports.adopted).toBe(3);
  });

  it('that cannot be read five times was not started by us, so its fate is not ambiguous', async () => {
    const noAnswer: StartReply = { kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE', message: 'no answer' } };
    const reports = new AdoptingServer(Array.from({ length: 9 }, () => noAnswer));
    const { app, runId } = await started(attaching(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({ error: { code: 'REMOTE_START_FAILED' } });
    expect(reports.adopted).toBe(5);
  });

  it.each<[string, Partial<AttachCall>, number]>([
    ['is left alone', {}, 0],
    ['is cancelled where the call says so', { onTimeout: 'cancel', onCancel: 'cancel' }, 1],
  ])('%s at the timeout and by a cancel of the run', async (_, call, cancels) => {
    const atTimeout = having({ never: true });
    const late = await started(attaching(call), { reports: atTimeout });
    expect(await late.app.runToEnd(late.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    const atCancel = having({ never: true });
    const run = await started(attaching(call), { reports: atCancel });
    await run.app.pass({ minutes: 5 });
    await run.app.cancel(run.runId);
    await run.app.pass({ hours: 1 });
    expect([atTimeout.cancels, atCancel.cancels]).toEqual([cancels, cancels]);
  });

  it('cannot be taken over from a server that takes over none', async () => {
    const reports = scriptedServer({ protocol: 'mcp', task: () => ({}) });
    Object.defineProperty(reports, 'adopt', { value: undefined });
    const { app, runId } = await started(attaching(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({
      error: {
        code: 'CONFIG_INVALID',
        message: 'the call to "reports" cannot be made: it does not support attaching to a task',
      },
    });
  });

  it.each<[string, object]>([
    ['taskId must be a string of 1 to 1024 bytes', { taskId: '' }],
    ['taskId must be a string of 1 to 1024 bytes', { taskId: 'x'.repeat(1_025) }],
    ['taskId must be a string of 1 to 1024 bytes', { taskId: 'ü'.repeat(513) }],
    ['taskId must be a string of 1 to 1024 bytes', { taskId: 7 }],
    ['taskId must be a string of 1 to 1024 bytes', { taskId: null }],
    ['taskId must be a string of 1 to 1024 bytes', { taskId: undefined }],
    ['taskId must be a string of 1 to 1024 bytes', { taskId: ['export-7'] }],
    ['taskId must be well-formed text, got half of a surrogate pair', { taskId: 'export-\ud800' }],
    ['taskId must be well-formed text, got half of a surrogate pair', { taskId: '\udc00' }],
    ['contextId must be a string of 1 to 1024 bytes', { contextId: 7 }],
    ['contextId must be a string of 1 to 1024 bytes', { contextId: '' }],
    ['contextId must be a string of 1 to 1024 bytes', { contextId: 'x'.repeat(1_025) }],
    ['contextId must be well-formed text, got half of a surrogate pair', { contextId: '\ud800' }],
    ['onCancel must be "cancel" or "leave"', { onCancel: 'stop' }],
    ['onTimeout must be "cancel" or "leave"', { onTimeout: 'Leave' }],
  ])('is refused before anything is asked: %s', async (message, call) => {
    const flow = aFlow(async (ctx) =>
      ctx.attachRemoteTask({ ...attach, ...call }).catch((error: unknown) => {
        if (!hasCode(error, 'INPUT_INVALID')) throw error;
        return error.message;
      }),
    );
    const run = await started(flow, { reports: having({ never: true }) });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: message });
    expect(await eventTypes(run)).toEqual(['RunStarted', 'RunEnding', 'RunEnded']);
    expect((await run.app.deps.store.runs.read(run.runId))?.tokens).toEqual([]);
  });

  it('takes an id of the longest length', async () => {
    const taskId = 'x'.repeat(1_024);
    const reports = having({ never: true });
    reports.begin(taskId, { never: true });
    const run = await started(attaching({ taskId }), { reports });
    await run.app.settleDown();
    expect((await run.app.deps.store.runs.read(run.runId))?.tokens[0]?.handle).toMatchObject({ taskId });
  });

  it('is another call than one of another task: a changed id blocks the run (S0-124)', async () => {
    const { app, runId } = await started(attaching(), { reports: having({ never: true }) });
    await app.pass({ minutes: 5 });
    app.deploy(anApp(attaching({ taskId: 'export-8' })));
    await app.cancel(runId);
    await app.settleDown();
    expect((await app.show(runId)).blocked).toMatchObject({ code: 'NONDETERMINISM' });
  });
});
