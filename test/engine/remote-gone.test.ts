import { RemoteTaskError, type RemoteCall } from 'outwait';
import type { ScriptedTask } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { PollReply } from '../../lib/remote/transport.js';
import { formatWhy } from '../../lib/cli/format.js';
import { explainRun } from '../../lib/operations/views/explain-run.js';
import { pollRemoteTask } from '../../lib/operations/requests/poll-remote-task.js';
import { aFlow, endedAfterMs, started, WatchedServer } from './support.js';

const exportCall: RemoteCall = { server: 'reports', tool: 'export', timeout: { hours: 6 } };

const flow = aFlow(async (ctx) => {
  try {
    return (await ctx.callRemoteTask(exportCall)).result;
  } catch (error) {
    if (!(error instanceof RemoteTaskError)) throw error;
    const { name, code, message, details } = error;
    return { name, code, message, details };
  }
});

const missing: PollReply = { kind: 'missing', error: { code: 'REMOTE_UNREACHABLE', message: 'Task not found' } };
const inTrouble: PollReply = { kind: 'unreadable', error: { code: 'REMOTE_UNREACHABLE', message: 'status 503' } };
const tooLarge: PollReply = {
  kind: 'unreadable',
  error: { code: 'PAYLOAD_TOO_LARGE', message: 'the answer is larger than 4194304 bytes' },
};

async function ended(reports: WatchedServer): Promise<{ readonly outcome: object; readonly afterS: number }> {
  const run = await started(flow, { reports });
  const outcome = await run.app.runToEnd(run.runId);
  return { outcome, afterS: (await endedAfterMs(run)) / 1_000 };
}

function secondsOf({ readAtMs }: WatchedServer): readonly number[] {
  return readAtMs.map((atMs) => atMs / 1_000);
}

describe('a task that its server does not know', () => {
  it('is waited for within a minute of the start, since replicas may lag (MCP-35, A2A-C28)', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 5 }, result: 'rows', knownFrom: { seconds: 55 } } });
    expect((await ended(reports)).outcome).toEqual({ status: 'completed', result: 'rows' });
    expect(secondsOf(reports).slice(0, 12)).toEqual([5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 61]);
  });

  it('F74 is lost at the third reply in a row that says so, beyond that minute: within 90 s (GB-12, A2A-C29)', async () => {
    const reports = new WatchedServer({ read: () => missing });
    expect(await ended(reports)).toEqual({
      outcome: {
        status: 'completed',
        result: {
          name: 'RemoteTaskLost',
          code: 'REMOTE_TASK_LOST',
          message: '"reports" no longer knows the remote task: Task not found',
          details: { server: 'reports', taskId: 'task-1', phase: 'run', state: 'missing' },
        },
      },
      afterS: 80,
    });
    expect(secondsOf(reports)).toEqual(Array.from({ length: 16 }, (_, n) => 5 * (n + 1)));
    expect(reports.cancels).toBe(0);
  });

  it('is explained meanwhile: reads that failed, and how often its server said so (EN-12)', async () => {
    const { app, runId } = await started(flow, { reports: new WatchedServer({ read: () => missing }) });
    await app.pass({ seconds: 58 });
    expect((await explainRun(app.deps, runId)).waits).toMatchObject([{ kind: 'remoteTask', failedReads: 11 }]);
    expect((await explainRun(app.deps, runId)).waits[0]).not.toHaveProperty('sightings');
    await app.pass({ seconds: 15 });
    const why = await explainRun(app.deps, runId);
    expect(why.waits).toMatchObject([{ failedReads: 14, sightings: { of: 'missing', count: 2 } }]);
    expect(formatWhy(why)).toContain('14 reads failed, the server does not know the task: 2 of 3 times in a row');
  });

  it.each<[string, PollReply | undefined]>([
    ['a state', undefined],
    ['trouble', inTrouble],
  ])('is not lost as long as %s comes in between', async (_, between) => {
    const reports = new WatchedServer({
      task: { after: { hours: 3 }, result: 'rows' },
      read: (read) => (read > 12 ? undefined : read % 3 === 0 ? between : missing),
    });
    expect((await ended(reports)).outcome).toEqual({ status: 'completed', result: 'rows' });
  });

  it('is not lost by reads that are requested one after the other', async () => {
    let isLost = false;
    const working: PollReply = { kind: 'working', state: 'working' };
    const reports = new WatchedServer({ read: () => (isLost ? missing : working) });
    const { app, runId } = await started(flow, { reports });
    await app.pass({ minutes: 2 });
    isLost = true;
    for (let poke = 0; poke < 5; poke++) {
      await pollRemoteTask(app.deps, runId, '1');
      await app.pass({ seconds: 1 });
    }
    expect((await app.show(runId)).status).toBe('running');
  });

  it('has expired as soon as the server does not know it, once its time to live has passed (GB-09, MCP-35)', async () => {
    const reports = new WatchedServer({
      task: { never: true, ttl: { minutes: 30 }, goneAfter: { minutes: 30 } },
    });
    const { outcome, afterS } = await ended(reports);
    expect(outcome).toEqual({
      status: 'completed',
      result: {
        name: 'RemoteTaskExpired',
        code: 'REMOTE_TASK_EXPIRED',
        message: '"reports" kept the remote task for 1800 s and no longer has it',
        details: { server: 'reports', taskId: 'task-1', phase: 'run', ttlMs: 1_800_000 },
      },
    });
    expect(afterS).toBeGreaterThanOrEqual(1_800);
    expect(afterS).toBeLessThan(2_000);
  });

  it('has not expired before that: it counts as lost then', async () => {
    const reports = new WatchedServer({ task: { never: true, ttl: { hours: 2 }, goneAfter: { minutes: 30 } } });
    expect((await ended(reports)).outcome).toMatchObject({ result: { code: 'REMOTE_TASK_LOST' } });
  });

  it('is read on beyond its time to live as long as the server knows it (MCP-34)', async () => {
    const reports = new WatchedServer({ task: { after: { hours: 2 }, result: 'rows', ttl: { minutes: 5 } } });
    expect((await ended(reports)).outcome).toEqual({ status: 'completed', result: 'rows' });
  });

  it.each<[string, number | null, number, string]>([
    ['longer', 7_200_000, 30, 'REMOTE_TASK_LOST'],
    ['for ever', null, 30, 'REMOTE_TASK_LOST'],
    ['shorter', 600_000, 9.5, 'REMOTE_TASK_EXPIRED'],
    ['shorter than it was (F72)', 60_000, 9.5, 'REMOTE_TASK_LOST'],
  ])('is held to what a later reply promised: to be kept %s (MCP-34)', async (_, ttlMs, minutes, code) => {
    const reports = new WatchedServer({
      task: { never: true, ttl: { minutes: 20 }, goneAfter: { minutes } },
      read: (read) => (read <= 15 ? { kind: 'working', state: 'working', ttlMs } : undefined),
    });
    expect((await ended(reports)).outcome).toMatchObject({ result: { code } });
  });
});

describe('a reply that can never be stored (A2A-C38)', () => {
  it('ends the wait when it has come three times, with its reason', async () => {
    const reports = new WatchedServer({ read: () => tooLarge });
    expect(await ended(reports)).toEqual({
      outcome: {
        status: 'failed',
        error: {
          code: 'PAYLOAD_TOO_LARGE',
          message:
            'the reply of "reports" about the remote task cannot be read: the answer is larger than 4194304 bytes',
          details: { server: 'reports', taskId: 'task-1', phase: 'run' },
        },
      },
      afterS: 35,
    });
  });

  it('is waited out when a state comes in between', async () => {
    const reports = new WatchedServer({
      task: { after: { minutes: 10 }, result: 'rows' },
      read: (read) => (read % 3 === 0 ? undefined : tooLarge),
    });
    expect((await ended(reports)).outcome).toEqual({ status: 'completed', result: 'rows' });
  });

  it('and one that the server does not know the task are not counted together', async () => {
    const reports = new WatchedServer({
      task: { after: { minutes: 20 }, result: 'rows' },
      read: (read) => (read > 12 ? undefined : read % 2 === 0 ? missing : tooLarge),
    });
    expect((await ended(reports)).outcome).toEqual({ status: 'completed', result: 'rows' });
  });
});

describe('a read that is refused, fails or is not for this task', () => {
  it.each<[string, ScriptedTask, PollReply]>([
    [
      '401, then the task (MCP-36)',
      { after: { minutes: 9 }, result: 'rows' },
      { kind: 'unreadable', error: { code: 'REMOTE_UNREACHABLE', message: 'status 401', details: { status: 401 } } },
    ],
    [
      'another task (A2A-C1)',
      { after: { minutes: 9 }, result: 'rows' },
      { kind: 'unreadable', error: { code: 'REMOTE_PROTOCOL_VIOLATION', message: 'the task is another one' } },
    ],
  ])('settles nothing: %s', async (_, task, reply) => {
    const reports = new WatchedServer({ task, read: (read) => (read <= 5 ? reply : undefined) });
    expect((await ended(reports)).outcome).toEqual({ status: 'completed', result: 'rows' });
  });

  it('costs no write more when none fails: the item holds no count of sightings', async () => {
    const { app, runId } = await started(flow, { reports: new WatchedServer() });
    await app.pass({ hours: 1 });
    const token = await app.deps.store.tokens.read(runId, '1');
    expect(token).not.toHaveProperty('sightings');
    expect(token).toMatchObject({ pollErrors: 0 });
  });
});
