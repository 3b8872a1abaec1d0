import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Condition, IndexQuery, Item, Scalar, Table, Write, WriteResult } from '../../lib/store/table.js';

export interface TableSetup {
  readonly table: Table;
  close(): Promise<void>;
}

let partitions = 0;

/**
 * Tests the promises of `Table`, which every implementation keeps. `setup` is called once; each test has its own
 * partitions.
 */
export function describeTable(name: string, setup: () => Promise<TableSetup>): void {
  describe(name, () => {
    let opened: TableSetup;
    let table: Table;
    let pk: string;
    beforeAll(async () => {
      opened = await setup();
      table = opened.table;
    });
    afterAll(async () => {
      await opened.close();
    });
    beforeEach(() => {
      pk = `p${++partitions}`;
    });

    const put = (sk: string, attributes: Record<string, Scalar | undefined> = {}, ...conditions: Condition[]) =>
      table.write({ kind: 'put', item: { pk, sk, ...attributes }, conditions });
    const update = (
      sk: string,
      change: Omit<Extract<Write, { kind: 'update' }>, 'kind' | 'key' | 'conditions'>,
      ...conditions: Condition[]
    ) => table.write({ kind: 'update', key: { pk, sk }, ...change, conditions });
    const get = (sk: string) => table.get({ pk, sk });

    describe('put', () => {
      it('stores strings and numbers as they are and answers the item put', async () => {
        const attributes = { text: 'ä😀\n"', empty: '', at: 1_796_000_000_123, half: 0.5, negative: -7, zero: 0 };
        expect(await put('a', attributes)).toEqual({ ok: true, item: { pk, sk: 'a', ...attributes } });
        expect(await get('a')).toEqual({ pk, sk: 'a', ...attributes });
      });

      it('stores a negative zero as zero', async () => {
        await put('a', { x: -0 });
        await update('b', { set: { x: -0 }, increment: { y: -0 } });
        expect(await get('a')).toEqual({ pk, sk: 'a', x: 0 });
        expect(await get('b')).toEqual({ pk, sk: 'b', x: 0, y: 0 });
      });

      it('leaves out attributes that are undefined', async () => {
        const result = await put('a', { x: 1, y: undefined });
        expect(Object.keys(itemOf(result)).sort()).toEqual(['pk', 'sk', 'x']);
        expect(Object.keys((await get('a'))!).sort()).toEqual(['pk', 'sk', 'x']);
      });

      it.each([
        ['partition', { pk: 'p'.repeat(2_049), sk: 'a' }],
        ['sort part', { pk: 'p', sk: 's'.repeat(1_025) }],
      ])('refuses a key whose %s is too long, also in a read and in a write whose condition fails', async (_, key) => {
        const absent: Condition = { kind: 'equals', attribute: 'x', value: 1 };
        await expect(table.get(key)).rejects.toMatchObject({ code: 'INTERNAL' });
        await expect(table.write({ kind: 'update', key, set: { x: 2 }, conditions: [absent] })).rejects.toMatchObject({
          code: 'INTERNAL',
        });
      });

      it('replaces the whole item', async () => {
        await put('a', { x: 1, y: 2 });
        await put('a', { x: 3 });
        expect(await get('a')).toEqual({ pk, sk: 'a', x: 3 });
      });

      it('if absent succeeds once and then answers the item that is there', async () => {
        expect(await put('a', { x: 1 }, { kind: 'itemAbsent' })).toEqual({ ok: true, item: { pk, sk: 'a', x: 1 } });
        expect(await put('a', { x: 2 }, { kind: 'itemAbsent' })).toEqual({ ok: false, old: { pk, sk: 'a', x: 1 } });
        expect(await get('a')).toEqual({ pk, sk: 'a', x: 1 });
      });

      it('does not see what the caller does to its object afterwards', async () => {
        const item: { pk: string; sk: string; x: number } = { pk, sk: 'a', x: 1 };
        await table.write({ kind: 'put', item, conditions: [] });
        item.x = 2;
        expect(await get('a')).toEqual({ pk, sk: 'a', x: 1 });
      });

      it('hands out items that cannot change what is stored', async () => {
        await put('a', { x: 1 });
        const item = (await get('a')) as unknown as { x: number };
        try {
          item.x = 2;
        } catch {
          // Throws if the item is frozen.
        }
        expect(await get('a')).toEqual({ pk, sk: 'a', x: 1 });
      });

      it('keeps an item of 350 KB', async () => {
        const text = 'é'.repeat(175 * 1024);
        await put('a', { text });
        expect(await get('a')).toEqual({ pk, sk: 'a', text });
      });

      it('refuses an item over 400 KB and changes nothing', async () => {
        await put('a', { x: 1 });
        await expect(put('a', { text: 'x'.repeat(400 * 1024) })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
        expect(await get('a')).toEqual({ pk, sk: 'a', x: 1 });
      });

      it.each([
        ['a string as the number of the due index', { dueShard: 's', dueAtMs: '5' }],
        ['a number as the partition of an index', { dueShard: 5, dueAtMs: 5 }],
        ['an empty string as an index key', { listPartition: 'l', listSort: '' }],
        ['a number that is not finite', { x: Number.NaN }],
      ])('refuses %s', async (_, attributes: Record<string, Scalar>) => {
        await expect(put('a', attributes)).rejects.toMatchObject({ code: 'INTERNAL' });
        expect(await get('a')).toBeUndefined();
      });

      it('refuses an empty key', async () => {
        await expect(put('', {})).rejects.toMatchObject({ code: 'INTERNAL' });
      });
    });

    describe('update', () => {
      it('sets, removes and increments in one write and answers the item as it is now', async () => {
        await put('a', { keep: 'k', drop: 'd', count: 2, word: 'old' });
        const result = await update('a', {
          set: { word: 'new', more: 1 },
          remove: ['drop', 'never'],
          increment: { count: 3, fresh: -1 },
        });
        const now = { pk, sk: 'a', keep: 'k', count: 5, word: 'new', more: 1, fresh: -1 };
        expect(result).toEqual({ ok: true, item: now });
        expect(await get('a')).toEqual(now);
      });

      it('creates the item when it is absent', async () => {
        expect(await update('a', { set: { x: 1 }, increment: { n: 2 } })).toEqual({
          ok: true,
          item: { pk, sk: 'a', x: 1, n: 2 },
        });
        expect(await update('b', {})).toEqual({ ok: true, item: { pk, sk: 'b' } });
        expect(await get('b')).toEqual({ pk, sk: 'b' });
      });

      it('does not create the item when it must exist', async () => {
        const result = await update('a', { set: { x: 1 } }, { kind: 'itemExists' });
        expect(result).toEqual({ ok: false, old: undefined });
        expect(await get('a')).toBeUndefined();
      });

      it('answers the old item whole when a condition fails, and changes nothing', async () => {
        const old = { pk, sk: 'a', text: 'x'.repeat(2_000), dueShard: `s${pk}`, dueAtMs: 5, n: 0 };
        await table.write({ kind: 'put', item: old, conditions: [] });
        expect(await update('a', { set: { n: 1 }, remove: ['text'] }, { kind: 'absent', attribute: 'n' })).toEqual({
          ok: false,
          old,
        });
        expect(await get('a')).toEqual(old);
      });

      it.each([
        ['a key attribute', { set: { sk: 'b' } }],
        ['one attribute twice', { set: { x: 1 }, remove: ['x'] }],
        ['a word by a number', { increment: { word: 1 } }],
      ])('refuses to change %s', async (_, change) => {
        await put('a', { word: 'w' });
        await expect(update('a', change)).rejects.toMatchObject({ code: 'INTERNAL' });
        expect(await get('a')).toEqual({ pk, sk: 'a', word: 'w' });
      });

      it('refuses to let an item grow over 400 KB', async () => {
        await put('a', { one: 'x'.repeat(300 * 1024) });
        await expect(update('a', { set: { two: 'x'.repeat(101 * 1024) } })).rejects.toMatchObject({
          code: 'PAYLOAD_TOO_LARGE',
        });
      });
    });

    describe('conditions', () => {
      const old = { word: 'w', empty: '', number: 5 };
      const cases: readonly (readonly [string, Condition, onItem: boolean, onNothing: boolean])[] = [
        ['itemExists', { kind: 'itemExists' }, true, false],
        ['itemAbsent', { kind: 'itemAbsent' }, false, true],
        ['absent, of an attribute that is there', { kind: 'absent', attribute: 'word' }, false, true],
        ['absent, of one that is empty', { kind: 'absent', attribute: 'empty' }, false, true],
        ['absent, of one that is not there', { kind: 'absent', attribute: 'none' }, true, true],
        ['present, of an attribute that is there', { kind: 'present', attribute: 'word' }, true, false],
        ['present, of one that is not there', { kind: 'present', attribute: 'none' }, false, false],
        ['equals, the same word', { kind: 'equals', attribute: 'word', value: 'w' }, true, false],
        ['equals, another word', { kind: 'equals', attribute: 'word', value: 'W' }, false, false],
        ['equals, the same number', { kind: 'equals', attribute: 'number', value: 5 }, true, false],
        ['equals, the number as a word', { kind: 'equals', attribute: 'number', value: '5' }, false, false],
        ['equals, of an absent attribute', { kind: 'equals', attribute: 'none', value: '' }, false, false],
        ['absentOrAtMost, below', { kind: 'absentOrAtMost', attribute: 'number', value: 4 }, false, true],
        ['absentOrAtMost, at', { kind: 'absentOrAtMost', attribute: 'number', value: 5 }, true, true],
        ['absentOrAtMost, above', { kind: 'absentOrAtMost', attribute: 'number', value: 6 }, true, true],
        ['absentOrAtMost, of an absent attribute', { kind: 'absentOrAtMost', attribute: 'none', value: 0 }, true, true],
        ['absentOrAbove, below', { kind: 'absentOrAbove', attribute: 'number', value: 4 }, true, true],
        ['absentOrAbove, at', { kind: 'absentOrAbove', attribute: 'number', value: 5 }, false, true],
        ['absentOrAbove, above', { kind: 'absentOrAbove', attribute: 'number', value: 6 }, false, true],
        ['absentOrAbove, of an absent attribute', { kind: 'absentOrAbove', attribute: 'none', value: 9 }, true, true],
        ['absentOrAbove, of a word', { kind: 'absentOrAbove', attribute: 'word', value: 0 }, false, true],
        ['absentOrAtMost, of a word', { kind: 'absentOrAtMost', attribute: 'word', value: 9 }, false, true],
      ];
      it.each(cases)('%s', async (_, condition, onItem, onNothing) => {
        await put('put', old);
        await put('update', old);
        expect((await put('put', {}, condition)).ok).toBe(onItem);
        expect((await update('update', { set: { x: 1 } }, condition)).ok).toBe(onItem);
        expect((await put('put-nothing', {}, condition)).ok).toBe(onNothing);
        expect((await update('update-nothing', { set: { x: 1 } }, condition)).ok).toBe(onNothing);
        const [first] =
          (await refusals(table, { kind: 'put', item: { pk, sk: 'tx', ...old }, conditions: [condition] })) ?? [];
        expect(first === undefined).toBe(onNothing);
      });

      it('must all hold', async () => {
        await put('a', { x: 1, y: 2 });
        const x: Condition = { kind: 'equals', attribute: 'x', value: 1 };
        const y: Condition = { kind: 'equals', attribute: 'y', value: 3 };
        expect((await update('a', { set: { x: 9 } }, x, y)).ok).toBe(false);
        expect((await update('a', { set: { x: 9 } }, y, x)).ok).toBe(false);
        expect((await update('a', { set: { x: 9 } }, x)).ok).toBe(true);
      });

      it('take words that DynamoDB reserves as names of attributes', async () => {
        await put('a', { status: 'running', name: 'n', ttl: 3 });
        const result = await update(
          'a',
          { set: { status: 'ended' }, remove: ['name'] },
          { kind: 'equals', attribute: 'status', value: 'running' },
          { kind: 'absentOrAtMost', attribute: 'ttl', value: 3 },
        );
        expect(result).toEqual({ ok: true, item: { pk, sk: 'a', status: 'ended', ttl: 3 } });
      });
    });

    describe('transaction', () => {
      it('applies all its writes, in several partitions', async () => {
        await put('head', { status: 'running', count: 1 });
        const result = await table.transact([
          {
            kind: 'update',
            key: { pk, sk: 'head' },
            increment: { count: 1 },
            conditions: [{ kind: 'equals', attribute: 'status', value: 'running' }],
          },
          { kind: 'put', item: { pk: `${pk}-other`, sk: 'i', x: 1 }, conditions: [{ kind: 'itemAbsent' }] },
        ]);
        expect(result).toEqual({ ok: true });
        expect(await get('head')).toEqual({ pk, sk: 'head', status: 'running', count: 2 });
        expect(await table.get({ pk: `${pk}-other`, sk: 'i' })).toEqual({ pk: `${pk}-other`, sk: 'i', x: 1 });
      });

      it('applies nothing when one condition fails, and says for each write whether it was its own', async () => {
        await put('there', { x: 1 });
        const result = await table.transact([
          { kind: 'put', item: { pk, sk: 'fresh' }, conditions: [{ kind: 'itemAbsent' }] },
          { kind: 'put', item: { pk, sk: 'there', x: 2 }, conditions: [{ kind: 'itemAbsent' }] },
          { kind: 'update', key: { pk, sk: 'there-2' }, set: { x: 3 }, conditions: [] },
          { kind: 'update', key: { pk, sk: 'missing' }, set: { x: 4 }, conditions: [{ kind: 'itemExists' }] },
        ]);
        expect(result).toEqual({
          ok: false,
          refused: [undefined, { old: { pk, sk: 'there', x: 1 } }, undefined, { old: undefined }],
        });
        expect(await table.queryPartition(pk)).toEqual([{ pk, sk: 'there', x: 1 }]);
      });

      it('of one write behaves like the write', async () => {
        const write: Write = { kind: 'put', item: { pk, sk: 'a', x: 1 }, conditions: [{ kind: 'itemAbsent' }] };
        expect(await table.transact([write])).toEqual({ ok: true });
        expect(await table.transact([write])).toEqual({ ok: false, refused: [{ old: { pk, sk: 'a', x: 1 } }] });
      });

      it('takes 100 writes', async () => {
        const writes = Array.from({ length: 100 }, (_, n): Write => ({
          kind: 'put',
          item: { pk, sk: `s${n}` },
          conditions: [],
        }));
        expect(await table.transact(writes)).toEqual({ ok: true });
        expect(await table.queryPartition(pk)).toHaveLength(100);
      });

      it.each([
        ['no write', 0, (n: number) => `s${n}`],
        ['more than 100 writes', 101, (n: number) => `s${n}`],
        ['two writes of one item', 2, () => 's'],
      ])('refuses %s', async (_, length, sk) => {
        const writes = Array.from({ length }, (_unused, n): Write => ({
          kind: 'put',
          item: { pk, sk: sk(n) },
          conditions: [],
        }));
        await expect(table.transact(writes)).rejects.toMatchObject({ code: 'INTERNAL' });
        expect(await table.queryPartition(pk)).toEqual([]);
      });

      it('refuses an update that changes nothing', async () => {
        await expect(
          table.transact([
            { kind: 'update', key: { pk, sk: 'a' }, conditions: [] },
            { kind: 'put', item: { pk, sk: 'b' }, conditions: [] },
          ]),
        ).rejects.toMatchObject({ code: 'INTERNAL' });
      });

      it('refuses more than 4 MiB and applies none of it', async () => {
        const text = 'x'.repeat(390_000);
        const writes = Array.from({ length: 11 }, (_, n): Write => ({
          kind: 'put',
          item: { pk, sk: `s${n}`, text },
          conditions: [],
        }));
        await expect(table.transact(writes)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
        expect(await table.queryPartition(pk)).toEqual([]);
      });
    });

    describe('attributes that are asked for', () => {
      beforeEach(async () => {
        await put('a', { x: 1, y: 2 });
        await put('b', { y: 3 });
      });

      it('are all that get gives beside the key', async () => {
        expect(await table.get({ pk, sk: 'a' }, ['x', 'z'])).toEqual({ pk, sk: 'a', x: 1 });
        expect(await table.get({ pk, sk: 'b' }, ['x'])).toEqual({ pk, sk: 'b' });
        expect(await table.get({ pk, sk: 'c' }, ['x'])).toBeUndefined();
      });

      it('are all that a partition query gives beside the keys', async () => {
        expect(await table.queryPartition(pk, '', undefined, ['x'])).toEqual([
          { pk, sk: 'a', x: 1 },
          { pk, sk: 'b' },
        ]);
      });
    });

    describe('partition query', () => {
      it('answers in the order of sk, whatever the order of the writes', async () => {
        const sks = ['h#0000000002', 'a', 't#2', 'h#0000000010', 'i#x', 'h#0000000001', 't#10'];
        for (const sk of sks) await put(sk);
        expect((await table.queryPartition(pk)).map((item) => item.sk)).toEqual([
          'a',
          'h#0000000001',
          'h#0000000002',
          'h#0000000010',
          'i#x',
          't#10',
          't#2',
        ]);
      });

      it('orders by UTF-8 bytes', async () => {
        for (const sk of ['\u{1F600}', '\uFFFD', 'z', 'é', 'Z', 'za']) await put(sk);
        expect((await table.queryPartition(pk)).map((item) => item.sk)).toEqual([
          'Z',
          'z',
          'za',
          'é',
          '\uFFFD',
          '\u{1F600}',
        ]);
      });

      it('answers only what begins with the prefix, and everything for an empty one', async () => {
        for (const sk of ['a', 'h#1', 'h#2', 'h', 'i#1']) await put(sk);
        expect((await table.queryPartition(pk, 'h#')).map((item) => item.sk)).toEqual(['h#1', 'h#2']);
        expect(await table.queryPartition(pk, '')).toHaveLength(5);
        expect(await table.queryPartition(pk, 'x')).toEqual([]);
      });

      it('answers only what stands behind a sort key, whether an item has it or not', async () => {
        for (const sk of ['a', 'h#1', 'h#2', 'h#3', 'i#1', 't#1']) await put(sk);
        const after = async (...range: [string | undefined, string]) =>
          (await table.queryPartition(pk, ...range)).map((item) => item.sk);
        expect(await after(undefined, 'h#2')).toEqual(['h#3', 'i#1', 't#1']);
        expect(await after('h#', 'h#2')).toEqual(['h#3']);
        expect(await after('h#', 'h#25')).toEqual(['h#3']);
        expect(await after('h#', 'h#3')).toEqual([]);
        expect(await after(undefined, 'z')).toEqual([]);
      });

      it('answers more than 1 MB behind a sort key', async () => {
        const text = 'x'.repeat(350 * 1024);
        for (let n = 0; n < 6; n++) await put(`h#${n}`, { text, n });
        expect((await table.queryPartition(pk, 'h#', 'h#0')).map((item) => item['n'])).toEqual([1, 2, 3, 4, 5]);
      });

      it('answers nothing for a partition that is not there', async () => {
        expect(await table.queryPartition(pk)).toEqual([]);
        expect(await table.queryPartition(pk, 'h#', 'h#1')).toEqual([]);
      });

      it('answers 250 items', async () => {
        const sks = Array.from({ length: 250 }, (_, n) => `h#${String(n).padStart(10, '0')}`);
        for (const sk of sks) await put(sk);
        expect((await table.queryPartition(pk)).map((item) => item.sk)).toEqual(sks);
      });

      it('answers a partition of more than 1 MB', async () => {
        const text = 'x'.repeat(350 * 1024);
        for (let n = 0; n < 7; n++) await put(`h#${n}`, { text, n });
        const items = await table.queryPartition(pk);
        expect(items.map((item) => item['n'])).toEqual([0, 1, 2, 3, 4, 5, 6]);
        expect(items.every((item) => item['text'] === text)).toBe(true);
      });

      it('sees every write that was acknowledged before it', async () => {
        for (let n = 0; n < 20; n++) {
          await put(`h#${String(n).padStart(3, '0')}`);
          expect(await table.queryPartition(pk)).toHaveLength(n + 1);
        }
      });
    });

    describe('index', () => {
      const due = (until?: number): IndexQuery => ({
        index: 'due',
        partition: `shard-${pk}`,
        order: 'ascending',
        limit: 50,
        ...(until === undefined ? {} : { until }),
      });
      const marker = (dueAtMs: number) => ({ dueShard: `shard-${pk}`, dueAtMs });
      const list = (limit = 50): IndexQuery => ({ index: 'list', partition: `list-${pk}`, order: 'descending', limit });
      const listed = (listSort: string) => ({ listPartition: `list-${pk}`, listSort });
      const walk = async (query: IndexQuery): Promise<Item[][]> => {
        const pages: Item[][] = [];
        let cursor: string | undefined;
        do {
          const page = await table.queryIndex({ ...query, ...(cursor === undefined ? {} : { cursor }) });
          pages.push([...page.items]);
          cursor = page.cursor;
        } while (cursor !== undefined);
        return pages;
      };

      it('holds only the items that have both of its attributes', async () => {
        await put('both', marker(1));
        await put('shard only', { dueShard: `shard-${pk}` });
        await put('instant only', { dueAtMs: 1 });
        await put('neither');
        expect((await table.queryIndex(due())).items.map((item) => item.sk)).toEqual(['both']);
      });

      it('answers keys and projected attributes only', async () => {
        await put('a', { ...marker(1), ...listed('x'), settledAtMs: 7, workflow: 'w', secret: 's' });
        expect((await table.queryIndex(due())).items).toEqual([{ pk, sk: 'a', ...marker(1), settledAtMs: 7 }]);
        expect((await table.queryIndex(list())).items).toEqual([{ pk, sk: 'a', ...listed('x'), workflow: 'w' }]);
      });

      it('follows an item in, along and out', async () => {
        await put('a', { x: 1 });
        expect((await table.queryIndex(due())).items).toEqual([]);
        await update('a', { set: marker(5) });
        expect((await table.queryIndex(due())).items).toEqual([{ pk, sk: 'a', ...marker(5) }]);
        await update('a', { set: { dueAtMs: 9, settledAtMs: 4 } });
        expect((await table.queryIndex(due())).items).toEqual([{ pk, sk: 'a', ...marker(9), settledAtMs: 4 }]);
        await update('a', { set: { dueShard: `shard-${pk}-2` } });
        expect((await table.queryIndex(due())).items).toEqual([]);
        expect((await table.queryIndex({ ...due(), partition: `shard-${pk}-2` })).items).toHaveLength(1);
        await update('a', { remove: ['dueShard', 'dueAtMs'] });
        expect((await table.queryIndex({ ...due(), partition: `shard-${pk}-2` })).items).toEqual([]);
      });

      it('follows an item that a put or a transaction replaces', async () => {
        await put('a', marker(1));
        await put('b', marker(2));
        await put('a', {});
        await table.transact([
          { kind: 'put', item: { pk, sk: 'b' }, conditions: [] },
          { kind: 'put', item: { pk, sk: 'c', ...marker(3) }, conditions: [] },
        ]);
        expect((await table.queryIndex(due())).items.map((item) => item.sk)).toEqual(['c']);
      });

      it('is not changed by a write that was refused', async () => {
        await put('a', marker(1));
        await update('a', { remove: ['dueAtMs'] }, { kind: 'itemAbsent' });
        expect((await table.queryIndex(due())).items).toHaveLength(1);
      });

      it('orders numbers by value, up to and with the bound', async () => {
        for (const at of [100, 9, 1_796_000_000_000, 20, 0]) await put(`at-${at}`, marker(at));
        expect((await table.queryIndex(due(100))).items.map((item) => item['dueAtMs'])).toEqual([0, 9, 20, 100]);
        expect(
          (await table.queryIndex({ ...due(99), order: 'descending' })).items.map((item) => item['dueAtMs']),
        ).toEqual([20, 9, 0]);
      });

      it('orders words, newest first when asked', async () => {
        for (const at of ['002#b', '010#a', '001#c']) await put(`at-${at}`, listed(at));
        expect((await table.queryIndex(list())).items.map((item) => item['listSort'])).toEqual([
          '010#a',
          '002#b',
          '001#c',
        ]);
        const ascending: IndexQuery = { ...list(), order: 'ascending', until: '002#b' };
        expect((await table.queryIndex(ascending)).items.map((item) => item['listSort'])).toEqual(['001#c', '002#b']);
      });

      it.each(['ascending', 'descending'] as const)(
        'pages through %s items, each exactly once, ties included',
        async (order) => {
          for (let n = 0; n < 23; n++) await put(`s${n}`, marker(Math.floor(n / 4)));
          const pages = await walk({ ...due(4), order, limit: 5 });
          expect(pages.every((page) => page.length <= 5)).toBe(true);
          const items = pages.flat();
          const instants = items.map((item) => item['dueAtMs'] as number);
          expect(instants).toEqual([...instants].sort((a, b) => (order === 'ascending' ? a - b : b - a)));
          expect(items.map((item) => item.sk).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `s${n}`).sort());
        },
      );

      it('goes on after a row that has moved away since', async () => {
        for (const at of [1, 2, 3, 4]) await put(`at-${at}`, marker(at));
        const first = await table.queryIndex({ ...due(), limit: 2 });
        await update('at-2', { remove: ['dueAtMs'] });
        const second = await table.queryIndex({ ...due(), limit: 2, cursor: first.cursor! });
        expect(second.items.map((item) => item.sk)).toEqual(['at-3', 'at-4']);
      });

      it('refuses a cursor that is not of this list', async () => {
        for (const at of [1, 2]) await put(`at-${at}`, { ...marker(at), ...listed(`l${at}`) });
        const { cursor } = await table.queryIndex({ ...due(), limit: 1 });
        const refused = { code: 'INPUT_INVALID' };
        await expect(table.queryIndex({ ...due(), partition: 'another', cursor: cursor! })).rejects.toMatchObject(
          refused,
        );
        await expect(table.queryIndex({ ...list(), cursor: cursor! })).rejects.toMatchObject(refused);
        const encoded = (...fields: unknown[]) => Buffer.from(JSON.stringify(fields)).toString('base64url');
        const forged = [
          encoded(),
          encoded(`shard-${pk}`, 1, pk),
          encoded(`shard-${pk}`, 1, pk, 'at-1', 'more'),
          encoded(`shard-${pk}`, '1', pk, 'at-1'),
          encoded(`shard-${pk}`, 1, '', 'at-1'),
          encoded(`shard-${pk}`, 1, pk, 7),
        ];
        await expect(table.queryIndex({ ...due(0), cursor: cursor! })).rejects.toMatchObject(refused);
        for (const bad of ['', 'x', 'bnVsbA', `${cursor!}x`, 'A'.repeat(10_000), ...forged]) {
          await expect(table.queryIndex({ ...due(), cursor: bad })).rejects.toMatchObject(refused);
        }
      });

      it('answers nothing for a partition that is not there', async () => {
        expect(await table.queryIndex({ ...due(), partition: 'none' })).toEqual({ items: [] });
      });
    });

    describe('writers at the same time', () => {
      it('of one conditional update: exactly one succeeds, and the others see its item', async () => {
        await put('t', { attempt: 1 });
        const settle = (n: number) =>
          update(
            't',
            { set: { settledBy: `w${n}` } },
            { kind: 'itemExists' },
            { kind: 'absent', attribute: 'settledBy' },
          );
        const results = await Promise.all(Array.from({ length: 50 }, (_, n) => settle(n)));
        const winner = results.findIndex((result) => result.ok);
        expect(results.filter((result) => result.ok)).toHaveLength(1);
        const settled = { pk, sk: 't', attempt: 1, settledBy: `w${winner}` };
        expect(results.filter((result) => !result.ok)).toEqual(
          Array.from({ length: 49 }, () => ({ ok: false, old: settled })),
        );
        expect(await get('t')).toEqual(settled);
      });

      it('of one put if absent: exactly one succeeds', async () => {
        const results = await Promise.all(
          Array.from({ length: 50 }, (_, n) => put('h#1', { n }, { kind: 'itemAbsent' })),
        );
        expect(results.filter((result) => result.ok)).toHaveLength(1);
        expect((await get('h#1'))!['n']).toBe(results.findIndex((result) => result.ok));
      });

      it('lose no increment', async () => {
        await Promise.all(Array.from({ length: 50 }, () => update('n', { increment: { count: 1 } })));
        expect(await get('n')).toEqual({ pk, sk: 'n', count: 50 });
      });

      it('of crossing transactions: all or nothing, never half of two', async () => {
        const claim = (who: string, ...sks: string[]) =>
          table.transact(
            sks.map((sk): Write => ({ kind: 'put', item: { pk, sk, who }, conditions: [{ kind: 'itemAbsent' }] })),
          );
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? claim(`w${n}`, 'a', 'b') : claim(`w${n}`, 'b', 'a'))),
        );
        expect(results.filter((result) => result.ok)).toHaveLength(1);
        const who = `w${results.findIndex((result) => result.ok)}`;
        expect(await table.queryPartition(pk)).toEqual([
          { pk, sk: 'a', who },
          { pk, sk: 'b', who },
        ]);
      });
    });
  });
}

function itemOf(result: WriteResult): Item {
  if (!result.ok) throw new Error('the write was refused');
  return result.item;
}

/** Returns the refusal of each write in a transaction of `write` and one more that always passes. */
async function refusals(table: Table, write: Extract<Write, { kind: 'put' }>) {
  const other: Write = { kind: 'put', item: { pk: write.item.pk, sk: `${write.item.sk}-other` }, conditions: [] };
  const result = await table.transact([write, other]);
  return result.ok ? undefined : result.refused;
}
