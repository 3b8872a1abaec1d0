import { setImmediate as eventLoop } from 'node:timers/promises';
import { defineApp, mcpServer } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import { describe, expect, it } from 'vitest';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { handleWork } from '../../lib/operations/sweep/handle-work.js';
import { listServers } from '../../lib/operations/views/list-servers.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { MemoryQueues } from '../../lib/queue/memory-queues.js';
import type { TurnMessage, WorkMessage } from '../../lib/queue/queue.js';
import type { Admission, PollReply, StartReply } from '../../lib/remote/transport.js';
import type { Clock } from '../../lib/base/time.js';
import type { ServerLimits } from '../../lib/workflow/server-limits.js';
import { aFlow, endedAfterMs, started, startMs, WatchedServer, withTimePassing } from './support.js';

const unreachable = { code: 'REMOTE_UNREACHABLE', message: 'no connection to the server' } as const;
const failedStart: StartReply = { kind: 'retry', error: unreachable };
const failedRead: PollReply = { kind: 'unreadable', error: unreachable };

const exporting = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export' })).result);

describe('a start on a server that is left alone', () => {
  it('GB-29: waits without using up an attempt, and goes when the server is back', async () => {
    let isBack = false;
    const reports = new WatchedServer({ task: { result: 'done' }, start: () => (isBack ? undefined : failedStart) });
    const run = await started(exporting, { reports });
    const { app } = run;
    const others = [await app.start(exporting, 2), await app.start(exporting, 3)];
    await app.pass({ seconds: 25 });
    // After 0, 1 and 3 s, and, since ten of them are enough, once more after 7 s. A fifth attempt would be the last.
    expect(reports.startedAtMs).toEqual([0, 0, 0, 1_000, 1_000, 1_000, 3_000, 3_000, 3_000, 7_000, 7_000, 7_000]);
    const late = await app.start(exporting, 4);
    await app.pass({ seconds: 5 });
    isBack = true;
    for (const runId of [run.runId, ...others, late])
      expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
    const { events } = await app.history(late);
    const attempts = events.flatMap((event) => (event.type === 'RemoteTaskStartFailed' ? [event.attempt] : []));
    // Logged once, however often it was tried.
    expect(attempts).toEqual([0]);
  });

  it('and then turned away is made again after its pause, though the turn has been there all the time', async () => {
    const reports = new WatchedServer({
      start: (attempt) => (attempt === 1 ? { ...failedStart, retryAfterMs: 20_000 } : undefined),
    });
    const busy = aFlow(async (ctx) =>
      Promise.race([
        ctx.callRemoteTask({ server: 'reports', tool: 'export' }),
        ctx.step('work', async () => run.app.clock.delay(40_000), { timeout: { seconds: 45 } }),
      ]),
    );
    const run = await started(busy, { reports });
    const { deps, clock } = run.app;
    const admit = async (): Promise<Admission> => {
      const nowMs = clock.nowMs();
      if (nowMs >= startMs + 10_000) return { kind: 'admitted', leave: async () => undefined };
      return { kind: 'held', error: unreachable, untilMs: nowMs + 5_000 };
    };
    const transports = { get: () => Object.assign(reports, { admit }) };
    const turn = runTurn({ ...deps, transports }, { runId: run.runId }, { remainingMs: () => 120_000 });
    await withTimePassing(run.app, turn);
    expect(reports.startedAtMs).toEqual([10_000, 30_000]);
  });

  it('ends at the deadline of its call', async () => {
    const reports = new WatchedServer({ start: () => failedStart });
    const limits = { breaker: { failures: 1 } };
    const app = anAppWith(limits, { reports });
    const runId = await app.start(short);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    expect(await endedAfterMs({ app, runId })).toBe(60_000);
    expect(reports.startedAtMs).toHaveLength(2);
  });
});

const short = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { minutes: 1 } }));

function anAppWith(limits: ServerLimits, servers: Readonly<Record<string, ScriptedServer>>): TestApp {
  const config = { url: 'https://reports.example.com/mcp' };
  const app = defineApp({
    workflows: [short],
    servers: { reports: mcpServer({ ...config, limits }), other: mcpServer(config) },
  });
  return createTestApp(app, { servers });
}

describe('a read on a server that is left alone', () => {
  it('GB-29: is put off and does not count as one that failed', async () => {
    const reads: { isBack: boolean } = { isBack: false };
    const reports = new WatchedServer({
      task: { after: { seconds: 1 }, result: 'done' },
      read: () => (reads.isBack ? undefined : failedRead),
    });
    const { app, runId } = await started(exporting, { reports });
    const runIds = [runId, ...(await Promise.all(Array.from({ length: 19 }, () => app.start(exporting, null))))];
    await app.pass({ seconds: 6 });
    expect(reports.reads).toBeGreaterThanOrEqual(10);
    const readBefore = reports.reads;
    await app.pass({ seconds: 20 });
    expect(reports.reads).toBe(readBefore);
    const tokens = await Promise.all(runIds.map((id) => app.deps.store.tokens.read(id, '1')));
    expect(tokens.map((token) => token?.pollErrors ?? -1).every((errors) => errors <= 1)).toBe(true);
    reads.isBack = true;
    // Reads come before the next sweep.
    await app.pass({ seconds: 20 });
    expect(reports.reads).toBeGreaterThan(readBefore);
    for (const id of runIds) expect(await app.runToEnd(id)).toEqual({ status: 'completed', result: 'done' });
  });
});

/** A server whose connections hang until the client gives up. */
class HungServer extends ScriptedServer {
  hung = 0;
  #delay: (ms: number) => Promise<void> = async () => undefined;

  constructor() {
    super({ protocol: 'mcp', task: () => ({ never: true }) });
  }

  hangsOn(delay: (ms: number) => Promise<void>): void {
    this.#delay = delay;
  }

  override async start(): Promise<StartReply> {
    this.hung++;
    await this.#delay(30_000);
    return { kind: 'unknown', error: unreachable };
  }
}

/** Runs a fleet with at most `slots` turns and workers at a time, on the clock of the test. */
async function work(app: TestApp, slots: number, isDone: () => Promise<boolean>): Promise<void> {
  const { queues } = app.deps;
  if (!(queues instanceof MemoryQueues)) throw new Error('the queues of a test are in memory');
  const clock: Clock = app.clock;
  const busy = new Set<Promise<void>>();
  const begin = (job: Promise<void>): void => {
    const done = job.finally(() => busy.delete(done));
    busy.add(done);
  };
  let sweptAtMs = clock.nowMs();
  while (!(await isDone())) {
    let began = 0;
    if (clock.nowMs() - sweptAtMs >= 60_000) {
      sweptAtMs = clock.nowMs();
      await fanOutDue(app.deps);
    }
    for (const message of queues.turn.receive(Math.min(10, slots - busy.size))) {
      began++;
      const endsAtMs = clock.nowMs() + 60_000;
      const turn = runTurn(app.deps, JSON.parse(message.body) as TurnMessage, {
        remainingMs: () => endsAtMs - clock.nowMs(),
      });
      begin(turn.then(() => void queues.turn.deleteMessage(message.receiptHandle)));
    }
    for (const message of queues.work.receive(10)) {
      began++;
      begin(
        handleWork(app.deps, JSON.parse(message.body) as WorkMessage).then(
          () => void queues.work.deleteMessage(message.receiptHandle),
        ),
      );
    }
    for (let round = 0; round < 20; round++) await eventLoop();
    const nextAtMs = [sweptAtMs + 60_000, queues.nextChangeAtMs(), app.clock.nextDelayAtMs()];
    // A message that finds no slot waits for a turn to end.
    const later = nextAtMs.filter((atMs) => atMs !== undefined && atMs > clock.nowMs()) as number[];
    if (began === 0) app.clock.moveTo(Math.min(...later));
  }
}

describe('a server that hangs', () => {
  it('GB-29, K7: does not keep the runs of other servers from their turns', async () => {
    const reports = new HungServer();
    const other = new WatchedServer({ task: { result: 'done' } });
    const healthy = aFlow(async (ctx) => (await ctx.callRemoteTask({ server: 'other', tool: 'export' })).result);
    const config = { url: 'https://reports.example.com/mcp' };
    const hangs = { ...exporting, name: 'hangs' };
    const app = createTestApp(
      defineApp({ workflows: [healthy, hangs], servers: { reports: mcpServer(config), other: mcpServer(config) } }),
      { servers: { reports, other } },
    );
    reports.hangsOn((ms) => app.clock.delay(ms));
    for (let count = 0; count < 100; count++) await app.start(hangs, null);
    const runIds = await Promise.all(Array.from({ length: 10 }, () => app.start(healthy, null)));
    const ended = async (): Promise<readonly (number | undefined)[]> =>
      Promise.all(runIds.map(async (runId) => (await app.show(runId)).endedAtMs));
    await work(app, 16, async () => (await ended()).every((endedAtMs) => endedAtMs !== undefined));
    const lastMs = Math.max(...(await ended()).map((endedAtMs) => (endedAtMs ?? Infinity) - startMs));
    // The last of 16 turns would begin after three minutes if each hung for 30 s.
    expect(lastMs).toBeLessThanOrEqual(10_000);
    expect(reports.hung).toBe(8);
    const twoMinutes = startMs + 120_000;
    await work(app, 16, async () => app.clock.nowMs() >= twoMinutes);
    // Two groups of eight hung before ten calls had failed; since then one probe at a time is sent.
    expect(reports.hung).toBeLessThanOrEqual(19);
    const { servers } = await listServers(app.deps);
    expect(servers.map(({ name }) => name)).toEqual(['other', 'reports']);
    expect(servers[0]?.state).toBe('ok');
    expect(['left_alone', 'probing']).toContain(servers[1]?.state);
  });
});
