import { hasCode, RemoteTaskError } from 'outwait';
import type { ScriptedTask } from 'outwait/testing';
import { scriptedServer } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { aFlow, anApp, endedAfterMs, started, WatchedServer } from './support.js';

function calling(call: object): ReturnType<typeof aFlow> {
  return aFlow(async (ctx) => {
    try {
      const { result } = await ctx.callRemoteTask({ server: 'reports', tool: 'export', ...call });
      return result;
    } catch (error) {
      if (hasCode(error, 'INPUT_INVALID')) return error.message;
      if (!(error instanceof RemoteTaskError)) throw error;
      return { name: error.name, message: error.message, details: error.details };
    }
  });
}

/** Creates a server that uses the next script at each start, and the last one from then on. */
function inTurn(...scripts: readonly ScriptedTask[]): ReturnType<typeof scriptedServer> {
  let at = 0;
  return scriptedServer({ protocol: 'mcp', task: () => scripts[Math.min(at++, scripts.length - 1)] ?? {} });
}

const failing: ScriptedTask = { after: { minutes: 5 }, failure: 'disk full' };

describe('a call with restart (GB-13)', () => {
  it('is made again with a fresh key and timeout after the task has failed', async () => {
    const reports = inTurn(failing, failing, { after: { minutes: 50 }, result: 'rows' });
    const run = await started(calling({ restart: { attempts: 3 }, timeout: { hours: 1 } }), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(new Set(reports.starts.map(({ key }) => key)).size).toBe(3);
    const { events } = await run.app.history(run.runId);
    const asked = events.flatMap((event) => (event.type === 'RemoteTaskRequested' ? [event.waitId] : []));
    expect(asked).toEqual(['1', '2', '3']);
  });

  it('throws the last error, with the number of calls', async () => {
    const reports = inTurn(failing);
    const { app, runId } = await started(calling({ restart: { attempts: 2 } }), { reports });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: {
        name: 'RemoteTaskFailed',
        message: 'remote task failed: disk full',
        details: { server: 'reports', phase: 'run', taskId: 'task-2', attempts: 2 },
      },
    });
    expect(reports.starts).toHaveLength(2);
  });

  it('is not made again after an end that it does not name', async () => {
    const rejecting: ScriptedTask = { after: { minutes: 1 }, rejection: 'not allowed' };
    const asIs = inTurn(rejecting);
    const one = await started(calling({ restart: { attempts: 3 } }), { reports: asIs });
    expect(await one.app.runToEnd(one.runId)).toMatchObject({ result: { name: 'RemoteTaskRejected' } });
    expect(asIs.starts).toHaveLength(1);
    const named = inTurn(rejecting);
    const other = await started(calling({ restart: { attempts: 3, on: ['rejected'] } }), { reports: named });
    await other.app.runToEnd(other.runId);
    expect(named.starts).toHaveLength(3);
  });

  it('is made again after a timeout where it says so, and the first task is cancelled', async () => {
    const reports = inTurn({ never: true }, { after: { minutes: 1 }, result: 'rows' });
    const restart = { attempts: 2, on: ['timedOut'] };
    const run = await started(calling({ restart, timeout: { minutes: 10 } }), { reports });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(reports.cancels).toBe(1);
    expect(await endedAfterMs(run)).toBeGreaterThan(600_000);
  });

  it('is not made again when its run is cancelled', async () => {
    const reports = new WatchedServer();
    const { app, runId } = await started(calling({ restart: { attempts: 3 } }), { reports });
    await app.pass({ minutes: 5 });
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled' });
    expect(reports.starts).toHaveLength(1);
  });

  it.each<[string, object]>([
    ['restart.attempts must be a whole number from 2 to 20, got 1', { attempts: 1 }],
    ['restart.attempts must be a whole number from 2 to 20, got 21', { attempts: 21 }],
    [
      'restart.on takes failed, rejected, cancelled, timedOut, expired, lost, got "ambiguous"',
      { attempts: 2, on: ['ambiguous'] },
    ],
  ])('is refused: %s', async (message, restart) => {
    const reports = inTurn(failing);
    const { app, runId } = await started(calling({ restart }), { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: message });
    expect(reports.starts).toEqual([]);
  });
});

describe('a key of the author (GB-30)', () => {
  it('goes to the server as it is, and two runs with it share one task', async () => {
    const reports = inTurn({ after: { hours: 1 }, result: 'rows' });
    const flow = calling({ idempotencyKey: 'export/2026-10' });
    const { app, runId } = await started(flow, { reports });
    const second = await app.start(flow, null);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(await app.runToEnd(second)).toEqual({ status: 'completed', result: 'rows' });
    expect(reports.starts.map(({ key }) => key)).toEqual(['export/2026-10', 'export/2026-10']);
    const [first, other] = await Promise.all([runId, second].map(async (id) => app.deps.store.tokens.read(id, '1')));
    expect(first?.handle?.taskId).toBe('task-1');
    expect(other?.handle?.taskId).toBe('task-1');
  });

  it('is another one for each restart', async () => {
    const reports = inTurn(failing, { result: 'rows' });
    const flow = calling({ idempotencyKey: 'export/2026-10', restart: { attempts: 2 } });
    const { app, runId } = await started(flow, { reports });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(reports.starts.map(({ key }) => key)).toEqual(['export/2026-10', 'export/2026-10#2']);
  });

  it.each(['', 'x'.repeat(201), 'with space', 'schlüssel', 'line\nbreak', 7])('is refused: %j', async (key) => {
    const { app, runId } = await started(calling({ idempotencyKey: key }), { reports: inTurn(failing) });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: 'idempotencyKey must be 1 to 200 visible ASCII characters',
    });
  });

  it('may not change under a run: its call would be another one', async () => {
    const { app, runId } = await started(calling({ idempotencyKey: 'a' }), { reports: new WatchedServer() });
    await app.pass({ minutes: 5 });
    app.deploy(anApp(calling({ idempotencyKey: 'b' })));
    await app.cancel(runId);
    await app.settleDown();
    expect((await app.show(runId)).blocked).toMatchObject({ code: 'NONDETERMINISM' });
  });
});
