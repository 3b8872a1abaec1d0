import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import { createCipher } from '../../../lib/store/cipher.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { namedKeyring } from '../../../lib/store/payload-keyring.js';
import { SealedTable } from '../../../lib/store/sealed-table.js';
import { aFlow, started, WatchedServer } from '../../engine/support.js';

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;
const messageOf = (error: unknown): unknown => (error as Error).message;

// Stored items: what each limit allows alone is allowed together, and a sealed payload opens only in its own place.

/** Compression does not make it shorter. */
const random = (chars: number): string => randomBytes(chars).toString('base64').slice(0, chars);

test('F01 together: five open questions of 50 KB, answered, then a result of 250 KB', async () => {
  const questions = Array.from({ length: 5 }, (_, n) => ({
    key: `q${n}`,
    kind: 'form' as const,
    message: `question ${n}`,
    schema: { type: 'object', title: random(50_000) },
  }));
  const result = random(250_000);
  const reports = new WatchedServer({
    task: { never: true },
    read: (read) =>
      read <= 2
        ? { kind: 'working', state: 'input_required', questions }
        : { kind: 'ended', end: { kind: 'completed', result, isError: false } },
  });
  const flow = aFlow(async (ctx) => {
    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 't',
      timeout: { hours: 6 },
      onInput: async () => ({ action: 'accept', content: {} }),
    });
    return outcome.result === result;
  });
  const { app, runId } = await started(flow, { reports });
  expect(await app.runToEnd(runId).catch(messageOf)).toEqual({ status: 'completed', result: true });
});

test('F01 together: a long step that reported 255 KB and failed, then gives 200 KB', async () => {
  const report = random(255_000);
  const result = random(200_000);
  let ran = 0;
  const flow = aFlow(
    async (ctx) =>
      (await ctx.step(
        'work',
        (step) => {
          if (++ran > 1) return result;
          step.report(report);
          throw new Error('once');
        },
        { long: true, heartbeatTimeout: { minutes: 1 } },
      )) === result,
  );
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId).catch(messageOf)).toEqual({ status: 'completed', result: true });
  expect(ran).toBe(2);
});

test('F01 together: four hundred tasks whose ids are as long as may be, all started before one of them ends', async () => {
  const wide = '\u0001'.repeat(1_000);
  const handle = {
    server: 'reports',
    protocol: 'mcp',
    wire: 'scripted',
    contextId: wide,
    session: wide,
    tenant: wide,
  };
  const reports = new WatchedServer({
    start: (attempt) => ({
      kind: 'started',
      handle: { ...handle, protocol: 'mcp', taskId: `${attempt}${wide}` },
    }),
    read: (read) =>
      read <= 400
        ? { kind: 'working', state: 'working' }
        : { kind: 'ended', end: { kind: 'completed', result: 1, isError: false } },
  });
  const flow = aFlow(async (ctx) => {
    const calls = Array.from({ length: 400 }, () => ctx.callRemoteTask({ server: 'reports', tool: 't' }));
    return (await Promise.all(calls)).length;
  });
  const { app, runId } = await started(flow, { reports });
  expect(await app.runToEnd(runId).catch(messageOf)).toEqual({ status: 'completed', result: 400 });
  const { events } = await app.history(runId);
  expect(events.filter(({ type }) => type === 'RemoteTaskStarted').length).toBeGreaterThan(40);
});

test('F01 together: a workflow that fails with more details than are stored keeps their size', async () => {
  const details = { text: 'x'.repeat(9_000_000) };
  const flow = aFlow(async () => {
    throw new EngineError('REMOTE_RESULT_INVALID', 'no', { details });
  });
  const { app, runId } = await started(flow);
  expect(await app.runToEnd(runId).catch(messageOf)).toEqual({
    status: 'failed',
    error: { code: 'REMOTE_RESULT_INVALID', message: 'no', details: { detailsBytes: 9_000_011 } },
  });
});

const cipher = createCipher(namedKeyring([{ keyId: 'k1', secret: new Uint8Array(32).fill(1) }]));
const pk = 'run#0123456789abcdef0123456789abcdef';

test('F90 bound: a payload that is moved to another item of its run does not open', async () => {
  const table = new MemoryTable();
  const sealed = new SealedTable(table, cipher);
  await sealed.write({ kind: 'put', item: { pk, sk: 't#1', outcome: '1j:1' }, conditions: [] });
  const item = (await table.get({ pk, sk: 't#1' }))!;
  await table.write({ kind: 'put', item: { ...item, sk: 't#2' }, conditions: [] });
  expect(await sealed.get({ pk, sk: 't#1' }).catch(codeOf)).toMatchObject({ outcome: '1j:1' });
  expect(await sealed.get({ pk, sk: 't#2' }).catch(codeOf)).toBe('PAYLOAD_UNREADABLE');
});

test('F90 bound: a payload in chunks whose reference is moved to another item does not open', async () => {
  const table = new MemoryTable();
  const sealed = new SealedTable(table, cipher);
  const outcome = `1j:"${'x'.repeat(400_000)}"`;
  await sealed.write({ kind: 'put', item: { pk, sk: 't#1', outcome }, conditions: [] });
  const item = (await table.get({ pk, sk: 't#1' }))!;
  await table.write({ kind: 'put', item: { ...item, sk: 't#2' }, conditions: [] });
  expect(await sealed.get({ pk, sk: 't#1' }).catch(codeOf)).toMatchObject({ outcome });
  expect(await sealed.get({ pk, sk: 't#2' }).catch(codeOf)).toBe('PAYLOAD_UNREADABLE');
});

test('F90 former: a payload that an earlier version sealed opens, as it was bound to run and attribute alone', async () => {
  const table = new MemoryTable();
  const input = '1e:k1:j1+kLgHzJmwBpkpHvjJtoIvWG0TdaZaiu7DyZ3BLzS3zFAfp5qbEoJCMxHisfIxl';
  const payload = '1e:k1:6J3IhThTeELkau8ITUlbM4zUGBEm+srvQOtr31VppJHuRHzxZ9k=';
  await table.write({ kind: 'put', item: { pk, sk: 'a', input }, conditions: [] });
  await table.write({ kind: 'put', item: { pk, sk: 'i#signal-2-go-k', payload }, conditions: [] });
  await table.write({ kind: 'put', item: { pk, sk: 'i#signal-2-go-l', payload: input }, conditions: [] });
  const sealed = new SealedTable(table, cipher);
  expect(await sealed.get({ pk, sk: 'a' }).catch(codeOf)).toMatchObject({ input: '1j:"secret-of-input"' });
  expect(await sealed.get({ pk, sk: 'i#signal-2-go-k' }).catch(codeOf)).toMatchObject({ payload: '1j:{"q":1}' });
  expect(await sealed.get({ pk, sk: 'i#signal-2-go-l' }).catch(codeOf)).toBe('PAYLOAD_UNREADABLE');
});

const refusing = { ...cipher, refusesPlaintext: true };
const at = { pk, sk: 'a' };

test('F90 in the clear: payloads are read beside encrypted ones, unless the deployment refuses them', async () => {
  const table = new MemoryTable();
  await table.write({ kind: 'put', item: { ...at, input: '1j:"plain"' }, conditions: [] });
  expect(await new SealedTable(table, cipher).get(at)).toMatchObject({ input: '1j:"plain"' });
  expect(await new SealedTable(table, refusing).get(at).catch(messageOf)).toBe(
    'a stored payload cannot be read: it is not encrypted, and this deployment refuses plaintext',
  );
});

test('F90 in the clear: payloads in chunks are refused too', async () => {
  const table = new MemoryTable();
  const input = `1j:"${'x'.repeat(400_000)}"`;
  await new SealedTable(table).write({ kind: 'put', item: { ...at, input }, conditions: [] });
  const sealed = new SealedTable(table, refusing);
  expect(await sealed.get(at).catch(codeOf)).toBe('PAYLOAD_UNREADABLE');
  await sealed.write({ kind: 'put', item: { ...at, input }, conditions: [] });
  expect(await sealed.get(at).catch(codeOf)).toMatchObject({ input });
});

test('F01 sealed: a payload that only fits before it is encrypted is in chunks', async () => {
  const table = new MemoryTable();
  const sealed = new SealedTable(table, cipher);
  const at = { pk, sk: 't#1' };
  const outcome = `1j:"${'x'.repeat(60_000)}"`;
  expect(await sealed.write({ kind: 'put', item: { ...at, outcome }, conditions: [] }).catch(messageOf)).toMatchObject({
    ok: true,
  });
  expect((await table.get(at))?.['outcome']).toMatch(/^1b:/);
});

test('F01 counted: an attribute that no list has is not stored', async () => {
  const write = { kind: 'put', item: { pk, sk: 't#1', note: 'x' }, conditions: [] } as const;
  expect(await new SealedTable(new MemoryTable()).write(write).catch(codeOf)).toBe('INTERNAL');
});

test('item of a newer form: a transaction that meets it says so, and changes nothing', async () => {
  const table = new MemoryTable();
  const key = { pk: `run#${'a'.repeat(32)}`, sk: 'a' };
  await table.write({ kind: 'put', item: { ...key, format: 4, status: 'held' }, conditions: [] });
  const sealed = new SealedTable(table);
  const update = { kind: 'update', key, set: { status: 'running' }, conditions: [] } as const;
  expect(await sealed.transact([update]).catch(codeOf)).toBe('HISTORY_FORMAT_UNKNOWN');
  expect(await sealed.write(update).catch(codeOf)).toBe('HISTORY_FORMAT_UNKNOWN');
  expect(await table.get(key)).toMatchObject({ status: 'held' });
});
