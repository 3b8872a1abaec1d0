import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EngineError } from '../../../lib/base/errors.js';
import { type Log, silentLog } from '../../../lib/base/log.js';
import { type JournaledTable, openJournaledTable } from '../../../lib/store/memory/journal.js';
import { durableTable, JournalWriter } from '../../../lib/store/memory/journal-writer.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import type { Item, Table, Write } from '../../../lib/store/table.js';
import { arbitraryCalls } from '../../support/arbitrary-writes.js';
import { heardLog } from '../../support/outputs/heard.js';

const headerLine = '{"format":"outwait-journal","version":1}\n';

let folder: string;
let file: string;
const opened: JournaledTable[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-journal-'));
  file = join(folder, 'journal.jsonl');
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(folder, { recursive: true });
});

async function open(log: Log = silentLog): Promise<JournaledTable> {
  const journaled = await openJournaledTable({ file, log });
  opened.push(journaled);
  return journaled;
}

const put = (sk: string, attributes: Record<string, string | number> = {}): Write => ({
  kind: 'put',
  item: { pk: 'p', sk, ...attributes },
  conditions: [],
});

function recordingLog(): { log: Log; entries: unknown[][] } {
  const entries: unknown[][] = [];
  const note = (...entry: unknown[]) => void entries.push(entry);
  return { log: heardLog({ ...silentLog, info: note, warn: note }), entries };
}

describe('a journaled table', () => {
  it('has every acknowledged write when it is opened again, without having been closed', async () => {
    const { table } = await open();
    await table.write(put('a', { x: 1, text: 'ä\n"\u2028' }));
    await table.write({ kind: 'update', key: { pk: 'p', sk: 'a' }, set: { y: 2 }, remove: ['x'], conditions: [] });
    await table.transact([put('b', { dueShard: 's', dueAtMs: 5 }), put('c')]);
    const again = await open();
    expect(await again.table.queryPartition('p')).toEqual([
      { pk: 'p', sk: 'a', text: 'ä\n"\u2028', y: 2 },
      { pk: 'p', sk: 'b', dueShard: 's', dueAtMs: 5 },
      { pk: 'p', sk: 'c' },
    ]);
    const due = await again.table.queryIndex({ index: 'due', partition: 's', order: 'ascending', limit: 9 });
    expect(due.items).toEqual([{ pk: 'p', sk: 'b', dueShard: 's', dueAtMs: 5 }]);
  });

  it('is the same after each of many random writes when it is opened again', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryCalls('q'), async (calls) => {
        await rm(file, { force: true });
        const memory = new MemoryTable();
        for (const call of calls) {
          const journaled = await openJournaledTable({ file, log: silentLog });
          expect(await journaled.table.transact(call)).toEqual(await memory.transact(call));
          await journaled.close();
        }
        const { table } = await open();
        for (const pk of ['q-1', 'q-2'])
          expect(await table.queryPartition(pk)).toEqual(await memory.queryPartition(pk));
      }),
      { numRuns: 25 },
    );
  });

  it('writes a transaction as one line, and a refused write not at all', async () => {
    const { table } = await open();
    await table.transact([put('a'), put('b', { x: 1 })]);
    await table.write({ kind: 'put', item: { pk: 'p', sk: 'a', x: 2 }, conditions: [{ kind: 'itemAbsent' }] });
    expect(await readFile(file, 'utf8')).toBe(`${headerLine}[{"pk":"p","sk":"a"},{"pk":"p","sk":"b","x":1}]\n`);
  });

  it('survives a crash in the middle of its last line, wherever that was', async () => {
    const { table } = await open();
    await table.write(put('a', { x: 1 }));
    const before = await readFile(file);
    await table.transact([put('a', { x: 2 }), put('b')]);
    const after = await readFile(file);
    for (let length = before.length; length < after.length; length++) {
      await writeFile(file, after.subarray(0, length));
      const again = await openJournaledTable({ file, log: silentLog });
      expect(await again.table.queryPartition('p')).toEqual([{ pk: 'p', sk: 'a', x: 1 }]);
      await again.table.write(put('c'));
      await again.close();
      const third = await openJournaledTable({ file, log: silentLog });
      expect((await third.table.queryPartition('p')).map((item) => item.sk)).toEqual(['a', 'c']);
      await third.close();
    }
  });

  it('says that it has cut a torn last line, and where', async () => {
    await writeFile(file, `${headerLine}[{"pk":"p","sk":"a"}]\n[{"pk":"p","s`);
    const { log, entries } = recordingLog();
    await open(log);
    expect(entries).toEqual([['journal: last line cut short by a crash, removed', { file, line: 3 }]]);
    expect(await readFile(file, 'utf8')).toBe(`${headerLine}[{"pk":"p","sk":"a"}]\n`);
  });

  it('also cuts a last line of garbage that has a newline', async () => {
    await writeFile(file, `${headerLine}[{"pk":"p","sk":"a"}]\n\0\0\0\n`);
    const { table } = await open();
    expect(await table.queryPartition('p')).toEqual([{ pk: 'p', sk: 'a' }]);
  });

  it('starts over when the crash cut its very first line', async () => {
    await writeFile(file, headerLine.slice(0, 12));
    const { table } = await open();
    await table.write(put('a'));
    expect(await readFile(file, 'utf8')).toBe(`${headerLine}[{"pk":"p","sk":"a"}]\n`);
  });

  it.each([
    ['not JSON', '[{"pk":'],
    ['not a list', '{"pk":"p","sk":"a"}'],
    ['a list of nothing', '[]'],
    ['an item without its key', '[{"pk":"p"}]'],
    ['an item with a map in it', '[{"pk":"p","sk":"a","x":{}}]'],
  ])('refuses a damaged line that is not the last: %s', async (_, line) => {
    const content = `${headerLine}[{"pk":"p","sk":"z"}]\n${line}\n[{"pk":"p","sk":"b"}]\n`;
    await writeFile(file, content);
    await expect(open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${file} is damaged: line 3 cannot be read and is not the last`,
    });
    expect(await readFile(file, 'utf8')).toBe(content);
  });

  it('refuses a journal of another version and leaves it as it is', async () => {
    const content = '{"format":"outwait-journal","version":2}\n[{"pk":"p","sk":"a"}]\n';
    await writeFile(file, content);
    await expect(open()).rejects.toMatchObject({
      code: 'HISTORY_FORMAT_UNKNOWN',
      message: `${file} is a journal of format version 2; this release reads version 1`,
    });
    expect(await readFile(file, 'utf8')).toBe(content);
  });

  it.each(['hello', 'hello\n', '{"name":"outwait"}\n', '[]\n', 'null\n', '\n'])(
    'refuses %j, which is not a journal, and leaves it as it is',
    async (content) => {
      await writeFile(file, content);
      await expect(open()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: `${file} is not a journal of outwait`,
      });
      expect(await readFile(file, 'utf8')).toBe(content);
    },
  );

  it('is written anew at open when most of its lines are out of date', async () => {
    const lines = Array.from({ length: 1_500 }, (_, n) => `[{"pk":"p","sk":"a","n":${n}}]\n`);
    await writeFile(file, `${headerLine}[{"pk":"p","sk":"b"}]\n${lines.join('')}`);
    const { log, entries } = recordingLog();
    const { table } = await open(log);
    expect(await readFile(file, 'utf8')).toBe(`${headerLine}[{"pk":"p","sk":"a","n":1499}]\n[{"pk":"p","sk":"b"}]\n`);
    expect(entries).toEqual([['journal compacted', { file, lines: 1_502, items: 2 }]]);
    await table.write(put('c'));
    const again = await open();
    expect((await again.table.queryPartition('p')).map((item) => item.sk)).toEqual(['a', 'b', 'c']);
  });

  it('keeps every item of many megabytes when it is written anew', async () => {
    const text = 'x'.repeat(390_000);
    const stale = '[{"pk":"p","sk":"a"}]\n'.repeat(1_100);
    const large = Array.from({ length: 8 }, (_, n) => `[{"pk":"p","sk":"s${n}","text":"${text}"}]\n`);
    await writeFile(file, `${headerLine}${stale}${large.join('')}`);
    await (await open()).close();
    expect((await stat(file)).size).toBe(headerLine.length + 22 + large.join('').length);
    expect(await (await open()).table.queryPartition('p')).toHaveLength(9);
  });

  it('is not written anew while it is short', async () => {
    await writeFile(file, headerLine + '[{"pk":"p","sk":"a"}]\n'.repeat(900));
    await open();
    expect((await stat(file)).size).toBe(headerLine.length + 900 * 22);
  });

  it('reads a journal of many megabytes with lines longer than a read', async () => {
    const text = 'x'.repeat(390_000);
    const first = await open();
    const writes = Array.from({ length: 10 }, (_, n) => put(`s${n}`, { text }));
    await first.table.transact(writes);
    await first.table.write(put('t'));
    const again = await open();
    const items = await again.table.queryPartition('p');
    expect(items).toHaveLength(11);
    expect(items.every((item) => item.sk === 't' || item['text'] === text)).toBe(true);
  });

  it('takes no call after it was closed', async () => {
    const { table, close } = await open();
    await close();
    const closed = { code: 'STORE_UNAVAILABLE', message: 'the journal is closed' };
    await expect(table.write(put('a'))).rejects.toMatchObject(closed);
    await expect(table.get({ pk: 'p', sk: 'a' })).rejects.toMatchObject(closed);
    await close();
  });

  it('has everything on the disk when it closes', async () => {
    const { table, close } = await open();
    const writing = Array.from({ length: 20 }, (_, n) => table.write(put(`s${n}`)));
    await close();
    await Promise.all(writing);
    expect(await (await open()).table.queryPartition('p')).toHaveLength(20);
  });
});

/** Creates a file whose writes wait until the test lets them finish or fail. */
function slowFile() {
  const flushes: { text: string; finish: () => void; fail: (error: Error) => void }[] = [];
  const datasync = () =>
    new Promise<void>((resolve, reject) => {
      flushes.push({ text: written, finish: resolve, fail: reject });
      written = '';
    });
  let written = '';
  const appendFile = async (text: string) => {
    written += text;
  };
  return { flushes, file: { appendFile, datasync, close: async () => undefined } };
}

function slowTable(): { table: Table; flushes: ReturnType<typeof slowFile>['flushes']; lost: EngineError[] } {
  const { file: slow, flushes } = slowFile();
  const lost: EngineError[] = [];
  const writer = new JournalWriter(slow, (error) => lost.push(error));
  const memory = new MemoryTable({
    onApplied: (items: readonly Item[]) => {
      writer.append(items);
    },
  });
  return { table: durableTable(memory, writer), flushes, lost };
}

/** Lets everything run that waits for nothing outside. */
const drain = () => new Promise((resolve) => setImmediate(resolve));

describe('an acknowledgement of a journaled table', () => {
  it('waits for the disk, for reads and refusals of what is not there yet too', async () => {
    const { table, flushes } = slowTable();
    const answered: string[] = [];
    const note = (what: string) => () => void answered.push(what);
    const write = table.write(put('a', { x: 1 })).then(note('write'));
    const read = table.get({ pk: 'p', sk: 'a' }).then(note('read'));
    const refused = table
      .write({ kind: 'put', item: { pk: 'p', sk: 'a' }, conditions: [{ kind: 'itemAbsent' }] })
      .then(note('refused'));
    await drain();
    const during = table.queryPartition('p').then(note('read during the flush'));
    await drain();
    expect(answered).toEqual([]);
    flushes[0]!.finish();
    await Promise.all([write, read, refused, during]);
    expect(answered.sort()).toEqual(['read', 'read during the flush', 'refused', 'write']);
    expect(flushes).toHaveLength(1);
  });

  it('of writes that come during a flush shares the next one', async () => {
    const { table, flushes } = slowTable();
    const first = table.write(put('a'));
    await drain();
    const others = ['b', 'c', 'd'].map((sk) => table.write(put(sk)));
    await drain();
    expect(flushes.map((flush) => flush.text)).toEqual(['[{"pk":"p","sk":"a"}]\n']);
    flushes[0]!.finish();
    await first;
    await drain();
    expect(flushes[1]!.text).toBe('[{"pk":"p","sk":"b"}]\n[{"pk":"p","sk":"c"}]\n[{"pk":"p","sk":"d"}]\n');
    flushes[1]!.finish();
    await Promise.all(others);
    expect(flushes).toHaveLength(2);
  });

  it('never comes when the disk fails: the write is unknown, the table takes nothing more, and its user is told once', async () => {
    const { table, flushes, lost } = slowTable();
    const write = table.write(put('a'));
    const read = table.get({ pk: 'p', sk: 'a' });
    await drain();
    const waiting = table.write(put('b'));
    flushes[0]!.fail(Object.assign(new Error('secret path'), { code: 'ENOSPC' }));
    const message = 'the journal could not be written (ENOSPC)';
    await expect(write).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN', message });
    await expect(waiting).rejects.toMatchObject({ code: 'STORE_RESULT_UNKNOWN', message });
    await expect(read).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message });
    await expect(table.get({ pk: 'p', sk: 'a' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(table.write(put('c'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(flushes).toHaveLength(1);
    expect(lost).toEqual([expect.objectContaining({ code: 'STORE_UNAVAILABLE', message })]);
  });
});
