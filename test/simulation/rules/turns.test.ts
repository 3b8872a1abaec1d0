import { setImmediate as eventLoop } from 'node:timers/promises';
import { createTestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { cancelReserveMs, startReserveMs, turnReserveMs } from '../../../lib/base/limits.js';
import type { HistoryEvent } from '../../../lib/history/event.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { afterEnd } from '../../../lib/operations/turn/end-run.js';
import { loadRareParts } from '../../../lib/operations/turn/load-rare-parts.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { requestControl } from '../../../lib/operations/requests/control-run.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { RunStore } from '../../../lib/store/run-store.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import type { ServerTraits, StartReply } from '../../../lib/remote/transport.js';
import type { WorkflowContext } from '../../../lib/workflow/context.js';
import { aFlow, anApp, startMs, WatchedServer } from '../../engine/support.js';
import { outsideInParallel } from '../../../lib/operations/turn/begin.js';

// Loading a module later would take more rounds of the event loop than a test waits for.
await loadRareParts();

// Single turns: what one begins, what it leaves to the next, and which markers and messages it leaves behind.

/** A run of which only the turns that a test makes happen. Times are in seconds. */
class Turns {
  nowS = 0;
  /** Writes that were applied. */
  writes = 0;
  readonly sent: string[] = [];
  readonly reports: WatchedServer;
  readonly store = new RunStore(new SealedTable(new MemoryTable({ onApplied: () => (this.writes += 1) })));
  runId = '';
  readonly deps: Deps;

  constructor(run: (ctx: WorkflowContext) => Promise<unknown>, reports = new WatchedServer()) {
    this.reports = reports;
    const { deps } = createTestApp(anApp(aFlow(run)), { servers: { reports: this.reports } });
    const { warmRuns: _, ...cold } = deps;
    this.deps = {
      ...cold,
      store: this.store,
      clock: { nowMs: () => startMs + this.nowS * 1_000 },
      queues: {
        sendTurn: async () => void this.sent.push('wake'),
        sendWork: async (message, delayMs) => void this.sent.push(`${message.kind} in ${delayMs / 1_000}`),
        sendStep: async () => undefined,
        sendStart: async () => undefined,
      },
    };
  }

  static async of(run: (ctx: WorkflowContext) => Promise<unknown>, reports?: WatchedServer): Promise<Turns> {
    const turns = new Turns(run, reports);
    const { runId } = await startRun(turns.deps, { workflow: 'flow', key: 'k' });
    turns.runId = runId;
    turns.sent.length = 0;
    return turns;
  }

  async turn(remainingMs = 60_000, deliveryCount = 1): Promise<void> {
    this.sent.length = 0;
    await runTurn(this.deps, { runId: this.runId }, { remainingMs: () => remainingMs, deliveryCount });
  }

  async types(): Promise<readonly HistoryEvent['type'][]> {
    const records = await this.store.runs.read(this.runId);
    return (records?.commits ?? []).flatMap(({ events }) => events.map(({ type }) => type));
  }

  /** Returns the markers of the run: whose they are, and for when. */
  async due(): Promise<readonly string[]> {
    const shard = Number.parseInt(this.runId.slice(0, 4), 16) % 16;
    const { rows } = await this.store.lists.due(shard, Number.MAX_SAFE_INTEGER, 100);
    return rows.map(({ kind, dueAtMs }) => `${kind} ${(dueAtMs - startMs) / 1_000}`).sort();
  }
}
const messageOf = (error: unknown): string => (error as Error).message;
const call = async (ctx: WorkflowContext) =>
  ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } });

test('too little time for a start: none is begun, and another turn is asked for', async () => {
  const scene = await Turns.of(call);
  await scene.turn(startReserveMs - 1);
  expect(scene.reports.startedAtMs).toEqual([]);
  expect(scene.sent).toEqual(['wake']);
  expect(await scene.due()).toEqual(['run 0']);
  await scene.turn(startReserveMs);
  expect(scene.reports.startedAtMs).toHaveLength(1);
});

test('too little time for a step: none is begun, and another turn is asked for', async () => {
  let ran = 0;
  const scene = await Turns.of(async (ctx) => ctx.step('s', () => ++ran, { timeout: { seconds: 20 } }));
  await scene.turn(20_000 + turnReserveMs - 1);
  expect([ran, scene.sent, await scene.due()]).toEqual([0, ['wake'], ['run 0']]);
  await scene.turn(20_000 + turnReserveMs);
  expect(ran).toBe(1);
});

test('too little time for a cancel: the task of a run that ended is left to another turn, and its markers stand', async () => {
  const scene = await Turns.of(call);
  await scene.turn();
  await requestStop(scene.deps, { runId: scene.runId, kind: 'terminate', requestId: 't' });
  await scene.turn(cancelReserveMs - 1);
  expect(await scene.types()).toContain('RunEnded');
  expect([scene.reports.cancels, (await scene.due()).map((entry) => entry.split(' ')[0])]).toEqual([
    0,
    ['run', 'token'],
  ]);
  await scene.turn(cancelReserveMs);
  expect([scene.reports.cancels, await scene.due()]).toEqual([1, []]);
});

test('task of somebody else whose take-over was cut off: the end of the run starts nothing to find it', async () => {
  const scene = await Turns.of(async (ctx) =>
    ctx.attachRemoteTask({ server: 'reports', taskId: 'theirs', timeout: { hours: 1 }, onCancel: 'cancel' }),
  );
  scene.reports.adopt = async () => Promise.reject(new Error('died'));
  const dying: Deps = { ...scene.deps, transports: { get: () => scene.reports } };
  await expect(runTurn(dying, { runId: scene.runId }, { remainingMs: () => 60_000 })).rejects.toThrow('died');
  await requestStop(scene.deps, { runId: scene.runId, kind: 'terminate', requestId: 't' });
  await scene.turn();
  expect(await scene.types()).toContain('RunEnded');
  expect([scene.reports.startedAtMs, await scene.due()]).toEqual([[], []]);
});

test('careful after a delivery that was lost: steps are recorded before they run, and run one at a time', async () => {
  let running = 0;
  let most = 0;
  const scene = await Turns.of(async (ctx) =>
    Promise.all(
      ['a', 'b', 'c'].map(async (name) =>
        ctx.step(name, async () => {
          most = Math.max(most, ++running);
          await eventLoop();
          running--;
        }),
      ),
    ),
  );
  await scene.turn(60_000, 2);
  expect(most).toBe(1);
  expect((await scene.types()).filter((type) => type === 'StepStarted')).toHaveLength(3);
});

test('outside at a time: sixteen starts of one turn, and no more', async () => {
  let running = 0;
  let most = 0;
  const scene = await Turns.of(async (ctx) => Promise.all(Array.from({ length: 40 }, async () => call(ctx))));
  const transport = scene.reports.start.bind(scene.reports);
  scene.reports.start = async (request) => {
    most = Math.max(most, ++running);
    await eventLoop();
    running--;
    return transport(request);
  };
  const { reports } = scene;
  await runTurn(
    { ...scene.deps, transports: { get: () => reports } },
    { runId: scene.runId },
    { remainingMs: () => 60_000 },
  );
  expect([most, reports.startedAtMs.length]).toEqual([outsideInParallel, 40]);
});

test('message ahead of time: for an instant within 90 s, later ones are the sweep’s', async () => {
  for (const [seconds, sent] of [
    [90, ['wake in 90']],
    [91, []],
  ] as const) {
    const scene = await Turns.of(async (ctx) => ctx.sleep({ seconds }));
    await scene.turn();
    expect(scene.sent).toEqual(sent);
    expect(await scene.due()).toEqual([`run ${seconds}`]);
  }
});

test('turn that finds nothing to do: it writes nothing', async () => {
  const scene = await Turns.of(async (ctx) => ctx.sleep({ minutes: 30 }));
  await scene.turn();
  const { writes } = scene;
  await scene.turn();
  expect(scene.writes).toBe(writes);
});

test('paused: the head alone has a marker, and a turn that comes meanwhile takes nothing in', async () => {
  const scene = await Turns.of(async (ctx) => {
    const { outcome } = await ctx.externalToken({ name: 'work' });
    return [await outcome, await ctx.signal('go')];
  });
  await scene.turn();
  await requestControl(scene.deps, scene.runId, 'pause');
  await signalRun(scene.deps, scene.runId, { name: 'go', key: 'k' });
  const outcome = { kind: 'completed', result: 1, isError: false } as const;
  await scene.store.tokens.settle(scene.runId, '1', { writerId: 's', atMs: startMs, by: 'relay', outcome });
  await scene.turn();
  expect(await scene.due()).toEqual([`run ${24 * 3600}`]);
  const types = await scene.types();
  await scene.turn();
  expect(await scene.types()).toEqual(types);
  expect(types).not.toContain('SignalReceived');
  await requestControl(scene.deps, scene.runId, 'resume');
  await scene.turn();
  expect(await scene.types()).toContain('RunEnded');
  expect(await scene.due()).toEqual([]);
});

test('blocked: the head alone has a marker, and what has come is taken in after the deploy', async () => {
  const scene = await Turns.of(async (ctx) => {
    const { outcome } = await ctx.externalToken({ name: 'work' });
    return [await outcome, await ctx.signal('go')];
  });
  await scene.turn();
  await signalRun(scene.deps, scene.runId, { name: 'go', key: 'k' });
  const outcome = { kind: 'completed', result: 1, isError: false } as const;
  await scene.store.tokens.settle(scene.runId, '1', { writerId: 's', atMs: startMs, by: 'relay', outcome });
  const other = { ...scene.deps, app: anApp(aFlow(async (ctx) => ctx.step('another', () => 1))) };
  await runTurn(other, { runId: scene.runId }, { remainingMs: () => 60_000 });
  expect(await scene.due()).toEqual(['run 60']);
  await scene.turn();
  expect(await scene.types()).toContain('RunEnded');
});

test('end effects only of a run that has ended', async () => {
  const scene = await Turns.of(async (ctx) => ctx.sleep({ minutes: 30 }));
  await scene.turn();
  const { writes } = scene;
  const effects = async (runId: string) => afterEnd(scene.deps, runId, { remainingMs: () => 60_000 }).catch(messageOf);
  expect([await effects(scene.runId), await effects('00'.repeat(16))]).toEqual([undefined, undefined]);
  expect([scene.writes, await scene.due()]).toEqual([writes, ['run 1800']]);
});

/** Returns the log of a run that is blocked by a misuse while `work` is running, which ends only then. */
async function blockedDuring(
  work: (ctx: WorkflowContext, blocked: Promise<void>) => Promise<unknown>,
  reports?: (blocked: Promise<void>) => WatchedServer,
): Promise<readonly HistoryEvent['type'][]> {
  let block = (): void => undefined;
  const blocked = new Promise<void>((resolve) => {
    block = resolve;
  });
  const scene = await Turns.of(
    async (ctx) =>
      Promise.all([
        work(ctx, blocked),
        ctx.step('misuse', async () => {
          await ctx.sleep({ seconds: 1 }).catch(() => undefined);
          block();
        }),
      ]),
    reports?.(blocked),
  );
  await scene.turn();
  expect((await scene.store.heads.read(scene.runId))?.blocked?.code).toBe('WORKFLOW_STUCK');
  return scene.types();
}
/** Answers its starts with that reply, once the run is blocked. */
const answering =
  (reply: StartReply, traits: ServerTraits = { dedupes: true, finds: false }) =>
  (blocked: Promise<void>): WatchedServer => {
    const server = new WatchedServer({ start: () => reply, dedupes: traits.dedupes });
    const start = server.start.bind(server);
    server.start = async (request) => blocked.then(() => start(request));
    server.traits = async () => traits;
    return server;
  };
const trouble = { code: 'REMOTE_UNREACHABLE', message: 'no answer' } as const;

test('blocked in a turn: what its steps came to is in the log, and they do not run again', async () => {
  expect(await blockedDuring(async (ctx, blocked) => ctx.step('s', async () => blocked))).toContain('StepCompleted');
  const failing = async (ctx: WorkflowContext, blocked: Promise<void>, maxAttempts: number) =>
    ctx.step('s', async () => blocked.then(() => Promise.reject(new Error('no'))), { retry: { maxAttempts } });
  expect(await blockedDuring(async (ctx, blocked) => failing(ctx, blocked, 2))).toContain('StepAttemptFailed');
  expect(await blockedDuring(async (ctx, blocked) => failing(ctx, blocked, 1))).toContain('StepFailed');
});

test('blocked in a turn: what its starts came to is in the log', async () => {
  expect(await blockedDuring(call, answering({ kind: 'retry', error: trouble }))).toContain('RemoteTaskStartFailed');
  const lost = answering({ kind: 'unknown', error: trouble }, { dedupes: false, finds: true });
  expect(await blockedDuring(call, lost)).toContain('RemoteTaskStartLost');
  const asks = answering({ kind: 'asked', questions: [{ key: 'q', kind: 'form', message: 'Release?' }] });
  const askable = async (ctx: WorkflowContext) =>
    ctx.callRemoteTask({ server: 'reports', tool: 'export', onInput: () => ({ action: 'accept' }) });
  expect(await blockedDuring(askable, asks)).toContain('RemoteTaskStartAsked');
});

test('block that is over is taken off the head, though the marker stays where it is', async () => {
  const scene = await Turns.of(async (ctx) => ctx.sleep({ seconds: 60 }));
  await scene.turn();
  const other = { ...scene.deps, app: anApp(aFlow(async (ctx) => ctx.step('another', () => 1))) };
  await runTurn(other, { runId: scene.runId }, { remainingMs: () => 60_000 });
  expect((await scene.store.heads.read(scene.runId))?.blocked?.code).toBe('NONDETERMINISM');
  await scene.turn();
  expect(await scene.store.heads.read(scene.runId)).toMatchObject({ dueAtMs: startMs + 60_000 });
  expect((await scene.store.heads.read(scene.runId))?.blocked).toBeUndefined();
});

test('pause, resume and pause again before a turn: the run rests, however often it is looked at', async () => {
  let ran = 0;
  const scene = await Turns.of(async (ctx) => ctx.step('s', () => ++ran));
  for (const kind of ['pause', 'resume', 'pause'] as const) {
    scene.nowS++;
    await requestControl(scene.deps, scene.runId, kind);
  }
  for (let turn = 0; turn < 3; turn++) {
    scene.nowS += 60;
    await scene.turn();
  }
  expect(ran).toBe(0);
});

test('too little time for one of two: the other one waits for its next attempt, and another turn is asked for', async () => {
  const scene = await Turns.of(async (ctx) =>
    Promise.all([
      ctx.step('long', () => 1, { timeout: { seconds: 40 } }),
      ctx.step('failing', () => Promise.reject(new Error('no')), {
        timeout: { seconds: 5 },
        retry: { initialInterval: { minutes: 10 }, maxInterval: { minutes: 10 } },
      }),
    ]),
  );
  await scene.turn(20_000);
  expect(await scene.types()).toContain('StepAttemptFailed');
  expect(scene.sent).toContain('wake');
});

test('too little time for one of two: the other one runs elsewhere, and another turn is asked for', async () => {
  const scene = await Turns.of(async (ctx) =>
    Promise.all([ctx.step('long', () => 1, { timeout: { seconds: 45 } }), call(ctx)]),
  );
  await scene.turn(startReserveMs);
  expect(scene.reports.startedAtMs).toHaveLength(1);
  expect(scene.sent).toContain('wake');
});

test('turn that is blocked during a start: it ends when that has, and the handle is stored', async () => {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const reports = new WatchedServer();
  const start = reports.start.bind(reports);
  reports.start = async (request) => answered.then(() => start(request));
  const scene = await Turns.of(
    async (ctx) => Promise.all([call(ctx), ctx.step('misuse', async () => ctx.sleep({ seconds: 1 }))]),
    reports,
  );
  let isOver = false;
  const turn = scene.turn().then(() => {
    isOver = true;
  });
  for (let round = 0; round < 20; round++) await eventLoop();
  expect(isOver).toBe(false);
  // The result of the start is in the log before the head says that the run is blocked.
  expect((await scene.store.heads.read(scene.runId))?.blocked).toBeUndefined();
  answer();
  await turn;
  expect((await scene.store.heads.read(scene.runId))?.blocked?.code).toBe('WORKFLOW_STUCK');
  expect((await scene.store.tokens.read(scene.runId, '1'))?.handle).toMatchObject({ server: 'reports' });
});

test('turn that is blocked during a step: what the step gives is in the log, and it is not run again', async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const scene = await Turns.of(async (ctx) =>
    Promise.all([
      ctx.step('slow', async () => finished.then(() => 'done')),
      ctx.step('misuse', async () => ctx.sleep({ seconds: 1 })),
    ]),
  );
  const turn = scene.turn();
  for (let round = 0; round < 20; round++) await eventLoop();
  finish();
  await turn;
  expect((await scene.store.heads.read(scene.runId))?.blocked?.code).toBe('WORKFLOW_STUCK');
  const { commits = [] } = (await scene.store.runs.read(scene.runId)) ?? {};
  expect(commits.flatMap(({ events }) => events)).toContainEqual(
    expect.objectContaining({ type: 'StepCompleted', waitId: '1', result: 'done' }),
  );
});
