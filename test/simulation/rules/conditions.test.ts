import { expect, test } from 'vitest';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { Question } from '../../../lib/history/question.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import type { InboxRecord, RunHead, Settlement, TokenRecord } from '../../../lib/history/records.js';
import { RunStore, type SettleGuard } from '../../../lib/store/run-store.js';

// The conditions of the protocol, clause by clause: what each write of the store refuses, and that a refused write
// changes nothing.

const runId = '00'.repeat(16);
const other = '10'.repeat(16);
const head: RunHead = {
  ...{ runId, workflow: 'flow', version: '1', status: 'running', seed: 's', createdAtMs: 1 },
  ...{ inboxCount: 0, dueSeq: 0, blocks: 0, dueAtMs: 1 },
};
const token: TokenRecord = {
  ...{ runId, waitId: '1', attempt: 1, writerId: 'w1', createdAtMs: 1, deadlineAtMs: 900, pollErrors: 0 },
};
const signal: InboxRecord = { runId, inboxId: 'signal-1', kind: 'signal', name: 'go', atMs: 1, dueAtMs: 1 };
const handle: RemoteTaskHandle = { server: 'reports', protocol: 'mcp', wire: 'scripted', taskId: 't1' };
const settlementOf = (writerId: string, atMs = 500): Settlement => ({
  ...{ writerId, atMs, by: 'poll', outcome: { kind: 'completed', result: writerId, isError: false } },
});
const commitOf = (seq: number, writerId: string) => ({
  ...{ seq, writerId },
  events: [{ type: 'TimerFired', atMs: 1, waitId: writerId.slice(1) } as const],
});

class Scene {
  /** Number of items that were written so far. */
  applied = 0;
  readonly store = new RunStore(
    new MemoryTable({
      onApplied: (items) => {
        this.applied += items.length;
      },
    }),
  );

  /** Returns the result of the write, and checks that it changes nothing. */
  async refused<Given>(write: Promise<Given>): Promise<Given> {
    const before = this.applied;
    const given = await write;
    expect(this.applied, 'expected nothing to be changed').toBe(before);
    return given;
  }

  async read(waitId = '1'): Promise<TokenRecord | undefined> {
    return this.store.tokens.read(runId, waitId);
  }

  async due(): Promise<readonly string[]> {
    const { rows } = await this.store.lists.due(0, 10_000, 100);
    return rows.map((row) => `${row.kind} ${row.dueAtMs}`).sort();
  }
}

/** Creates a scene with the token as it was put, and with the given changes. */
async function withToken(more: Partial<TokenRecord> = {}, settled?: number): Promise<Scene> {
  const scene = new Scene();
  await scene.store.tokens.put({ ...token, ...more });
  if (settled !== undefined) await scene.store.tokens.settle(runId, '1', settlementOf('s1', settled));
  return scene;
}
async function withHead(more: Partial<RunHead> = {}): Promise<Scene> {
  const scene = new Scene();
  await scene.store.heads.create({ ...head, ...more }, 'w1');
  return scene;
}

test('heads.create only if there is no head: the one that is there stands, and its own writer is told that it made it', async () => {
  const scene = await withHead();
  const again = { ...head, seed: 'another' };
  expect(await scene.refused(scene.store.heads.create(again, 'w2'))).toMatchObject({
    created: false,
    head: { seed: 's' },
  });
  expect(await scene.refused(scene.store.heads.create(again, 'w1'))).toMatchObject({
    created: true,
    head: { seed: 's' },
  });
});

test('heads.createWith only if neither is there: both are put or none', async () => {
  const scene = await withHead();
  expect(await scene.refused(scene.store.heads.createWith(head, 'w2', { signal }))).toMatchObject({ created: false });
  expect(await scene.refused(scene.store.heads.createWith(head, 'w1', { signal }))).toMatchObject({ created: true });
  const seeded = new Scene();
  await seeded.store.inbox.seed(signal);
  const refused = seeded.refused(seeded.store.heads.createWith(head, 'w1', { signal }));
  await expect(refused).rejects.toThrow('the store refused a put of absent items');
  const fresh = new Scene();
  expect(await fresh.store.heads.createWith(head, 'w1', { signal })).toMatchObject({ created: true });
  expect(await fresh.store.runs.read(runId)).toMatchObject({
    head: { inboxCount: 1 },
    inbox: [{ inboxId: 'signal-1' }],
  });
});

test('names.createRun only if the id points where it was seen to: head and id are written or neither', async () => {
  const scene = new Scene();
  const named = (id: string, generation: number, writerId = 'w1') =>
    scene.store.names.createRun({ ...head, runId: id }, writerId, { nameKey: 'n', generation });
  expect(await named(runId, 0)).toBe('created');
  expect(await scene.store.names.read('n')).toEqual({ runId, generation: 1 });
  expect(await scene.refused(named(other, 0))).toBe('moved');
  expect(await scene.refused(named(other, 2))).toBe('moved');
  expect(await scene.refused(named(runId, 1, 'w2'))).toBe('moved');
  expect(await scene.refused(named(runId, 1, 'w1'))).toBe('created');
  expect(await named(other, 1)).toBe('created');
  expect(await scene.store.names.read('n')).toEqual({ runId: other, generation: 2 });
});

test('inbox.seed only if it is not there, and without a marker of its own', async () => {
  const scene = new Scene();
  await scene.store.inbox.seed(signal);
  await scene.refused(scene.store.inbox.seed({ ...signal, atMs: 2 }));
  expect(await scene.store.inbox.readAll(runId)).toMatchObject([{ atMs: 1 }]);
  expect(await scene.due()).toEqual([]);
});

test('log.commit only if its number is free: its own writer is told that it is in the log', async () => {
  const scene = await withHead();
  expect(await scene.store.log.commit(runId, commitOf(1, 'w1'))).toBe(true);
  expect(await scene.refused(scene.store.log.commit(runId, commitOf(1, 'w2')))).toBe(false);
  expect(await scene.refused(scene.store.log.commit(runId, commitOf(1, 'w1')))).toBe(true);
  expect((await scene.store.runs.read(runId))?.commits).toHaveLength(1);
});

test('log.commitEnding only of a running run with the inbox as seen', async () => {
  const scene = await withHead({ inboxCount: 2 });
  expect(await scene.refused(scene.store.log.commitEnding(runId, commitOf(1, 'w1'), 1, { status: 'completed' }))).toBe(
    false,
  );
  expect(await scene.refused(scene.store.log.commitEnding(other, commitOf(1, 'w1'), 0, { status: 'completed' }))).toBe(
    false,
  );
  expect(await scene.store.log.commitEnding(runId, commitOf(1, 'w1'), 2, { status: 'completed' })).toBe(true);
  expect(await scene.store.heads.read(runId)).toMatchObject({ status: 'ending', dueSeq: 1 });
  expect(await scene.refused(scene.store.log.commitEnding(runId, commitOf(2, 'w2'), 2, { status: 'completed' }))).toBe(
    false,
  );
  expect(await scene.refused(scene.store.log.commitEnding(runId, commitOf(1, 'w1'), 2, { status: 'completed' }))).toBe(
    true,
  );
  expect(await scene.refused(scene.store.log.commitEnding(runId, commitOf(1, 'w2'), 2, { status: 'completed' }))).toBe(
    false,
  );
  const overtaken = await withHead();
  await overtaken.store.log.commit(runId, commitOf(1, 'w1'));
  expect(
    await overtaken.refused(overtaken.store.log.commitEnding(runId, commitOf(1, 'w2'), 0, { status: 'completed' })),
  ).toBe(false);
});

test('log.commitEnd only of a run that is as it was seen: it gives the head its last word', async () => {
  const scene = await withHead({ inboxCount: 2 });
  const end = (
    seq: number,
    seen: { status: 'running'; inboxCount: number } | { status: 'ending' },
    markAtMs?: number,
  ) =>
    scene.store.log.commitEnd(head, commitOf(seq, `w${seq}`), {
      ...{ outcome: { status: 'continued', nextRunId: other }, endedAtMs: 70, seen },
      ...(markAtMs === undefined ? {} : { markAtMs }),
    });
  expect(await scene.refused(end(1, { status: 'running', inboxCount: 1 }))).toBe(false);
  expect(await scene.refused(end(1, { status: 'ending' }))).toBe(false);
  const blocked = { seq: 0, dueAtMs: 60, blocked: { code: 'INTERNAL', message: 'stuck' } } as const;
  await scene.store.headMarkers.block(runId, blocked);
  expect(await end(1, { status: 'running', inboxCount: 2 }, 80)).toBe(true);
  const ended = await scene.store.heads.read(runId);
  expect(ended).toMatchObject({ status: 'continued', nextRunId: other, endedAtMs: 70, dueSeq: 1, dueAtMs: 80 });
  expect(ended?.blocked).toBeUndefined();
  expect((await scene.store.lists.runs({ status: 'running' }, 10)).rows).toEqual([]);
  expect((await scene.store.lists.runs({ status: 'continued' }, 10)).rows).toHaveLength(1);
  expect(await scene.refused(end(1, { status: 'running', inboxCount: 2 }))).toBe(true);

  const ending = await withHead();
  await ending.store.log.commitEnding(runId, commitOf(1, 'w1'), 0, { status: 'completed' });
  const outcome = { status: 'completed' } as const;
  const last = (seen: { status: 'running'; inboxCount: number } | { status: 'ending' }) =>
    ending.store.log.commitEnd(head, commitOf(2, 'w2'), { outcome, endedAtMs: 70, seen });
  expect(await ending.refused(last({ status: 'running', inboxCount: 0 }))).toBe(false);
  expect(await last({ status: 'ending' })).toBe(true);
  // The existing marker stays.
  expect(await ending.due()).toEqual(['run 1']);
});

test('tokens.put only if it is not there: the item of before rules', async () => {
  const scene = await withToken();
  const again = scene.store.tokens.put({ ...token, writerId: 'w2' });
  expect(await scene.refused(again)).toMatchObject({ put: false, token: { writerId: 'w1' } });
  expect(await new Scene().store.tokens.put(token)).toEqual({ put: true, token });
});

test('starts.claim only of the next attempt, without settlement and handle', async () => {
  const claim = { attempt: 2, writerId: 'w2' };
  const take = (scene: Scene, of = claim) => scene.store.starts.claim(runId, '1', of);
  const settled = await withToken({}, 500);
  expect(await settled.refused(take(settled))).toMatchObject({ claimed: false, token: { settlement: { by: 'poll' } } });
  const started = await withToken();
  await started.store.starts.storeHandle(runId, '1', { handle, startedAtMs: 1, dueAtMs: 2 });
  expect(await started.refused(take(started))).toMatchObject({ claimed: false, token: { handle: { taskId: 't1' } } });
  const absent = new Scene();
  expect(await absent.refused(take(absent))).toEqual({ claimed: false, token: undefined });
  const open = await withToken();
  expect(await open.refused(take(open, { attempt: 3, writerId: 'w3' }))).toMatchObject({ claimed: false });
  expect(await take(open)).toMatchObject({ claimed: true, token: { attempt: 2, writerId: 'w2' } });
  expect(await open.refused(take(open))).toMatchObject({ claimed: false });
});

test('starts.claim for a worker: due from then on, and without what the worker of the attempt before has left', async () => {
  const scene = await withToken({ workerStart: { attempt: 1 }, dueAtMs: 500 });
  await scene.store.workerStarts.claim(runId, '1', { ...startClaim, writerId: 'c1' });
  await scene.store.workerStarts.record(runId, '1', { claim: 'c1', came: failedStart, dueAtMs: 600 });
  const claim = { attempt: 2, writerId: 'w2', workerDueAtMs: 700 };
  expect((await scene.store.starts.claim(runId, '1', claim)).token).toMatchObject({ attempt: 2, dueAtMs: 700 });
  expect((await scene.read())?.workerStart).toEqual({ attempt: 2 });
});

const startClaim = { attempt: 1, seenDueAtMs: 500, writerId: 'c1', untilMs: 900, dueAtMs: 900 };
const failedStart = {
  ...({ type: 'RemoteTaskStartFailed', atMs: 1, waitId: '1', attempt: 1, retryAtMs: 2 } as const),
  error: { code: 'REMOTE_UNREACHABLE', message: 'no answer' },
} as const;
const withStart = async (more: Partial<TokenRecord> = {}): Promise<Scene> =>
  withToken({ workerStart: { attempt: 1 }, dueAtMs: 500, ...more });

test('workerStarts.claim only of the attempt and at the due instant that was read, without settlement and handle: its own writer has it', async () => {
  const take = (scene: Scene, of = startClaim) => scene.store.workerStarts.claim(runId, '1', of);
  const settled = await withStart();
  await settled.store.tokens.settle(runId, '1', settlementOf('s1'));
  expect(await settled.refused(take(settled))).toMatchObject({ claimed: false });
  const started = await withStart();
  await started.store.starts.storeHandle(runId, '1', { handle, startedAtMs: 1, dueAtMs: 500 });
  expect(await started.refused(take(started))).toMatchObject({ claimed: false });
  const next = await withStart({ attempt: 2 });
  expect(await next.refused(take(next))).toMatchObject({ claimed: false });
  expect(await next.refused(take(next, { ...startClaim, attempt: 2 }))).toMatchObject({ claimed: false });
  const open = await withStart();
  expect(await open.refused(take(open, { ...startClaim, seenDueAtMs: 499 }))).toMatchObject({ claimed: false });
  expect(await take(open)).toMatchObject({ claimed: true, token: { dueAtMs: 900, workerStart: { untilMs: 900 } } });
  expect(await open.due()).toEqual(['token 900']);
  // The answer to its own write was lost.
  expect(await open.refused(take(open))).toMatchObject({ claimed: true });
  expect(await open.refused(take(open, { ...startClaim, writerId: 'c2' }))).toMatchObject({ claimed: false });
});

test('workerStarts.record only under the claim and of its attempt, without settlement, handle and an earlier word', async () => {
  const scene = await withStart();
  const record = (claim: string, came: Parameters<RunStore['workerStarts']['record']>[2]['came'] = failedStart) =>
    scene.store.workerStarts.record(runId, '1', { claim, came, dueAtMs: 600 });
  await scene.refused(record('c1'));
  await scene.store.workerStarts.claim(runId, '1', startClaim);
  await scene.refused(record('c2'));
  await scene.refused(record('c1', { ...failedStart, attempt: 2 }));
  expect(await record('c1')).toMatchObject({ dueAtMs: 600, workerStart: { came: failedStart } });
  await scene.refused(record('c1', { ...failedStart, retryAtMs: 3 }));
  const settled = await withStart();
  await settled.store.workerStarts.claim(runId, '1', startClaim);
  await settled.store.tokens.settle(runId, '1', settlementOf('s1'));
  await settled.refused(
    settled.store.workerStarts.record(runId, '1', { claim: 'c1', came: failedStart, dueAtMs: 600 }),
  );
  const started = await withStart();
  await started.store.workerStarts.claim(runId, '1', startClaim);
  await started.store.starts.storeHandle(runId, '1', { handle, startedAtMs: 1, dueAtMs: 500 });
  await started.refused(
    started.store.workerStarts.record(runId, '1', { claim: 'c1', came: failedStart, dueAtMs: 600 }),
  );
});

test('workerStarts.move only at the due instant that was read, without settlement', async () => {
  const move = { seenDueAtMs: 500, dueAtMs: 700, held: { code: 'REMOTE_UNREACHABLE', message: 'left alone' } } as const;
  const settled = await withStart();
  await settled.store.tokens.settle(runId, '1', settlementOf('s1'));
  expect(await settled.refused(settled.store.workerStarts.move(runId, '1', move))).toBe(false);
  const open = await withStart();
  expect(await open.refused(open.store.workerStarts.move(runId, '1', { ...move, seenDueAtMs: 499 }))).toBe(false);
  expect(await open.store.workerStarts.move(runId, '1', move)).toBe(true);
  expect(await open.read()).toMatchObject({ dueAtMs: 700, workerStart: { held: { message: 'left alone' } } });
});

test('starts.storeHandle only on an item that is not settled; one that was found, only where there is none', async () => {
  const started = { handle, startedAtMs: 5, dueAtMs: 6 };
  const absent = new Scene();
  expect(await absent.refused(absent.store.starts.storeHandle(runId, '1', started))).toMatchObject({ stored: false });
  const settled = await withToken({}, 500);
  expect(await settled.refused(settled.store.starts.storeHandle(runId, '1', started))).toMatchObject({ stored: false });
  const open = await withToken();
  const questions = { list: [{ key: 'q', kind: 'form', message: 'Release?' }] } as const;
  expect(await open.store.starts.storeHandle(runId, '1', { ...started, pollHintMs: 7, questions })).toMatchObject({
    stored: true,
    token: { handle, startedAtMs: 5, dueAtMs: 6, pollHintMs: 7, questions: { ...questions, recorded: 9, taken: 0 } },
  });
  expect(await open.due()).toEqual(['token 6']);
  const found = { ...started, handle: { ...handle, taskId: 't2' } };
  const looked = open.store.starts.storeHandle(runId, '1', { ...found, onlyWithoutHandle: true });
  expect(await open.refused(looked)).toMatchObject({ stored: false, token: { handle: { taskId: 't1' } } });
  expect(await open.store.starts.storeHandle(runId, '1', found)).toMatchObject({ stored: true });
});

test('unwantedTasks.leaveHandle only on a settled item: with a marker to be cancelled, or as that of an orphan', async () => {
  const open = await withToken();
  await open.refused(open.store.unwantedTasks.leaveHandle(runId, '1', handle, { atMs: 600, forCancel: true }));
  const toCancel = await withToken({}, 500);
  await toCancel.store.tokens.clearMarker(runId, '1', { dueAtMs: 500, hasHandle: false });
  await toCancel.store.unwantedTasks.leaveHandle(runId, '1', handle, { atMs: 600, forCancel: true });
  expect(await toCancel.due()).toEqual(['token 600']);
  expect((await toCancel.store.lists.orphans(10)).rows).toEqual([]);
  const left = await withToken({}, 500);
  await left.store.unwantedTasks.leaveHandle(runId, '1', handle, { atMs: 600, forCancel: false });
  expect((await left.read())?.handle).toEqual(handle);
  expect(await left.due()).toEqual(['token 500']);
  expect((await left.store.lists.orphans(10)).rows).toEqual([{ runId, waitId: '1' }]);
});

test('unwantedTasks.recordCancel only on a settled item: a task that was cancelled is no orphan any more', async () => {
  const open = await withToken();
  await open.refused(open.store.unwantedTasks.recordCancel(runId, '1', { kind: 'sent', atMs: 7 }));
  const left = await withToken({}, 500);
  await left.store.unwantedTasks.leaveHandle(runId, '1', handle, { atMs: 600, forCancel: false });
  await left.store.unwantedTasks.recordCancel(runId, '1', { kind: 'refused', atMs: 7 });
  expect((await left.store.lists.orphans(10)).rows).toHaveLength(1);
  await left.store.unwantedTasks.recordCancel(runId, '1', { kind: 'sent', atMs: 8 });
  expect((await left.store.lists.orphans(10)).rows).toEqual([]);
  expect((await left.read())?.cancel).toEqual({ kind: 'sent', atMs: 8 });
});

test('tokens.settle only an item that is there and has no settlement', async () => {
  const absent = new Scene();
  const late = absent.store.tokens.settle(runId, '1', settlementOf('s1'));
  expect(await absent.refused(late)).toEqual({ settled: false, token: undefined });
  const scene = await withToken();
  expect(await scene.store.tokens.settle(runId, '1', settlementOf('s1'))).toMatchObject({ settled: true });
  expect(await scene.due()).toEqual(['token 500']);
  const second = scene.store.tokens.settle(runId, '1', settlementOf('s2'));
  expect(await scene.refused(second)).toMatchObject({ settled: false, token: { settlement: { writerId: 's1' } } });
  expect(await scene.refused(scene.store.tokens.settle(runId, '1', settlementOf('s1')))).toMatchObject({
    settled: true,
  });
});

test('tokens.settle under a further condition: handle, form, deadline, writer, due instant', async () => {
  const settle = async (scene: Scene, guard: SettleGuard) =>
    scene.store.tokens.settle(runId, '1', settlementOf('s1'), guard);
  const started = await withToken();
  await started.store.starts.storeHandle(runId, '1', { handle, startedAtMs: 1, dueAtMs: 2 });
  const inTime = { kind: 'inTime' } as const;
  expect(await started.refused(settle(started, { ...inTime, unless: 'handle' }))).toMatchObject({ settled: false });
  const form: Question = { prompt: 'Release?' } as never;
  const asked = await withToken({ form });
  expect(await asked.refused(settle(asked, { ...inTime, unless: 'form' }))).toMatchObject({ settled: false });
  expect((await asked.store.lists.inputs(10)).rows).toHaveLength(1);
  expect(await settle(asked, inTime)).toMatchObject({ settled: true });
  expect((await asked.store.lists.inputs(10)).rows).toEqual([]);
  const scene = await withToken({ dueAtMs: 30 });
  expect(await scene.refused(settle(scene, { kind: 'deadlineIs', deadlineAtMs: 901 }))).toMatchObject({
    settled: false,
  });
  expect(await scene.refused(settle(scene, { kind: 'writerIs', writerId: 'w2' }))).toMatchObject({ settled: false });
  expect(await scene.refused(settle(scene, { kind: 'dueIs', dueAtMs: 31 }))).toMatchObject({ settled: false });
  const late = await withToken({ deadlineAtMs: 500 });
  expect(await late.refused(settle(late, inTime))).toMatchObject({ settled: false });
  for (const guard of [
    { ...inTime, unless: 'handle' },
    { ...inTime, unless: 'form' },
    { kind: 'deadlineIs', deadlineAtMs: 900 },
    { kind: 'writerIs', writerId: 'w1' },
    { kind: 'dueIs', dueAtMs: 30 },
  ] as const) {
    expect(await settle(await withToken({ dueAtMs: 30 }), guard)).toMatchObject({ settled: true });
  }
});

test('tokens.close only what has no settlement: without an item it leaves a tombstone', async () => {
  const close = { writerId: 'c1', atMs: 600, outcome: 'abandoned' } as const;
  const settled = await withToken({}, 500);
  expect(await settled.refused(settled.store.tokens.close(runId, '1', close))).toMatchObject({
    settlement: { writerId: 's1' },
  });
  const absent = new Scene();
  expect(await absent.store.tokens.close(runId, '1', close)).toMatchObject({
    settlement: { by: 'end', outcome: { kind: 'abandoned' } },
  });
  expect(await absent.due()).toEqual(['token 600']);
  const asked = await withToken({ form: { prompt: 'Release?' } as never });
  await asked.store.tokens.close(runId, '1', close);
  expect((await asked.store.lists.inputs(10)).rows).toEqual([]);
});

test('tokens.moveDeadline only of a wait that is open and has one: its marker goes along', async () => {
  const move = (scene: Scene) => scene.store.tokens.moveDeadline(runId, '1', { deadlineAtMs: 950, nowMs: 1 });
  const absent = new Scene();
  expect(await absent.refused(move(absent))).toEqual({ moved: false, token: undefined });
  const settled = await withToken({}, 500);
  expect(await settled.refused(move(settled))).toMatchObject({ moved: false });
  const endless = new Scene();
  const { deadlineAtMs: _, ...without } = token;
  await endless.store.tokens.put(without);
  expect(await endless.refused(move(endless))).toMatchObject({ moved: false });
  const open = await withToken();
  expect(await move(open)).toMatchObject({ moved: true, token: { deadlineAtMs: 950 } });
  expect(await open.due()).toEqual(['token 950']);
});

/** Settled at the very instant at which it was due. */
const settledWhenDue = async (): Promise<Scene> => withToken({ dueAtMs: 500 }, 500);

test('polls.claim only at the due instant that was read, without settlement', async () => {
  const claim = { seenDueAtMs: 500, dueAtMs: 560 };
  const settled = await settledWhenDue();
  expect(await settled.refused(settled.store.polls.claim(runId, '1', claim))).toMatchObject({ claimed: false });
  const open = await withToken({ dueAtMs: 500 });
  const other = open.store.polls.claim(runId, '1', { ...claim, seenDueAtMs: 499 });
  expect(await open.refused(other)).toMatchObject({ claimed: false });
  expect(await open.store.polls.claim(runId, '1', claim)).toMatchObject({ claimed: true, token: { dueAtMs: 560 } });
});

test('polls.record only within the claim, without settlement: sightings stay as long as they are said again', async () => {
  const poll = { claimedDueAtMs: 500, dueAtMs: 560, pollErrors: 2, pollHintMs: 3, ttlMs: 4 };
  const sightings = { of: 'missing', count: 1, atMs: 5 } as const;
  const settled = await settledWhenDue();
  expect(await settled.refused(settled.store.polls.record(runId, '1', poll))).toBe(false);
  const open = await withToken({ dueAtMs: 500 });
  expect(await open.refused(open.store.polls.record(runId, '1', { ...poll, claimedDueAtMs: 499 }))).toBe(false);
  expect(await open.store.polls.record(runId, '1', { ...poll, sightings })).toBe(true);
  expect(await open.read()).toMatchObject({ dueAtMs: 560, pollErrors: 2, pollHintMs: 3, ttlMs: 4, sightings });
  expect(await open.store.polls.record(runId, '1', { claimedDueAtMs: 560, dueAtMs: 620, pollErrors: 0 })).toBe(true);
  expect(await open.read()).toMatchObject({ pollErrors: 0, pollHintMs: 3, ttlMs: 4 });
  expect((await open.read())?.sightings).toBeUndefined();
});

test('questions.record only within the claim, without settlement: a read that shows some went well', async () => {
  const questions = { list: [{ key: 'q', kind: 'form', message: 'Release?' }] } as const;
  const asked = { claimedDueAtMs: 500, dueAtMs: 560, questions, recorded: 3 };
  const settled = await settledWhenDue();
  expect(await settled.refused(settled.store.questions.record(runId, '1', asked))).toBe(false);
  const open = await withToken({ dueAtMs: 500 });
  expect(await open.refused(open.store.questions.record(runId, '1', { ...asked, claimedDueAtMs: 499 }))).toBe(false);
  const sightings = { of: 'missing', count: 1, atMs: 5 } as const;
  await open.store.polls.record(runId, '1', { claimedDueAtMs: 500, dueAtMs: 500, pollErrors: 2, sightings });
  expect(await open.store.questions.record(runId, '1', asked)).toBe(true);
  const now = await open.read();
  expect(now).toMatchObject({ dueAtMs: 560, pollErrors: 0, questions: { ...questions, recorded: 3, taken: 0 } });
  expect(now?.sightings).toBeUndefined();
  await open.store.questions.take(runId, '1', 3);
  expect((await open.read())?.questions?.taken).toBe(3);
});

test('questions.take makes no item', async () => {
  const absent = new Scene();
  await absent.refused(absent.store.questions.take(runId, '1', 3));
});

test('questions.recordOfStart only of the attempt and of a new round, without settlement and handle', async () => {
  const list = [{ key: 'q', kind: 'form', message: 'Release?' }] as const;
  const asked = (round: number, attempt = 1) => ({ attempt, questions: { list, round, state: `state ${round}` } });
  const record = (scene: Scene, round: number, attempt = 1) =>
    scene.store.questions.recordOfStart(runId, '1', asked(round, attempt));
  const absent = new Scene();
  expect(await absent.refused(record(absent, 1))).toBeUndefined();
  const settled = await withToken({}, 500);
  await settled.refused(record(settled, 1));
  const started = await withToken();
  await started.store.starts.storeHandle(runId, '1', { handle, startedAtMs: 1, dueAtMs: 2 });
  await started.refused(record(started, 1));
  const open = await withToken();
  await open.refused(record(open, 1, 2));
  expect(await record(open, 1)).toMatchObject({ questions: { list, round: 1, state: 'state 1' } });
  const again = { ...asked(1), questions: { ...asked(1).questions, state: 'another' } };
  expect(await open.refused(open.store.questions.recordOfStart(runId, '1', again))).toMatchObject({
    questions: { round: 1, state: 'state 1' },
  });
  expect(await record(open, 2)).toMatchObject({ questions: { round: 2, state: 'state 2' } });
});

const step = { failedAttempts: 0, strikes: 0, sinceMs: 1 };

test('longSteps.claim only at the due instant that was read, without settlement: its own writer has it', async () => {
  const claim = { seenDueAtMs: 500, writerId: 'c1', strikes: 1, atMs: 510, leaseUntilMs: 600 };
  const settled = await withToken({ step, dueAtMs: 500 }, 500);
  expect(await settled.refused(settled.store.longSteps.claim(runId, '1', claim))).toBe(false);
  const open = await withToken({ step, dueAtMs: 500 });
  expect(await open.refused(open.store.longSteps.claim(runId, '1', { ...claim, seenDueAtMs: 499 }))).toBe(false);
  expect(await open.store.longSteps.claim(runId, '1', claim)).toBe(true);
  expect(await open.read()).toMatchObject({ writerId: 'c1', dueAtMs: 600, step: { strikes: 1, sinceMs: 510 } });
  expect(await open.refused(open.store.longSteps.claim(runId, '1', claim))).toBe(true);
  expect(await open.refused(open.store.longSteps.claim(runId, '1', { ...claim, writerId: 'c2' }))).toBe(false);
});

test('longSteps.beat only under the claim, without settlement', async () => {
  const beat = { writerId: 'w1', leaseUntilMs: 700, progress: 3 };
  const settled = await withToken({ step, dueAtMs: 500 }, 500);
  expect(await settled.refused(settled.store.longSteps.beat(runId, '1', beat))).toBe(false);
  const open = await withToken({ step, dueAtMs: 500 });
  expect(await open.refused(open.store.longSteps.beat(runId, '1', { ...beat, writerId: 'w2' }))).toBe(false);
  expect(await open.store.longSteps.beat(runId, '1', beat)).toBe(true);
  expect(await open.read()).toMatchObject({ dueAtMs: 700, step: { progress: 3 } });
  expect(await open.store.longSteps.beat(runId, '1', { writerId: 'w1', leaseUntilMs: 800 })).toBe(true);
  expect(await open.read()).toMatchObject({ dueAtMs: 800, step: { progress: 3 } });
});

test('longSteps.recordFailure only under the claim, without settlement: its own writer has recorded it', async () => {
  const failure = { claim: 'w1', writerId: 'f1', step: { ...step, failedAttempts: 1 }, dueAtMs: 700 };
  const settled = await withToken({ step, dueAtMs: 500 }, 500);
  expect(await settled.refused(settled.store.longSteps.recordFailure(runId, '1', failure))).toBe(false);
  const open = await withToken({ step, dueAtMs: 500 });
  expect(await open.refused(open.store.longSteps.recordFailure(runId, '1', { ...failure, claim: 'w2' }))).toBe(false);
  expect(await open.store.longSteps.recordFailure(runId, '1', failure)).toBe(true);
  expect(await open.read()).toMatchObject({ writerId: 'f1', dueAtMs: 700, step: { failedAttempts: 1 } });
  expect(await open.refused(open.store.longSteps.recordFailure(runId, '1', failure))).toBe(true);
});

test('longSteps.move only at the due instant that was read, without settlement', async () => {
  const move = { seenDueAtMs: 500, dueAtMs: 450 };
  const settled = await withToken({ step, dueAtMs: 500 }, 500);
  expect(await settled.refused(settled.store.longSteps.move(runId, '1', move))).toBe(false);
  const open = await withToken({ step, dueAtMs: 500 });
  expect(await open.refused(open.store.longSteps.move(runId, '1', { ...move, seenDueAtMs: 499 }))).toBe(false);
  expect(await open.store.longSteps.move(runId, '1', move)).toBe(true);
  expect(await open.read()).toMatchObject({ dueAtMs: 450 });
});

test('headMarkers.set only if no newer one stands and the run has not been blocked since', async () => {
  const absent = new Scene();
  expect(await absent.refused(absent.store.headMarkers.set(runId, { seq: 1, dueAtMs: 50, blocks: 0 }))).toBe(true);
  const scene = await withHead({ dueSeq: 2 });
  // The marker of another owner changes as well.
  expect(await scene.refused(scene.store.headMarkers.set(runId, { seq: 1, dueAtMs: 50, blocks: 0 }))).toBe(true);
  expect(await scene.store.headMarkers.set(runId, { seq: 2, dueAtMs: 60, blocks: 0, publishedSeq: 2 })).toBe(true);
  expect(await scene.store.heads.read(runId)).toMatchObject({ dueSeq: 2, dueAtMs: 60, publishedSeq: 2 });
  await scene.store.headMarkers.block(runId, { seq: 2, dueAtMs: 70, blocked: { code: 'INTERNAL', message: 'stuck' } });
  expect(await scene.refused(scene.store.headMarkers.set(runId, { seq: 3, dueAtMs: 80, blocks: 0 }))).toBe(false);
  expect(await scene.store.headMarkers.set(runId, { seq: 3, dueAtMs: undefined, blocks: 1 })).toBe(true);
  const head = await scene.store.heads.read(runId);
  expect(head).toMatchObject({ dueSeq: 3, blocks: 1 });
  expect(head?.blocked).toBeUndefined();
  expect(await scene.due()).toEqual([]);
});

test('headMarkers.block only if no newer marker stands', async () => {
  const blocked = { code: 'INTERNAL', message: 'stuck' } as const;
  const absent = new Scene();
  expect(await absent.refused(absent.store.headMarkers.block(runId, { seq: 1, dueAtMs: 50, blocked }))).toBe(false);
  const scene = await withHead({ dueSeq: 2 });
  expect(await scene.refused(scene.store.headMarkers.block(runId, { seq: 1, dueAtMs: 50, blocked }))).toBe(false);
  expect(await scene.store.headMarkers.block(runId, { seq: 3, dueAtMs: 50, blocked, publishedSeq: 3 })).toBe(true);
  expect(await scene.store.heads.read(runId)).toMatchObject({
    dueSeq: 3,
    dueAtMs: 50,
    blocks: 1,
    blocked,
    publishedSeq: 3,
  });
});

test('headMarkers.setPublished only forward, and never a head of its own', async () => {
  const absent = new Scene();
  await absent.refused(absent.store.headMarkers.setPublished(runId, 1));
  const scene = await withHead({ publishedSeq: 3 });
  await scene.refused(scene.store.headMarkers.setPublished(runId, 2));
  await scene.store.headMarkers.setPublished(runId, 4);
  expect((await scene.store.heads.read(runId))?.publishedSeq).toBe(4);
});

test('markers are set and cleared only where there is an item', async () => {
  const absent = new Scene();
  await absent.refused(absent.store.headMarkers.markEnded(runId, 50));
  await absent.refused(absent.store.headMarkers.clear(runId, 50));
});

test('schedules.save only from the revision that was read', async () => {
  const scene = new Scene();
  const first = await scene.store.schedules.save('s', { revision: 0, tickAtMs: 1 });
  expect(first).toEqual({ revision: 1, tickAtMs: 1 });
  expect(await scene.refused(scene.store.schedules.save('s', { revision: 0, tickAtMs: 2 }))).toBeUndefined();
  expect(await scene.refused(scene.store.schedules.save('s', { revision: 2, tickAtMs: 2 }))).toBeUndefined();
  expect(await scene.store.schedules.save('s', { revision: 1, tickAtMs: 2 })).toEqual({ revision: 2, tickAtMs: 2 });
  expect(await scene.store.schedules.read('s')).toEqual({ revision: 2, tickAtMs: 2 });
});
