import { scriptedServer } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import { describe, expect, it } from 'vitest';
import { followRun } from '../../lib/operations/views/follow-run.js';
import type { RemoteTaskTransport, WatchEvent } from '../../lib/remote/transport.js';
import { aFlow, started, WatchedServer } from './support.js';

const waits = (watch: boolean) =>
  aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export', watch })).result);

/** Creates a server with a stream that a test feeds. */
function streaming() {
  const server = scriptedServer({ protocol: 'mcp', task: () => ({ never: true }) });
  const watchers: ((event: WatchEvent) => void)[] = [];
  let open = 0;
  const watch: NonNullable<RemoteTaskTransport['watch']> = (_handle, onEvent, signal) => {
    watchers.push(onEvent);
    open++;
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        open--;
        resolve();
      });
    });
  };
  return { server: Object.assign(server, { watch }), watchers, openStreams: () => open };
}

describe('following a run (GB-07, S2-20)', () => {
  it('gives what is there at once, and then waits for more', async () => {
    const { app, runId } = await started(aFlow((ctx) => ctx.signal('go')));
    await app.settleDown();
    const first = await followRun(app.deps, runId, { waitMs: 20_000 });
    expect(first.events.map(({ type }) => type)).toEqual(['RunStarted', 'SignalWaitStarted']);
    const next = followRun(app.deps, runId, { after: first.nextAfter, waitMs: 20_000 });
    await app.pass({ seconds: 3 });
    await app.signal(runId, 'go', 'now');
    await app.pass({ seconds: 3 });
    expect(await next).toMatchObject({
      status: 'completed',
      events: [{ type: 'SignalReceived', payload: 'now' }, {}, {}, {}],
    });
  });

  it('gives nothing when the wait is over', async () => {
    const { app, runId } = await started(aFlow((ctx) => ctx.signal('go')));
    await app.settleDown();
    const { nextAfter } = await followRun(app.deps, runId, {});
    const next = followRun(app.deps, runId, { after: nextAfter, waitMs: 5_000 });
    await app.pass({ seconds: 6 });
    expect(await next).toEqual({ events: [], progress: [], status: 'running', nextAfter });
  });

  it('shows what a watched task says, starts nothing, and leaves the stream when the question is answered (S2-13)', async () => {
    const { server, watchers, openStreams } = streaming();
    const { app, runId } = await started(waits(true), { reports: server });
    await app.settleDown();
    const { nextAfter } = await followRun(app.deps, runId, {});
    const next = followRun(app.deps, runId, { after: nextAfter, waitMs: 20_000 });
    await app.pass({ milliseconds: 100 });
    watchers[0]?.({ kind: 'status', state: 'working', note: 'half way' });
    await app.pass({ seconds: 6 });
    expect((await next).progress).toMatchObject([
      { waitId: '1', server: 'reports', kind: 'status', state: 'working', note: 'half way' },
    ]);
    expect(openStreams()).toBe(0);
    expect(server.starts).toHaveLength(1);
    expect((await app.show(runId)).status).toBe('running');
  });

  it('leaves a task alone that was called without watch', async () => {
    const { server, watchers } = streaming();
    const { app, runId } = await started(waits(false), { reports: server });
    await app.settleDown();
    const { nextAfter } = await followRun(app.deps, runId, {});
    const next = followRun(app.deps, runId, { after: nextAfter, waitMs: 2_000 });
    await app.pass({ seconds: 3 });
    await next;
    expect(watchers).toEqual([]);
  });

  it('reads now and then where there is no stream', async () => {
    const server = scriptedServer({ protocol: 'mcp', task: () => ({ never: true }) });
    const { app, runId } = await started(waits(true), { reports: server });
    await app.settleDown();
    const { nextAfter } = await followRun(app.deps, runId, {});
    const next = followRun(app.deps, runId, { after: nextAfter, waitMs: 20_000 });
    await app.pass({ seconds: 6 });
    expect((await next).progress).toMatchObject([{ kind: 'status', state: 'working' }]);
  });

  it('reads no more often than each 5 seconds, or than the server asks, however often it is asked for news', async () => {
    const readsInTwoMinutes = async (watch: boolean, pollAfterMs?: number): Promise<number> => {
      const server = new WatchedServer({
        read: () => ({ kind: 'working', state: 'working', ...(pollAfterMs === undefined ? {} : { pollAfterMs }) }),
      });
      const { app, runId } = await started(waits(watch), { reports: server });
      await app.pass({ minutes: 1 });
      const before = server.reads;
      const untilMs = app.clock.nowMs() + 120_000;
      const follow = async (): Promise<void> => {
        let { nextAfter } = await followRun(app.deps, runId, {});
        while (app.clock.nowMs() < untilMs)
          ({ nextAfter } = await followRun(app.deps, runId, { after: nextAfter, waitMs: 20_000 }));
      };
      const following = follow();
      await app.pass({ seconds: 141 });
      await following;
      return server.reads - before;
    };
    const polls = await readsInTwoMinutes(false);
    expect((await readsInTwoMinutes(true)) - polls).toBeLessThanOrEqual(28);
    for (const pollAfterMs of [8_000, 15_000, 30_000]) {
      const alone = await readsInTwoMinutes(false, pollAfterMs);
      expect((await readsInTwoMinutes(true, pollAfterMs)) - alone).toBeLessThanOrEqual(
        Math.ceil(141_000 / pollAfterMs),
      );
    }
  });

  it('does not wait for a read that hangs', async () => {
    const server = new ScriptedServer({ protocol: 'mcp', task: () => ({ never: true }) });
    const { app, runId } = await started(waits(true), { reports: server });
    await app.settleDown();
    const { nextAfter } = await followRun(app.deps, runId, {});
    let isHanging = false;
    server.get = () => {
      isHanging = true;
      return new Promise(() => undefined);
    };
    const next = followRun(app.deps, runId, { after: nextAfter, waitMs: 2_000 });
    await app.pass({ seconds: 3 });
    expect(isHanging).toBe(true);
    expect(await next).toMatchObject({ events: [], status: 'running' });
  });

  it('gives the last events with the end, also when the head was read after them', async () => {
    const { app, runId } = await started(aFlow((ctx) => ctx.signal('go')));
    await app.settleDown();
    const { nextAfter } = await followRun(app.deps, runId, {});
    const { store } = app.deps;
    const readRunAfter = store.runs.readAfter.bind(store.runs);
    let isLate = true;
    store.runs.readAfter = async (...given) => {
      const before = await readRunAfter(...given);
      if (!isLate || before === undefined) return before;
      isLate = false;
      await app.signal(runId, 'go', 'now');
      await app.settleDown();
      return { ...before, head: (await store.heads.read(runId)) ?? before.head };
    };
    const next = followRun(app.deps, runId, { after: nextAfter, waitMs: 20_000 });
    await app.pass({ seconds: 2 });
    const { events, status } = await next;
    expect(status).toBe('completed');
    expect(events.at(-1)).toMatchObject({ type: 'RunEnded' });
  });

  it('does not wait for a run that has ended, or that there is none of', async () => {
    const { app, runId } = await started(aFlow(async () => 'done'));
    await app.runToEnd(runId);
    const { nextAfter } = await followRun(app.deps, runId, {});
    expect(await followRun(app.deps, runId, { after: nextAfter, waitMs: 20_000 })).toMatchObject({
      events: [],
      status: 'completed',
    });
    await expect(followRun(app.deps, '0'.repeat(32), { waitMs: 1 })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(followRun(app.deps, runId, { waitMs: 20_001 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
