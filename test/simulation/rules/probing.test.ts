import { ScriptedServer } from '../../../lib/testing/scripted-server.js';
import { expect, test } from 'vitest';
import type { FindReply, ServerTraits } from '../../../lib/remote/transport.js';
import { Host, throttled } from '../../engine/host.js';
import { aFlow, endedAfterMs, eventTypes, started, type Started } from '../../engine/support.js';
import { call, play, type Scene } from './scene.js';

// A start of unknown fate at a server that must be asked to learn whether it can list its tasks.

const dead: Scene['script'] = [
  { who: 'turn 1', at: /t#1/, when: (world) => world.remote.tasks.length === 1, what: 'crash' },
];
const looksIn = (log: readonly { readonly type: string; readonly look?: number }[]) =>
  log.flatMap(({ type, look }) => (type === 'RemoteTaskStartLost' ? [look] : []));

test('F62 asked for by itself: the task of a process that died with its handle is found and waited for', async () => {
  const { world, outcome, log, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    tools: { r1: 300 },
    dedupes: false,
    finds: true,
    lists: 'perhaps',
    script: dead,
  });
  expect(outcome).toEqual({ status: 'completed', result: 'r1' });
  expect(world.remote.starts).toHaveLength(1);
  expect(looksIn(log)).toEqual([1]);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('F62 asked for by itself: a server that tells nobody what it has is asked once, and nothing is started again', async () => {
  const { world, outcome, log, endedAtS, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    finds: true,
    lists: 'never',
    script: [{ who: 'turn 1', at: 'start r1', what: 'noReply' }],
  });
  expect(outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(world.remote.starts).toHaveLength(1);
  expect(looksIn(log)).toEqual([1]);
  expect(endedAtS).toBeLessThan(10);
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('F62 asked for by itself: the task of a run that is cancelled meanwhile is found and cancelled (GB-05)', async () => {
  const { world, token, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    finds: true,
    lists: 'perhaps',
    callers: (world, runId) => {
      world.stopAt(1, runId, 'cancel', 'c1');
    },
    script: dead,
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(world.remote.tasks.map(({ cancelled }) => cancelled)).toEqual([true]);
  expect(token('1')?.cancel?.kind).toBe('sent');
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

test('F62 asked for by itself: a cancelled run does not wait for ever for a server that tells nobody what it has', async () => {
  const { token, outcome, violations, unplayed } = await play({
    run: async (ctx) => call(ctx, 'r1'),
    dedupes: false,
    finds: true,
    lists: 'never',
    callers: (world, runId) => {
      world.stopAt(1, runId, 'cancel', 'c1');
    },
    script: dead,
  });
  expect(outcome).toEqual({ status: 'cancelled' });
  expect(token('1')?.dueAtMs).toBeUndefined();
  expect(violations).toBe('');
  expect(unplayed).toEqual([]);
});

/** A server that answers no start, and a look as the test says. */
class Asked extends ScriptedServer {
  readonly #reply: FindReply | undefined;
  readonly #traits: Partial<ServerTraits>;

  constructor(traits: Partial<ServerTraits>, reply?: FindReply, lostReplies = 1) {
    super({ protocol: 'mcp', dedupes: false, task: () => ({ after: { minutes: 10 }, result: 'rows', lostReplies }) });
    this.#traits = traits;
    this.#reply = reply;
  }

  override async traits(): Promise<ServerTraits> {
    return { dedupes: false, finds: 'perhaps', ...this.#traits };
  }

  override async find(request: Parameters<ScriptedServer['find']>[0]): Promise<FindReply> {
    const scripted = await super.find(request);
    return this.#reply ?? scripted;
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

async function calling(reports: ScriptedServer, codes = false): Promise<Started> {
  const flow = aFlow(async (ctx) => {
    const came = ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 6 } });
    return codes ? came.then(({ result }) => result, codeOf) : (await came).result;
  });
  return started(flow, { reports });
}

const unknown = 'a task on "reports" may have been started, but its id is not known';

test('F62 asked for by itself: the error names what the server said of itself, and what would help', async () => {
  const error = {
    code: 'REMOTE_START_AMBIGUOUS',
    message: 'the agent lists no tasks: the server answered -32601',
  } as const;
  const reports = new Asked({ helps: 'an agent that lists its tasks' }, { kind: 'unsupported', error });
  const run = await calling(reports);
  expect(await run.app.runToEnd(run.runId)).toEqual({
    status: 'failed',
    error: {
      code: 'REMOTE_START_AMBIGUOUS',
      message: `${unknown} (${error.message}). It was not started again, since the server is not known to recognise a repeat. What helps: an agent that lists its tasks.`,
      details: { server: 'reports' },
    },
  });
  expect(await endedAfterMs(run)).toBe(2_000);
  expect([reports.starts.length, reports.looks]).toEqual([1, 1]);
  expect(await eventTypes(run)).toContain('RemoteTaskStartLost');
});

test('F62 asked for by itself: the error names what was looked through', async () => {
  const note = 'none of the tasks that the agent lists (7) shows the message of this start';
  const run = await calling(new Asked({}, { kind: 'none', note }));
  expect(await run.app.runToEnd(run.runId)).toMatchObject({
    error: {
      message: `${unknown} (${note}, asked 3 times). It was not started again, since a start may still be on its way.`,
    },
  });
  expect(await endedAfterMs(run)).toBe(40_000);
});

test('F62 not to be asked: the error names what would help', async () => {
  const reports = new Asked({ finds: false, helps: 'an agent that streams' });
  const run = await calling(reports);
  expect(await run.app.runToEnd(run.runId)).toMatchObject({
    error: {
      message: `${unknown} (no answer). It was not started again, since the server is not known to recognise a repeat. What helps: an agent that streams.`,
    },
  });
  expect(reports.looks).toBe(0);
});

test('F03, F62 handle that the store turns away: its task is cancelled where nobody knows that it would be found again', async () => {
  const reports = new Asked({}, undefined, 0);
  const run = await calling(reports, true);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'starts.storeHandle' && atS < 200);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'REMOTE_TASK_CANCELLED' });
  expect(reports.starts).toHaveLength(1);
  expect(reports.cancels).toBe(1);
});

test('F03, F62 handle that the store turns away: a task that was found is found again, and goes on', async () => {
  const reports = new Asked({}, undefined, 1);
  const run = await calling(reports, true);
  const deps = throttled(run.app.deps, ({ method, atS }) => method === 'starts.storeHandle' && atS < 200);
  await new Host(run, deps).toEnd();
  expect((await run.app.show(run.runId)).outcome).toEqual({ status: 'completed', result: 'rows' });
  expect([reports.starts.length, reports.cancels]).toEqual([1, 0]);
});
