import { randomBytes } from 'node:crypto';
import { defineWorkflow } from 'outwait';
import { describe, expect, it } from 'vitest';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { RunStore } from '../../lib/store/run-store.js';
import { createCipher } from '../../lib/store/cipher.js';
import { namedKeyring } from '../../lib/store/payload-keyring.js';
import { SealedTable } from '../../lib/store/sealed-table.js';
import type { Item } from '../../lib/store/table.js';
import { aFlow, started, startedIn, WatchedServer } from './support.js';

/** Hex of random bytes: compression does not make it fit into one item. */
const large = randomBytes(950_000).toString('hex');
const withUmlauts = `${'ü'.repeat(400_000)}${randomBytes(500_000).toString('hex')}`;

describe.each([
  ['plain', undefined],
  ['encrypted', createCipher(namedKeyring([{ keyId: 'k1', secret: new Uint8Array(32) }]))],
])('a payload of 1.9 MB, %s, arrives whole (S0-180, EN-10)', (_, cipher) => {
  const options = cipher === undefined ? {} : { cipher };

  it.each([
    ['ASCII', large],
    ['UTF-8', withUmlauts],
  ])('as the result of a step, and on every replay of it: %s', async (_kind, text) => {
    const flow = aFlow(async (ctx) => {
      const made = await ctx.step('make', () => text);
      await ctx.sleep({ hours: 1 });
      return made === text;
    });
    const { app, runId } = await started(flow, {}, options);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
  });

  it('as the result of a run', async () => {
    const { app, runId } = await started(
      aFlow(async () => large),
      {},
      options,
    );
    const outcome = await app.runToEnd(runId);
    expect(outcome.status === 'completed' && outcome.result === large).toBe(true);
    const shown = (await app.show(runId)).outcome;
    expect(shown?.status === 'completed' && shown.result === large).toBe(true);
  });

  it('as the result of a remote task (A2A-C39)', async () => {
    const reports = new WatchedServer({ task: { after: { minutes: 1 }, result: { large } } });
    const flow = aFlow(
      async (ctx) =>
        ((await ctx.callRemoteTask({ server: 'reports', tool: 't' })).result as { large: string }).large === large,
    );
    const { app, runId } = await started(flow, { reports }, options);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
  });

  it('through a token', async () => {
    const flow = aFlow(async (ctx) => (await (await ctx.promise({ name: 'p' })).promise) === large);
    const { app, runId } = await started(flow, {}, options);
    await app.settleDown();
    expect(await app.settle(await app.tokenOf(runId, 'p'), large)).toBe(true);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
  });

  it('as the arguments of a remote call', async () => {
    const reports = new WatchedServer({ task: { result: 1 } });
    const flow = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 't', arguments: { large } }));
    const { app, runId } = await started(flow, { reports }, options);
    expect((await app.runToEnd(runId)).status).toBe('completed');
    expect(
      reports.starts.map(({ request }) => request.kind === 'tool' && request.arguments['large'] === large),
    ).toEqual([true]);
  });
});

it('an input of 1.9 MB arrives whole, and goes on to a child and to the next run (S0-180)', async () => {
  const child = defineWorkflow<string, boolean>({ name: 'child', run: async (_, text) => text === large });
  const flow = defineWorkflow<readonly [number, string]>({
    name: 'flow',
    run: async (ctx, [round, text]) => (round === 1 ? ctx.continueAsNew([2, text]) : ctx.child(child, text)),
  });
  const { app, runId } = await startedIn([flow, child], [1, large]);
  expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: true });
});

it('many large results of one turn are all kept', async () => {
  const flow = aFlow(async (ctx) => {
    const parts = await Promise.all(
      Array.from({ length: 10 }, (_, n) => ctx.step(`make ${n}`, () => `${n}${large.slice(0, 1_000_000)}`)),
    );
    await ctx.sleep({ hours: 1 });
    return parts.map((part) => `${part.charAt(0)}${part.length}`);
  });
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId)).toEqual({
    status: 'completed',
    result: Array.from({ length: 10 }, (_, n) => `${n}1000001`),
  });
});

it.each([
  [307_200, 1],
  [307_201, 3],
])('a stored payload of %i bytes is %i items of the table (S0-182)', async (bytes, count) => {
  const items = new Set<string>();
  const table = new SealedTable(
    new MemoryTable({
      onApplied: (applied) => {
        for (const { pk, sk } of applied) items.add(`${pk} ${sk}`);
      },
    }),
  );
  const item = { pk: 'run#r', sk: 'a', input: 'x'.repeat(bytes) };
  await table.write({ kind: 'put', item, conditions: [] });
  expect(items.size).toBe(count);
  expect(await table.get(item)).toEqual(item);
});

it('a payload with a chunk missing is unreadable: the turn fails, and says which code', async () => {
  const items = new Map<string, Item>();
  const table = new MemoryTable({
    onApplied: (applied) => {
      for (const item of applied) items.set(`${item.pk} ${item.sk}`, item);
    },
  });
  const flow = aFlow(async (ctx) => {
    await ctx.step('make', () => large);
    await ctx.sleep({ hours: 1 });
  });
  const { app } = await started(flow);
  Object.assign(app.deps, { store: new RunStore(new SealedTable(table)) });
  const runId = await app.start(flow, null);
  await app.settleDown();
  const chunks = [...items.values()].filter(({ pk }) => pk.startsWith('blob#'));
  expect(chunks.length).toBeGreaterThan(2);
  const lossy = new MemoryTable();
  for (const item of items.values()) {
    if (item !== chunks[1]) await lossy.write({ kind: 'put', item, conditions: [] });
  }
  Object.assign(app.deps, { store: new RunStore(new SealedTable(lossy)) });
  await expect(app.show(runId)).rejects.toMatchObject({
    code: 'PAYLOAD_UNREADABLE',
    message: `a stored payload cannot be read: ${chunks.length - 1} of its ${chunks.length} chunks were found`,
  });
});
