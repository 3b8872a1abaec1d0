import { expect, test } from 'vitest';
import { pollTask } from '../../lib/operations/poll-task.js';
import { pollHopsMax } from '../../lib/base/limits.js';
import type { PollReply } from '../../lib/remote/transport.js';
import { aFlow, started, startMs, WatchedServer, type Started } from '../engine/support.js';

// Reads of a remote task: each within its claim, and hops within theirs.

const unreachable = { code: 'REMOTE_UNREACHABLE', message: 'gone' } as const;

async function calling(reports: WatchedServer, onInput?: () => { action: 'decline' }): Promise<Started> {
  const scene = await started(
    aFlow(async (ctx) =>
      ctx.callRemoteTask({
        server: 'reports',
        tool: 'export',
        timeout: { hours: 6 },
        ...(onInput === undefined ? {} : { onInput }),
      }),
    ),
    { reports },
  );
  await scene.app.settleDown();
  return scene;
}

/** The reply of the first read, which takes so long that another worker has moved the due instant meanwhile. */
async function readTooLate(reply: PollReply) {
  const reports = new WatchedServer({ read: () => reply });
  const { app, runId } = await calling(reports, () => ({ action: 'decline' }));
  const { store } = app.deps;
  const slow = reports.get.bind(reports);
  const theirsMs = startMs + 200_000;
  reports.get = async (handle) => {
    const seenDueAtMs = (await store.readToken(runId, '1'))?.dueAtMs ?? 0;
    await store.claimPoll(runId, '1', { seenDueAtMs, dueAtMs: theirsMs });
    return slow(handle);
  };
  await pollTask(app.deps, { kind: 'poll', runId, waitId: '1' });
  const { dueAtMs, pollErrors, questions } = (await store.readToken(runId, '1')) ?? {};
  return { dueInS: (dueAtMs ?? 0) / 1000 - startMs / 1000, pollErrors, questions };
}

test('what a read taught is recorded within its claim: a worker that was overtaken changes nothing', async () => {
  expect(await readTooLate({ kind: 'unreadable', error: unreachable })).toEqual({ dueInS: 200, pollErrors: 0 });
  expect(await readTooLate({ kind: 'working', state: 'working', pollAfterMs: 20_000 })).toEqual({
    dueInS: 200,
    pollErrors: 0,
  });
});

test('questions are recorded within the claim of the read: a worker that was overtaken changes nothing', async () => {
  const questions = [{ key: 'q', kind: 'form', message: 'Release?' }] as const;
  expect(await readTooLate({ kind: 'working', state: 'input_required', questions })).toEqual({
    dueInS: 200,
    pollErrors: 0,
  });
});

test('hop of another claim: it reads nothing', async () => {
  const reports = new WatchedServer();
  const { app, runId } = await calling(reports);
  const { dueAtMs = 0 } = (await app.deps.store.readToken(runId, '1')) ?? {};
  const hop = (claimedDueAtMs: number) => ({
    ...({ kind: 'poll', runId, waitId: '1', dueAtMs: claimedDueAtMs } as const),
    hop: { count: 1, claimedDueAtMs },
  });
  expect(await pollTask(app.deps, hop(dueAtMs - 60_000))).toBe('stale');
  expect(await pollTask(app.deps, hop(dueAtMs + 60_000))).toBe('stale');
  expect(reports.reads).toBe(0);
  expect(await pollTask(app.deps, hop(dueAtMs))).toBe('working');
  expect(reports.reads).toBe(1);
});

test('hops of one claim: ten of them, and no more', async () => {
  const reports = new WatchedServer();
  const { app } = await calling(reports);
  await app.pass({ seconds: 70 });
  // The first read claims until 65 s.
  const inClaim = reports.readAtMs.filter((atMs) => atMs < 65_000);
  expect(inClaim).toHaveLength(1 + pollHopsMax);
});
