import { a2aAgent, defineApp, defineWorkflow, mcpServer, type RemoteCall } from 'outwait';
import { createTestApp, ScriptedServer, type ScriptedTask, type TestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { EngineError } from '../../lib/base/errors.js';
import { listRemoteTasks } from '../../lib/operations/remote-tasks.js';
import { runTurn } from '../../lib/operations/run-turn.js';
import { requestStop } from '../../lib/operations/send-to-inbox.js';
import { withTimePassing } from '../engine/support.js';
import type { CancelReply, FindReply, PollReply, StartReply, StartRequest } from '../../lib/remote/transport.js';

// Remote tasks that nobody knows, and those that nobody waits for any more.

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
  expect((await app.deps.store.listOrphans(10)).rows).toEqual([{ runId, waitId: '1' }]);
});

test('found only without handle: a task that is found does not replace the one that the reply to the start named', async () => {
  // The reply reaches the table through another owner, while this one looks, and finds something else.
  class Confused extends Server {
    override async find(): Promise<FindReply> {
      const handle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 'task-1' } as const;
      const nowMs = app.clock.nowMs();
      await app.deps.store.storeHandle(runId, '1', { handle, startedAtMs: nowMs, dueAtMs: nowMs + 5_000 });
      return { kind: 'found', handle: { ...handle, taskId: 'task-of-another-call' } };
    }
  }
  const reports = new Confused({ after: { hours: 1 }, result: 'rows', lostReplies: 1 });
  const { app, runId } = await calling(reports);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
  expect(reports.cancels).toBe(0);
});

test('F06 marker that was read: the handle that a frozen start leaves later is not without one', async () => {
  await handleLeftDuringEndEffects(1_000);
});

test('F06 marker that was read: the handle that a frozen start leaves in the same millisecond is not without one', async () => {
  await handleLeftDuringEndEffects(0);
});

async function handleLeftDuringEndEffects(laterMs: number): Promise<void> {
  // Another owner ends the run while the start is under way, and its end effects have read the token without a handle.
  let started: () => void = () => undefined;
  const isStarted = new Promise<void>((resolve) => (started = resolve));
  let answer: () => void = () => undefined;
  const isAnswered = new Promise<void>((resolve) => (answer = resolve));
  class Slow extends ScriptedServer {
    constructor() {
      super({ protocol: 'mcp', dedupes: false, task: () => ({ never: true }) });
    }
    override async start(request: StartRequest): Promise<StartReply> {
      started();
      await isAnswered;
      return super.start(request);
    }
    override async cancel(handle: Parameters<ScriptedServer['cancel']>[0]): Promise<CancelReply> {
      const reply = await super.cancel(handle);
      if (this.cancels > 1) return reply;
      return { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'status 503' } };
    }
  }
  const reports = new Slow();
  const { app, runId } = await calling(reports);
  const { store } = app.deps;
  const limits = { remainingMs: () => 60_000 };
  const frozen = runTurn(app.deps, { runId }, limits);
  await isStarted;
  await requestStop(app.deps, { runId, kind: 'terminate' });
  const clearTokenMarker = store.clearTokenMarker.bind(store);
  store.clearTokenMarker = async (...given) => {
    store.clearTokenMarker = clearTokenMarker;
    app.clock.moveTo(app.clock.nowMs() + laterMs);
    answer();
    await frozen;
    return clearTokenMarker(...given);
  };
  await runTurn(app.deps, { runId }, limits);
  expect(await store.readToken(runId, '1')).toMatchObject({ handle: { taskId: 'task-1' }, dueAtMs: app.clock.nowMs() });

  await app.pass({ minutes: 5 });
  expect(reports.cancels).toBe(2);
  expect((await store.readToken(runId, '1'))?.dueAtMs).toBeUndefined();
  expect((await store.readHead(runId))?.dueAtMs).toBeUndefined();
  expect((await listRemoteTasks(app.deps, { orphaned: true, limit: 10 })).tasks).toEqual([]);
}

test('handle that is left after the call was told to be ambiguous: its task is cancelled, or listed', async () => {
  let isFrozen: () => void = () => undefined;
  const frozen = new Promise<void>((resolve) => (isFrozen = resolve));
  let thaw: () => void = () => undefined;
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  class Slow extends ScriptedServer {
    override async start(request: StartRequest): Promise<StartReply> {
      isFrozen();
      await thawed;
      return super.start(request);
    }
    override async cancel(handle: Parameters<ScriptedServer['cancel']>[0]): Promise<CancelReply> {
      const reply = await super.cancel(handle);
      if (this.cancels > 1) return reply;
      return { kind: 'retry', error: { code: 'REMOTE_UNREACHABLE', message: 'status 503' } };
    }
  }
  const reports = new Slow({ protocol: 'mcp', dedupes: false, task: () => ({ never: true }) });
  const { app, runId } = await calling(reports);
  const limits = { remainingMs: () => 60_000 };
  const turn = runTurn(app.deps, { runId }, limits);
  await frozen;
  // Another owner finds the item without a handle, and nobody to ask.
  await runTurn(app.deps, { runId }, limits);
  thaw();
  await turn;
  await app.pass({ minutes: 5 });
  expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: 'REMOTE_START_AMBIGUOUS' });
  expect(reports.cancels).toBe(2);
  expect((await app.deps.store.readToken(runId, '1'))?.dueAtMs).toBeUndefined();
});

const ends = ['terminated', 'open'] as const;

test.each(ends)('F06 handle of a start that was frozen beyond its time is tried again: the run is %s', async (end) => {
  let remainingMs = 60_000;
  let isFrozen: () => void = () => undefined;
  const frozen = new Promise<void>((resolve) => (isFrozen = resolve));
  let thaw: () => void = () => undefined;
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  class Slow extends ScriptedServer {
    override async start(request: StartRequest): Promise<StartReply> {
      isFrozen();
      await thawed;
      return super.start(request);
    }
  }
  const reports = new Slow({ protocol: 'mcp', dedupes: false, task: () => ({ never: true }) });
  const { app, runId } = await calling(reports, { onCancel: 'leave' });
  const refused: string[] = [];
  const store = new Proxy(app.deps.store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        if ((name === 'leaveHandle' || name === 'storeHandle') && !refused.includes(name)) {
          refused.push(name);
          throw new EngineError('STORE_UNAVAILABLE', 'throttled');
        }
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
  const turn = runTurn({ ...app.deps, store }, { runId }, { remainingMs: () => remainingMs });
  await frozen;
  if (end === 'terminated') {
    await requestStop(app.deps, { runId, kind: 'terminate' });
    await runTurn(app.deps, { runId }, { remainingMs: () => 60_000 });
  }
  remainingMs = -900_000;
  thaw();
  await withTimePassing(app, turn);
  expect(refused).not.toEqual([]);
  expect(await app.deps.store.readToken(runId, '1')).toMatchObject({ handle: { taskId: 'task-1' } });
});
