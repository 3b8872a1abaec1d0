import type { RemoteCall } from 'outwait';
import { scriptedServer, type ScriptedTask } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import { describe, expect, it } from 'vitest';
import type { FindReply, ServerTraits, StartReply, StartRequest } from '../../lib/remote/transport.js';
import { aFlow, endedAfterMs, eventTypes, started, WatchedServer } from './support.js';

const lost: StartReply = { kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE', message: 'no answer within 20 s' } };
const busy: StartReply = { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'the server answered 503' } };

function calling(call: Partial<RemoteCall> = {}): ReturnType<typeof aFlow> {
  return aFlow(
    async (ctx) =>
      (await ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 6 }, ...call } as RemoteCall))
        .result,
  );
}

function finding(task: ScriptedTask): ScriptedServer {
  return new ScriptedServer({ protocol: 'mcp', dedupes: false, finds: true, task: () => task });
}

/** A server that reports traits that the configuration does not set. */
class TalkingServer extends WatchedServer {
  asked = 0;
  readonly #says: () => Promise<ServerTraits>;

  constructor(options: ConstructorParameters<typeof WatchedServer>[0], says: () => Promise<ServerTraits>) {
    super({ dedupes: false, ...options });
    this.#says = says;
  }

  override async traits(): Promise<ServerTraits> {
    this.asked++;
    return this.#says();
  }

  override async start(request: StartRequest): Promise<StartReply> {
    expect(this.asked).toBeGreaterThan(0);
    return super.start(request);
  }
}

describe('a start without an answer, towards a server that says that it dedupes', () => {
  it('is repeated with the same key, though the configuration does not say so', async () => {
    const reports = new TalkingServer(
      { task: { after: { minutes: 1 }, result: 'once' }, start: (attempt) => (attempt === 1 ? lost : undefined) },
      async () => ({ dedupes: true, finds: false }),
    );
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'once' });
    expect(new Set(reports.starts.map(({ key }) => key)).size).toBe(1);
    expect(reports.starts).toHaveLength(2);
  });

  it.each<[string, () => Promise<ServerTraits>]>([
    ['fails', async () => Promise.reject(new Error('no route'))],
    ['never comes', async () => new Promise(() => undefined)],
  ])('is reported where the answer to that question %s', async (_, says) => {
    const reports = new TalkingServer({ start: () => lost }, says);
    const run = await started(calling(), { reports });
    // A turn that waits for the answer waits on the clock of the test.
    const passing = run.app.settleDown();
    for (let round = 0; round < 50; round++) await new Promise((resolve) => setImmediate(resolve));
    run.app.clock.moveTo(run.app.clock.nowMs() + 5_000);
    await passing;
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_START_AMBIGUOUS' } });
    expect(reports.starts).toHaveLength(1);
  });

  it('is not asked what it can where the configuration says it, or the call does no harm twice', async () => {
    const says = async (): Promise<ServerTraits> => Promise.reject(new Error('not to be asked'));
    const configured = new WatchedServer({ task: { result: 1 } });
    const safe = new TalkingServer({ task: { result: 1 } }, says);
    safe.asked = 1;
    for (const reports of [configured, safe]) {
      const { app, runId } = await started(calling({ retrySafe: true }), { reports });
      await app.runToEnd(runId);
    }
    expect(safe.asked).toBe(1);
  });

  it('that got no answer five times is ambiguous, not failed: a task may be running', async () => {
    const reports = new WatchedServer({ start: () => lost });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({
      error: {
        code: 'REMOTE_START_AMBIGUOUS',
        message:
          'a task on "reports" may have been started, but its id is not known (no answer within 20 s). It was started 5 times under one key, and no usable answer came.',
      },
    });
  });

  it('is ambiguous too when the later attempts were refused', async () => {
    const reports = new WatchedServer({ start: (attempt) => (attempt === 1 ? lost : busy) });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({ error: { code: 'REMOTE_START_AMBIGUOUS' } });
  });
});

describe('a start without an answer, towards a server that can be asked for its task', () => {
  it('is never repeated; the task is found 2 s later and waited for (A2A-C16)', async () => {
    const reports = finding({ after: { minutes: 10 }, result: 'rows', lostReplies: 1 });
    const run = await started(calling(), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'rows' });
    expect([reports.starts.length, reports.looks]).toEqual([1, 1]);
    expect(await eventTypes(run)).toEqual([
      'RunStarted',
      'RemoteTaskRequested',
      'RemoteTaskStartLost',
      'RemoteTaskStarted',
      'TokenSettled',
      'RunEnding',
      'RunEnded',
    ]);
  });

  it('is looked for again 8 and 30 s later, as events of the run', async () => {
    const reports = finding({ after: { minutes: 10 }, result: 'rows', lostReplies: 1, knownFrom: { seconds: 15 } });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
    const { events } = await app.history(runId);
    const looks = events.flatMap((event) =>
      event.type === 'RemoteTaskStartLost' ? [[event.look, event.lookAtMs - event.atMs]] : [],
    );
    expect(looks).toEqual([
      [1, 2_000],
      [2, 8_000],
      [3, 30_000],
    ]);
    expect([reports.starts.length, reports.looks]).toEqual([1, 3]);
  });

  it('is ambiguous when it is not found the third time, 40 s after the start', async () => {
    const reports = finding({ never: true, lostReplies: 1, knownFrom: { hours: 1 } });
    const run = await started(calling(), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'failed',
      error: {
        code: 'REMOTE_START_AMBIGUOUS',
        message:
          'a task on "reports" may have been started, but its id is not known (the server says that it has no task for this start, asked 3 times). It was not started again, since a start may still be on its way.',
        details: { server: 'reports' },
      },
    });
    expect(await endedAfterMs(run)).toBe(40_000);
    expect(reports.starts).toHaveLength(1);
  });

  it('is looked for until a minute after a cancel of the run, and then its task is cancelled (GB-05)', async () => {
    const reports = finding({ never: true, lostReplies: 1, knownFrom: { seconds: 5 } });
    const { app, runId } = await started(calling(), { reports });
    await app.pass({ seconds: 3 });
    await app.cancel(runId);
    await app.pass({ minutes: 3 });
    expect((await app.show(runId)).status).toBe('cancelled');
    expect([reports.starts.length, reports.cancels]).toEqual([1, 1]);
    expect(await app.deps.store.tokens.read(runId, '1')).toMatchObject({ cancel: { kind: 'sent' } });
  });

  it('is not settled by a failed look, which is no answer of the server', async () => {
    class Mute extends ScriptedServer {
      override async find(): Promise<FindReply> {
        this.looks++;
        return { kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE', message: 'status 503' } };
      }
    }
    const reports = new Mute({
      protocol: 'mcp',
      dedupes: false,
      finds: true,
      task: () => ({ never: true, lostReplies: 1 }),
    });
    const { app, runId } = await started(calling(), { reports });
    expect(await app.runToEnd(runId)).toMatchObject({
      error: {
        code: 'REMOTE_START_AMBIGUOUS',
        message: expect.stringContaining('(status 503, asked 3 times)') as unknown,
      },
    });
    expect(reports.looks).toBe(3);
  });

  it('times out at its deadline when that comes before the next look', async () => {
    const reports = finding({ never: true, lostReplies: 1, knownFrom: { hours: 1 } });
    const run = await started(calling({ timeout: { seconds: 20 } }), { reports });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    expect(await endedAfterMs(run)).toBe(20_000);
  });
});

describe('a run that is cancelled while the fate of a start is unknown, towards a server that dedupes', () => {
  it('starts once more with the same key to learn of the task, and cancels that (GB-05, A2A-C32)', async () => {
    const reports = scriptedServer({ protocol: 'mcp', task: () => ({ never: true, lostReplies: 1 }) });
    const { app, runId } = await started(calling(), { reports });
    await app.settleDown();
    expect(reports.starts).toHaveLength(1);
    await app.cancel(runId);
    await app.settleDown();
    await app.pass({ minutes: 2 });
    expect((await app.show(runId)).status).toBe('cancelled');
    expect(reports.starts).toHaveLength(2);
    expect(new Set(reports.starts.map(({ key }) => key)).size).toBe(1);
    expect(reports.cancels).toBe(1);
    expect(await app.deps.store.tokens.read(runId, '1')).toMatchObject({ cancel: { kind: 'sent' } });
  });

  it('starts nothing if every attempt is known to have been refused', async () => {
    const reports = new WatchedServer({ start: () => busy });
    const { app, runId } = await started(calling(), { reports });
    await app.settleDown();
    await app.cancel(runId);
    await app.pass({ hours: 1 });
    expect(reports.starts).toHaveLength(1);
  });
});
