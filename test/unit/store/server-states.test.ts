import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { ServerStates } from '../../../lib/store/parts/server-states.js';

let states: ServerStates;
let table: MemoryTable;
beforeEach(() => {
  table = new MemoryTable();
  states = new ServerStates(table);
});

const unknown = { failures: 0, trips: 0 };

describe('the health of a server', () => {
  it('is good where nothing is stored, and a success stores nothing', async () => {
    await states.noteSuccess('reports');
    expect(await states.read('reports')).toEqual(unknown);
    expect([...table.items()]).toEqual([]);
  });

  it('counts failures in a row, and begins anew after a pause', async () => {
    const note = (atMs: number, seen = unknown) => states.noteFailure('reports', { atMs, streakMs: 300_000, seen });
    expect(await note(1_000_000)).toEqual({ failures: 1, failedAtMs: 1_000_000, trips: 0 });
    expect((await note(1_000_001)).failures).toBe(2);
    expect((await note(1_300_000, await states.read('reports'))).failures).toBe(3);
    expect((await note(1_600_001)).failures).toBe(1);
    expect(await states.read('other')).toEqual(unknown);
  });

  it('is opened by one of many, each time further', async () => {
    const opened = await Promise.all([1, 2, 3].map(() => states.open('reports', { atMs: 100, untilMs: 200 })));
    expect(opened.map(({ trips, openUntilMs }) => [trips, openUntilMs])).toEqual([
      [1, 200],
      [1, 200],
      [1, 200],
    ]);
    expect(await states.open('reports', { atMs: 200, untilMs: 400 })).toMatchObject({ trips: 2, openUntilMs: 400 });
  });

  it('gives the probe to one, and again when that one is lost', async () => {
    await states.open('reports', { atMs: 0, untilMs: 100 });
    const claim = (atMs: number) => states.claimProbe('reports', { atMs, untilMs: atMs + 35 });
    expect(await claim(99)).toBe(false);
    expect(await Promise.all([claim(100), claim(100), claim(100)])).toEqual([true, false, false]);
    expect([await claim(134), await claim(135)]).toEqual([false, true]);
    await states.noteSuccess('reports');
    expect([await states.read('reports'), await claim(500)]).toEqual([unknown, false]);
  });

  it('holds for as long as was asked last, never shorter', async () => {
    expect((await states.hold('reports', 500)).holdUntilMs).toBe(500);
    expect((await states.hold('reports', 400)).holdUntilMs).toBe(500);
    await states.noteSuccess('reports');
    expect((await states.read('reports')).holdUntilMs).toBe(500);
  });
});

describe('how a server is spoken to', () => {
  it('is kept beside its health, and the last word counts', async () => {
    expect(await states.readWord('reports')).toBeUndefined();
    await states.noteWord('reports', 'first');
    await states.noteWord('reports', 'second');
    await states.open('reports', { atMs: 100, untilMs: 200 });
    await states.noteSuccess('reports');
    await states.notePrompt('reports', false);
    expect(await states.readWord('reports')).toBe('second');
    expect(await states.read('reports')).toEqual(unknown);
    expect(await states.readWord('other')).toBeUndefined();
  });
});
