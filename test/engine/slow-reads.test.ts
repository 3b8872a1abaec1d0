import { setImmediate as eventLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { PollMessage } from '../../lib/queue/queue.js';
import { pollTask } from '../../lib/operations/remote-task/poll-task.js';
import type { PollReply } from '../../lib/remote/transport.js';
import { aFlow, eventTypes, started, WatchedServer, type Started } from './support.js';

const flow = aFlow(
  async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } })).result,
);

/** A server whose reads are answered when the test says so. */
class SlowServer extends WatchedServer {
  readonly unanswered: ((reply: PollReply) => void)[] = [];

  override async get(): Promise<PollReply> {
    return new Promise((resolve) => this.unanswered.push(resolve));
  }
}

function completed(result: string): PollReply {
  return { kind: 'ended', end: { kind: 'completed', result, isError: false } };
}

async function waiting(): Promise<Started & { readonly reports: SlowServer; readonly poke: PollMessage }> {
  const reports = new SlowServer();
  const run = await started(flow, { reports });
  await run.app.settleDown();
  return { ...run, reports, poke: { kind: 'poll', runId: run.runId, waitId: '1', server: 'reports' } };
}

/** Lets a worker begin a read that takes so long that its claim runs out, unless another duration is given. */
async function begin({ app, reports, poke }: Awaited<ReturnType<typeof waiting>>, forMs = 90_000) {
  const before = reports.unanswered.length;
  const result = pollTask(app.deps, poke);
  while (reports.unanswered.length === before) await eventLoop();
  app.clock.moveTo(app.clock.nowMs() + forMs);
  const answer = reports.unanswered[before]!;
  return async (reply: PollReply) => {
    answer(reply);
    return result;
  };
}

describe('of two workers that read one task', () => {
  it('the first to see its end settles it, the other changes nothing (MCP-37, A2A-C14)', async () => {
    const run = await waiting();
    const [first, second] = [await begin(run), await begin(run)];
    expect(await second(completed('second'))).toBe('settled');
    expect(await first(completed('first'))).toBe('stale');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'second' });
    expect((await eventTypes(run)).filter((type) => type === 'TokenSettled')).toHaveLength(1);
  });

  it('one that still sees it working takes no end back (A2A-C13)', async () => {
    const run = await waiting();
    const [first, second] = [await begin(run), await begin(run)];
    expect(await second(completed('second'))).toBe('settled');
    const settled = await run.app.deps.store.tokens.read(run.runId, '1');
    expect(await first({ kind: 'working', state: 'working', pollAfterMs: 7_000 })).toBe('working');
    expect(await run.app.deps.store.tokens.read(run.runId, '1')).toEqual(settled);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'second' });
  });
});

describe('an end that is seen late settles nothing', () => {
  it('after the run was cancelled (MCP-38, A2A-C15)', async () => {
    const run = await waiting();
    const answer = await begin(run, 0);
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled' });
    expect(await answer(completed('late'))).toBe('stale');
    expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'cancelled' });
  });

  it('after the deadline (MCP-38, A2A-C15)', async () => {
    const run = await waiting();
    const answer = await begin(run);
    run.app.clock.moveTo(run.app.clock.nowMs() + 3_600_000);
    expect(await pollTask(run.app.deps, run.poke)).toBe('settled');
    expect(await answer(completed('late'))).toBe('stale');
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ error: { code: 'REMOTE_TASK_TIMED_OUT' } });
  });
});

it('a message that comes again after the settlement reads nothing, and its run goes on once (MCP-50, A2A-C55)', async () => {
  const run = await waiting();
  const answer = await begin(run);
  expect(await answer(completed('rows'))).toBe('settled');
  // Repeated as after a process that died before it had acknowledged the message.
  expect(await Promise.all([pollTask(run.app.deps, run.poke), pollTask(run.app.deps, run.poke)])).toEqual([
    'stale',
    'stale',
  ]);
  expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'rows' });
  expect(await pollTask(run.app.deps, run.poke)).toBe('stale');
  expect(run.reports.unanswered).toHaveLength(1);
  expect((await eventTypes(run)).filter((type) => type === 'TokenSettled')).toHaveLength(1);
});
