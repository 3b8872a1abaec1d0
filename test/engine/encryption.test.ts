import { describe, expect, it } from 'vitest';
import { silentLog } from '../../lib/base/log.js';
import { listQuestions } from '../../lib/operations/views/list-questions.js';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { createCipher, type PayloadCipher } from '../../lib/store/cipher.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { namedKeyring } from '../../lib/store/payload-keyring.js';
import { RunStore } from '../../lib/store/run-store.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { Item } from '../../lib/store/table.js';
import { aFlow, started, WatchedServer, type Started } from './support.js';

const key = (keyId: string, byte: number) => ({ keyId, secret: new Uint8Array(32).fill(byte) });
const flow = aFlow(async (ctx) => {
  await ctx.step('make', () => 'secret-of-step');
  await ctx.callRemoteTask({ server: 'reports', tool: 't', arguments: { q: 'secret-of-arguments' } });
  ctx.progress('secret-of-progress');
  await ctx.signal('go');
  const { outcome } = await ctx.externalToken({ name: 'approval' });
  await outcome;
  await ctx
    .step(
      'fail',
      () => {
        throw new Error('secret-of-error');
      },
      { retry: { maxAttempts: 1 } },
    )
    .catch(() => undefined);
  return 'secret-of-result';
});

interface Encrypted extends Started {
  readonly items: ReadonlyMap<string, Item>;
  readonly table: MemoryTable;
  readonly warnings: unknown[][];
  /** Deploys other keys over the same table. */
  readonly use: (cipher: PayloadCipher | undefined) => void;
}

async function encrypted(cipher: PayloadCipher): Promise<Encrypted> {
  const items = new Map<string, Item>();
  const table = new MemoryTable({
    onApplied: (applied) => {
      for (const item of applied) items.set(`${item.pk} ${item.sk}`, item);
    },
  });
  const reports = new WatchedServer({ task: { after: { minutes: 1 }, result: 'secret-of-remote' } });
  const warnings: unknown[][] = [];
  const { app } = await started(
    flow,
    { reports },
    { log: { ...silentLog, warn: (...line) => void warnings.push(line) } },
  );
  const use = (next: PayloadCipher | undefined): void => {
    Object.assign(app.deps, { store: new RunStore(new SealedTable(table, next)) });
  };
  use(cipher);
  return { app, runId: await app.start(flow, 'secret-of-input'), items, table, warnings, use };
}

async function upToToken(run: Encrypted): Promise<string> {
  await run.app.pass({ hours: 1 });
  await run.app.signal(run.runId, 'go', 'secret-of-signal');
  await run.app.settleDown();
  return run.app.tokenOf(run.runId, 'approval');
}

describe('encrypted payloads', () => {
  it('leave nothing of input, results, signals and errors readable in the table', async () => {
    const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
    await run.app.settle(await upToToken(run), 'secret-of-token');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'secret-of-result' });
    const dump = JSON.stringify([...run.items.values()]);
    expect(dump).not.toMatch(/secret-of/);
    expect(dump).not.toContain(Buffer.from('secret-of').toString('base64').slice(0, 11));
    expect(dump).toContain('2e:k1:');
    const { events } = await run.app.history(run.runId);
    expect(JSON.stringify(events)).toContain('secret-of-signal');
  });

  it('are read after the keys were rotated, and written under the new one', async () => {
    const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
    const token = await upToToken(run);
    run.use(createCipher(namedKeyring([key('k2', 2), key('k1', 1)])));
    await run.app.settle(token, 'x');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'secret-of-result' });
    const stored = JSON.stringify([...run.items.values()]);
    expect([stored.includes('2e:k1:'), stored.includes('2e:k2:')]).toEqual([true, true]);
  });

  it.each([
    ['no key', undefined, 'it is encrypted, but no payload key is configured'],
    [
      'another key',
      createCipher(namedKeyring([key('k9', 9)])),
      'it is sealed under the key "k1", which is not configured',
    ],
    [
      'a wrong key of the same id',
      createCipher(namedKeyring([key('k1', 9)])),
      'the key "k1" does not decrypt it, or it was changed',
    ],
  ])(
    'with %s have their run skipped with a warning; other runs go on, and so does this one with the key back (S0-63)',
    async (_, cipher, why) => {
      const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
      await upToToken(run);
      run.use(cipher);
      run.warnings.length = 0;
      const other = await run.app.start(
        aFlow(async () => 1),
        null,
      );
      const limits = { remainingMs: () => 60_000 };
      await runTurn(run.app.deps, { runId: run.runId }, limits);
      expect(run.warnings).toEqual([
        [
          'run skipped: it cannot be read',
          { runId: run.runId, code: 'PAYLOAD_UNREADABLE', reason: `a stored payload cannot be read: ${why}` },
        ],
      ]);
      await runTurn(run.app.deps, { runId: other }, limits);
      await fanOutDue(run.app.deps);
      expect((await run.app.show(other)).waits.map(({ name }) => name)).toEqual(['t']);
      expect((await listRuns(run.app.deps, { limit: 10 })).runs.map(({ runId }) => runId)).toContain(run.runId);

      run.use(createCipher(namedKeyring([key('k1', 1)])));
      await run.app.settle(await run.app.tokenOf(run.runId, 'approval'), 'x');
      await runTurn(run.app.deps, { runId: run.runId }, limits);
      expect((await run.app.show(run.runId)).outcome?.status).toBe('completed');
    },
  );

  it('leave a question out of the list, and the others in it, where the key is missing (S0-63)', async () => {
    const table = new MemoryTable();
    const warnings: unknown[][] = [];
    const log = { ...silentLog, warn: (...line: unknown[]) => void warnings.push(line) };
    const { app } = await started(
      aFlow((ctx) => ctx.ask({ message: 'go?' })),
      {},
      { log },
    );
    const runIds: string[] = [];
    for (const [keyId, byte] of [
      ['k1', 1],
      ['k9', 9],
    ] as const) {
      const cipher = createCipher(namedKeyring([key(keyId, byte)]));
      Object.assign(app.deps, { store: new RunStore(new SealedTable(table, cipher)) });
      runIds.push(await app.start(flow, null));
      await app.settleDown();
    }
    warnings.length = 0;
    expect((await listQuestions(app.deps, { limit: 10 })).inputs.map(({ runId }) => runId)).toEqual([runIds[1]]);
    expect(warnings).toMatchObject([
      ['question skipped: it cannot be read', { runId: runIds[0], code: 'PAYLOAD_UNREADABLE' }],
    ]);
  });

  it('under a wrong key leave nothing behind that the right key does not open: a run without input', async () => {
    const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
    const runId = await run.app.start(aFlow(async (ctx) => ctx.signal('go')));
    await run.app.pass({ hours: 1 });
    run.use(createCipher(namedKeyring([key('k9', 9)])));
    await runTurn(run.app.deps, { runId }, { remainingMs: () => 60_000 }).catch(() => undefined);
    run.use(createCipher(namedKeyring([key('k1', 1)])));
    await run.app.signal(runId, 'go', 'back');
    await run.app.settleDown();
    expect((await run.app.show(runId)).waits.map(({ name }) => name)).toEqual(['approval']);
  });

  it.each([
    ['a byte was changed', (text: string) => `${text.slice(0, -6)}${text.at(-6) === 'A' ? 'B' : 'A'}${text.slice(-5)}`],
    ['it was cut', (text: string) => text.slice(0, 20)],
  ])('that were tampered with are refused: %s', async (_, change) => {
    const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
    await upToToken(run);
    const item = run.items.get(`run#${run.runId} h#0000000001`);
    const [name, stored] = Object.entries(item ?? {}).find(([, value]) => String(value).startsWith('2e:')) ?? [];
    if (item === undefined || name === undefined) throw new Error('the commit is not encrypted');
    await run.table.write({ kind: 'put', item: { ...item, [name]: change(String(stored)) }, conditions: [] });
    await expect(run.app.show(run.runId)).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
  });

  it('that were moved to another run are refused', async () => {
    const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
    const other = await run.app.start(flow, 'other');
    await run.app.settleDown();
    const mine = run.items.get(`run#${run.runId} h#0000000002`);
    const theirs = run.items.get(`run#${other} h#0000000002`);
    if (mine === undefined || theirs === undefined) throw new Error('both runs must have a second commit');
    await run.table.write({ kind: 'put', item: { ...theirs, pk: mine.pk, sk: mine.sk }, conditions: [] });
    await expect(run.app.show(run.runId)).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
  });

  it.each([
    ['two commits', 'events', 'h#0000000002', 'h#0000000003'],
    ['the outcomes of two waits', 'outcome', 't#2', 't#4'],
  ])('F90 that were swapped between two items of a run are refused: %s', async (_, attribute, one, other) => {
    const run = await encrypted(createCipher(namedKeyring([key('k1', 1)])));
    await run.app.settle(await upToToken(run), 'x');
    await run.app.runToEnd(run.runId);
    const [first, second] = [one, other].map((sk) => run.items.get(`run#${run.runId} ${sk}`));
    if (first === undefined || second === undefined) throw new Error('both items must be there');
    for (const [item, from] of [
      [first, second],
      [second, first],
    ] as const) {
      const swapped = { ...item, [attribute]: from[attribute] };
      await run.table.write({ kind: 'put', item: swapped, conditions: [] });
    }
    await expect(run.app.show(run.runId)).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
  });
});
