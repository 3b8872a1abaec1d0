import { a2aAgent, defineApp, defineWorkflow, mcpServer, type RemoteCall } from 'outwait';
import { createTestApp, type ScriptedTask, type TestApp } from 'outwait/testing';
import { ScriptedServer } from '../../../lib/testing/scripted-server.js';
import { expect, test } from 'vitest';
import { listRemoteTasks } from '../../../lib/operations/views/list-remote-tasks.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { throttled } from '../../engine/host.js';
import { withTimePassing } from '../../engine/support.js';
import type { CancelReply, FindReply, PollReply, StartReply, StartRequest } from '../../../lib/remote/transport.js';

// Remote tasks that the server does not know, and those that are no longer waited for.

const missing: PollReply = { kind: 'missing', error: { code: 'REMOTE_UNREACHABLE', message: 'Task not found' } };

class Server extends ScriptedServer {
  readonly #read: ((read: number) => PollReply | undefined) | undefined;

  constructor(task: ScriptedTask, read?: (read: number) => PollReply | undefined) {
    super({ protocol: 'mcp', dedupes: false, finds: true, task: () => task });
    this.#read = read;
  }

  override async get(handle: Parameters<ScriptedServer['get']>[0]): Promise<PollReply> {
    const scripted = await super.get(handle);
    return this.#read?.(this.reads) ?? scripted;
  }
}

async function calling(reports: ScriptedServer, call: object = {}): Promise<{ app: TestApp; runId: string }> {
  const flow = defineWorkflow({
    name: 'flow',
    run: async (ctx) => {
      const asked = { server: 'reports', tool: 'export', timeout: { hours: 6 }, ...call } as RemoteCall;
      return ctx.callRemoteTask(asked).then(
        ({ result }) => result,
        (error: unknown) => (error as { readonly code?: unknown }).code,
      );
    },
  });
  const servers = {
    reports: mcpServer({ url: 'https://reports.example.com/mcp' }),
    supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }),
  };
  const app = createTestApp(defineApp({ workflows: [flow], servers }), { servers: { reports } });
  return { app, runId: await app.start(flow, null) };
}

test('sightings in a row: a state in between makes the server known again', async () => {
  const { app, runId } = await calling(
    new Server({ after: { hours: 2 }, result: 'rows' }, (read) =>
      read > 30 ? undefined : read % 3 === 0 ? { kind: 'working', state: 'working' } : missing,
    ),
  );
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
});

test('sightings in a row: three of them, and no more, end the wait', async () => {
  const reports = new Server({ never: true }, () => missing);
  const { app, runId } = await calling(reports);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'REMOTE_TASK_LOST' });
  expect(reports.reads).toBe(16);
});

test('time to live by our own clock: a task has not expired before it has lived so long', async () => {
  const task: ScriptedTask = { after: { hours: 1 }, result: 'rows', ttl: { hours: 3 } };
  const { app, runId } = await calling(new Server(task, (read) => (read <= 2 ? missing : undefined)));
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
});

test('grace: a server whose replicas lag has not lost the task that it has just made', async () => {
  const task: ScriptedTask = { after: { hours: 1 }, result: 'rows', knownFrom: { seconds: 60 } };
  const { app, runId } = await calling(new Server(task));
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
});

test('policy: a task that its call leaves is not cancelled, and is on the list of orphans', async () => {
  const reports = new Server({ never: true });
  const { app, runId } = await calling(reports, { onTimeout: 'leave' });
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'REMOTE_TASK_TIMED_OUT' });
  expect(reports.cancels).toBe(0);
  expect((await app.deps.store.lists.orphans(10)).rows).toEqual([{ runId, waitId: '1' }]);
});

test('found only without handle: a task that is found does not replace the one that the reply to the start named', async () => {
  // The reply reaches the table through another owner, while this one looks and finds something else.
  class Confused extends Server {
    override async find(): Promise<FindReply> {
      const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 'task-1' } as const;
      const nowMs = app.clock.nowMs();
      await app.deps.store.starts.storeHandle(runId, '1', { handle, startedAtMs: nowMs, dueAtMs: nowMs + 5_000 });
      return { kind: 'found', handle: { ...handle, taskId: 'task-of-another-call' } };
    }
  }
  const reports = new Confused({ after: { hours: 1 }, result: 'rows', lostReplies: 1 });
  const { app, runId } = await calling(reports);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
  expect(reports.cancels).toBe(0);
});

/** A server whose starts wait until `thaw`. With `cancelsFail` it answers the first cancels with 503. */
class FrozenServer extends ScriptedServer {
  thaw: () => void = () => undefined;
  /** Resolves when a start waits. */
  readonly frozen: Promise<void>;
  readonly #thawed = new Promise<void>((resolve) => (this.thaw = resolve));
  readonly #cancelsFail: boolean;
  #isFrozen: () => void = () => undefined;

  constructor({ cancelsFail }: { readonly cancelsFail: boolean }) {
    super({ protocol: 'mcp', dedupes: false, task: () => ({ never: true }) });
    this.#cancelsFail = cancelsFail;
    this.frozen = new Promise<void>((resolve) => (this.#isFrozen = resolve));
  }

  override async start(request: StartRequest): Promise<StartReply> {
    this.#isFrozen();
    await this.#thawed;
    return super.start(request);
  }

  override async cancel(handle: Parameters<ScriptedServer['cancel']>[0]): Promise<CancelReply> {
    const reply = await super.cancel(handle);
    if (!this.#cancelsFail || this.cancels > 1) return reply;
    return { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'status 503' } };
  }
}

test('F06 marker that was read: the handle that a frozen start leaves later is not without one', async () => {
  await handleLeftDuringEndEffects(1_000);
});

test('F06 marker that was read: the handle that a frozen start leaves in the same millisecond is not without one', async () => {
  await handleLeftDuringEndEffects(0);
});

async function handleLeftDuringEndEffects(laterMs: number): Promise<void> {
  // Another owner ends the run while the start is in progress, and its end effects have read the token without a
  // handle.
  const reports = new FrozenServer({ cancelsFail: true });
  const { app, runId } = await calling(reports);
  const { store } = app.deps;
  const limits = { remainingMs: () => 60_000 };
  const turn = runTurn(app.deps, { runId }, limits);
  await reports.frozen;
  await requestStop(app.deps, { runId, kind: 'terminate' });
  const clearTokenMarker = store.tokens.clearMarker.bind(store.tokens);
  store.tokens.clearMarker = async (...given) => {
    store.tokens.clearMarker = clearTokenMarker;
    app.clock.moveTo(app.clock.nowMs() + laterMs);
    reports.thaw();
    await turn;
    return clearTokenMarker(...given);
  };
  await runTurn(app.deps, { runId }, limits);
  expect(await store.tokens.read(runId, '1')).toMatchObject({
    handle: { taskId: 'task-1' },
    dueAtMs: app.clock.nowMs(),
  });

  await app.pass({ minutes: 5 });
  expect(reports.cancels).toBe(2);
  expect((await store.tokens.read(runId, '1'))?.dueAtMs).toBeUndefined();
  expect((await store.heads.read(runId))?.dueAtMs).toBeUndefined();
  expect((await listRemoteTasks(app.deps, { orphaned: true, limit: 10 })).tasks).toEqual([]);
}

test('handle that is left after the call was told to be ambiguous: its task is cancelled, or listed', async () => {
  const reports = new FrozenServer({ cancelsFail: true });
  const { app, runId } = await calling(reports);
  const limits = { remainingMs: () => 60_000 };
  const turn = runTurn(app.deps, { runId }, limits);
  await reports.frozen;
  // Another owner finds the item without a handle, and cannot ask the server.
  await runTurn(app.deps, { runId }, limits);
  reports.thaw();
  await turn;
  await app.pass({ minutes: 5 });
  expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(reports.cancels).toBe(2);
  expect((await app.deps.store.tokens.read(runId, '1'))?.dueAtMs).toBeUndefined();
});

const ends = ['terminated', 'open'] as const;

test.each(ends)('F06 handle of a start that was frozen beyond its time is tried again: the run is %s', async (end) => {
  let remainingMs = 60_000;
  const reports = new FrozenServer({ cancelsFail: false });
  const { app, runId } = await calling(reports, { onCancel: 'leave' });
  const refused: string[] = [];
  const deps = throttled(app.deps, ({ method }) => {
    const isFirst =
      (method === 'unwantedTasks.leaveHandle' || method === 'starts.storeHandle') && !refused.includes(method);
    if (isFirst) refused.push(method);
    return isFirst;
  });
  const turn = runTurn(deps, { runId }, { remainingMs: () => remainingMs });
  await reports.frozen;
  if (end === 'terminated') {
    await requestStop(app.deps, { runId, kind: 'terminate' });
    await runTurn(app.deps, { runId }, { remainingMs: () => 60_000 });
  }
  remainingMs = -900_000;
  reports.thaw();
  await withTimePassing(app, turn);
  expect(refused).not.toEqual([]);
  expect(await app.deps.store.tokens.read(runId, '1')).toMatchObject({ handle: { taskId: 'task-1' } });
});
