import { defineWorkflow } from 'outwait';
import { createTestApp, replayHistory, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { signalRun } from '../../lib/operations/requests/signal-run.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { Item, Key } from '../../lib/store/table.js';
import { aFlow, anApp, WatchedServer, type Flow } from './support.js';

/** Reads as if items were missing. */
class LossyTable extends MemoryTable {
  readonly lost: ((key: Key) => boolean)[] = [];

  override async get(key: Key): Promise<Item | undefined> {
    return this.#isLost(key) ? undefined : super.get(key);
  }

  override async queryPartition(pk: string, skPrefix?: string, after?: string): Promise<Item[]> {
    return (await super.queryPartition(pk, skPrefix, after)).filter((item) => !this.#isLost(item));
  }

  #isLost(key: Key): boolean {
    return this.lost.some((isLost) => isLost(key));
  }
}

/** Text that is random enough to be stored in chunks. */
const large = Array.from({ length: 60_000 }, (_, at) => ((at * 2_654_435_761) % 4_294_967_296).toString(36)).join('');

const flow = aFlow(async (ctx) => {
  const first = await ctx.signal('go');
  await ctx.step('make', () => large);
  const { outcome } = await ctx.externalToken({ name: 'approval' });
  const approved = await outcome;
  void ctx.callRemoteTask({ server: 'reports', tool: 'export' });
  await ctx.signal('note');
  await Promise.race([ctx.signal('end'), ctx.sleep({ hours: 5 })]);
  return [first, approved.result];
});

interface Lossy {
  readonly app: TestApp;
  readonly runId: string;
  readonly table: LossyTable;
  readonly lose: (pk: string, sk: string) => void;
}

/** Runs to the last line of the workflow, then continues in a process without warm runs. */
async function waiting(): Promise<Lossy> {
  const table = new LossyTable();
  const app = createTestApp(anApp(flow), { servers: { reports: new WatchedServer() } });
  Object.assign(app.deps, { store: new RunStore(new SealedTable(table)), warmRuns: undefined });
  const runId = await app.start(flow, null);
  await signalRun(app.deps, runId, { name: 'go', payload: 'first', key: 'k' });
  await app.settleDown();
  await app.settle(await app.tokenOf(runId, 'approval'), 'yes');
  await app.settleDown();
  await app.signal(runId, 'note');
  await app.settleDown();
  return {
    app,
    runId,
    table,
    lose: (pk, sk) => {
      table.lost.push((key) => key.pk === `${pk}${runId}` && key.sk.startsWith(sk));
    },
  };
}

describe('a run of which an item is gone (F08)', () => {
  it.each([
    ['a signal that was taken', 'run#', 'i#signal-2-go-k', 'HISTORY_FORMAT_UNKNOWN', 'the signal signal-2-go-k "go"'],
    ['a commit between others', 'run#', 'h#0000000003', 'HISTORY_FORMAT_UNKNOWN', 'commit 3 of the history is missing'],
    ['the last commits', 'run#', 'h#000000000', 'HISTORY_FORMAT_UNKNOWN', 'commit 1 of the history is missing'],
    ['a settlement that was taken', 'run#', 't#3', 'HISTORY_FORMAT_UNKNOWN', 'a settlement that is not there'],
    ['the token of a task that runs', 'run#', 't#4', 'HISTORY_FORMAT_UNKNOWN', 'a token that is not there'],
    ['a part of a large payload', 'blob#', '', 'PAYLOAD_UNREADABLE', 'chunks were found'],
  ])('F08 is blocked and not led astray: %s', async (_, pk, sk, code, message) => {
    const { app, runId, table, lose } = await waiting();
    const before = await app.history(runId);
    lose(pk, sk);
    const failure = await app.pass({ hours: 6 }).catch((error: unknown) => error);
    expect(failure).toBeUndefined();
    expect((await app.deps.store.heads.read(runId))?.blocked).toMatchObject({
      code,
      message: expect.stringContaining(message) as unknown,
    });
    table.lost.length = 0;
    expect((await app.history(runId)).events).toEqual(before.events);
    await app.pass({ hours: 7 });
    expect((await app.show(runId)).outcome).toEqual({ status: 'completed', result: ['first', 'yes'] });
  });

  it.each(['a child', 'a token'])(
    'F08 is blocked, and does not wait for ever, when the item of %s is gone',
    async (what) => {
      const waits: Flow = defineWorkflow<unknown>({
        name: 'flow',
        run: async (ctx, input) => {
          if (input === 'a child') return ctx.child(waits, 'nobody');
          return input === 'a token' ? (await ctx.externalToken()).outcome : ctx.signal('end');
        },
      });
      const table = new LossyTable();
      const app = createTestApp(anApp(waits));
      Object.assign(app.deps, { store: new RunStore(new SealedTable(table)), warmRuns: undefined });
      const runId = await app.start(waits, what);
      await app.settleDown();
      table.lost.push(({ pk, sk }) => pk === `run#${runId}` && sk === 't#1');
      await runTurn(app.deps, { runId }, { remainingMs: () => 60_000 });
      expect((await app.deps.store.heads.read(runId))?.blocked).toMatchObject({ code: 'HISTORY_FORMAT_UNKNOWN' });
    },
  );

  it('F08 is blocked by the turn that finds the end of its log gone', async () => {
    const { app, runId, lose } = await waiting();
    lose('run#', 'h#000000000');
    const deps = { ...app.deps, delay: async () => undefined };
    const failure = await runTurn(deps, { runId }, { remainingMs: () => 60_000 }).catch((error: unknown) => error);
    expect(failure).toBeUndefined();
    expect((await app.deps.store.heads.read(runId))?.blocked).toMatchObject({ code: 'HISTORY_FORMAT_UNKNOWN' });
  });

  it('F08 is not taken for a run without a head, which is left alone', async () => {
    const { app, runId, lose, table } = await waiting();
    lose('run#', 'a');
    await app.pass({ hours: 6 });
    await expect(app.show(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    table.lost.length = 0;
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['first', 'yes'] });
  });

  it('F08 answers no query, and its export says so, while a signal without a payload is one', async () => {
    const { app, runId, table, lose } = await waiting();
    const whole = await app.history(runId);
    expect(await replayHistory(anApp(flow), whole)).toEqual({ kind: 'clean' });
    expect(whole.events.filter(({ type }) => type === 'SignalReceived')).toMatchObject([
      { name: 'go', payload: 'first' },
      { name: 'note' },
    ]);
    lose('run#', 'i#signal-2-go-k');
    await expect(app.query(runId, 'any')).rejects.toMatchObject({ code: 'HISTORY_FORMAT_UNKNOWN' });
    const exported = await app.history(runId);
    expect(exported.events.find(({ type }) => type === 'SignalReceived')).toMatchObject({ isMissing: true });
    expect(await replayHistory(anApp(flow), exported)).toMatchObject({
      kind: 'differs',
      error: { code: 'HISTORY_FORMAT_UNKNOWN' },
    });
    table.lost.length = 0;
  });
});
