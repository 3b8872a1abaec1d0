import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import type { Write } from '../../../lib/store/table.js';
import { ServerLimits } from '../../../lib/store/parts/server-limits.js';

let limits: ServerLimits;
beforeEach(() => {
  limits = new ServerLimits(new MemoryTable());
});

describe('the rate of a server', () => {
  const open = (minute: number, count = 1) =>
    limits.openMinute('reports', { kind: 'reads', minute, count, readsBefore: undefined });
  const lease = (count: number, kindMax = 9) =>
    limits.lease('reports', { kind: 'starts', minute: 7, count, perMinute: 10, kindMax });

  it('is leased in blocks, never more than the limit, nor than the share', async () => {
    await open(7, 3);
    expect((await lease(5, 4)).ok).toBe(false);
    expect(await lease(4, 4)).toMatchObject({ ok: true, rate: { minute: 7, requests: 7, starts: 4, reads: 3 } });
    expect((await lease(4)).ok).toBe(false);
    expect((await lease(3)).ok).toBe(true);
    expect(await lease(1)).toMatchObject({ ok: false, rate: { requests: 10, starts: 7 } });
  });

  it('begins anew with each minute, which only one worker opens, and no earlier one', async () => {
    await open(7, 3);
    expect((await Promise.all([open(8), open(8), open(7)])).map(({ ok }) => ok)).toEqual([true, false, false]);
    expect((await lease(1)).ok).toBe(false);
    expect(await limits.readRate('reports')).toMatchObject({ minute: 8, requests: 1, starts: 0, reads: 1 });
  });

  it('has a line that one worker begins, and of which each place is given to one', async () => {
    const part = { kind: 'reads', fromMs: 100, lengthMs: 20 } as const;
    expect((await limits.reserve('reports', part)).ok).toBe(false);
    const begun = await Promise.all([limits.beginLine('reports', part), limits.beginLine('reports', part)]);
    expect(begun.map(({ ok }) => ok)).toEqual([true, false]);
    const more = await Promise.all([limits.reserve('reports', part), limits.reserve('reports', part)]);
    expect(more.map(({ rate }) => rate.readsUntilMs)).toEqual([140, 160]);
    // A line that is over is begun again.
    expect((await limits.reserve('reports', { ...part, fromMs: 161 })).ok).toBe(false);
    expect((await limits.beginLine('reports', { ...part, fromMs: 161 })).rate.readsUntilMs).toBe(181);
    expect((await limits.readRate('reports')).startsUntilMs).toBe(0);
  });

  it('counts what versions without kinds have counted', async () => {
    const table = new MemoryTable();
    await table.write({
      kind: 'put',
      item: { pk: 'server#reports', sk: 'rate', minute: 7, requests: 9 },
      conditions: [],
    });
    limits = new ServerLimits(table);
    expect((await lease(2)).ok).toBe(false);
    expect((await lease(1)).ok).toBe(true);
  });
});

describe('the slots of a server', () => {
  const take = (holder: string, atMs = 0) => limits.takeSlot('reports', { slots: 2, holder, atMs, untilMs: atMs + 60 });

  it('are leased to as many as there are', async () => {
    expect((await Promise.all(['a', 'b', 'c'].map((holder) => take(holder)))).sort()).toEqual([0, 1, undefined]);
    expect(await take('d')).toBeUndefined();
  });

  it('are free again when their holder leaves, and no other process can free them', async () => {
    await take('a');
    await take('b');
    await limits.freeSlot('reports', 0, 'x');
    expect(await take('c')).toBeUndefined();
    await limits.freeSlot('reports', 0, 'a');
    expect(await take('c')).toBe(0);
  });

  it('are free again when their lease has passed', async () => {
    await take('a');
    await take('b');
    expect([await take('c', 59), await take('c', 60)]).toEqual([undefined, 0]);
  });

  it('are leased once by a write whose answer was lost and that is repeated', async () => {
    class Repeating extends MemoryTable {
      override async write(write: Write) {
        await super.write(write);
        return super.write(write);
      }
    }
    const table = new Repeating();
    limits = new ServerLimits(table);
    expect([await take('a'), await take('b'), await take('c')]).toEqual([0, 1, undefined]);
  });
});
