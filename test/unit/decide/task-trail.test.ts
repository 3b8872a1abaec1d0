import { describe, expect, it } from 'vitest';
import {
  changedTrail,
  changesAfter,
  isWorthWriting,
  progressMax,
  trailMaxBytes,
} from '../../../lib/decide/task-trail.js';
import type { SaidOfTask, TaskTrail } from '../../../lib/history/task-trail.js';

const working: SaidOfTask = { state: 'working' };

function trailOf(...said: readonly SaidOfTask[]): TaskTrail {
  let trail: TaskTrail | undefined;
  for (const [index, one] of said.entries()) trail = changedTrail(trail, one, index * 1_000) ?? trail;
  if (trail === undefined) throw new Error('nothing was said');
  return trail;
}

describe('the trail of a remote task', () => {
  it.each([
    ['another state', { state: 'input_required' }],
    ['a message', { ...working, note: 'reading' }],
    ['a number', { ...working, progress: 0 }],
    ['a total', { ...working, total: 3 }],
  ])('grows with %s, and not with the same again', (_what, said) => {
    const trail = changedTrail(trailOf(working), said, 5_000);
    expect(trail).toMatchObject({ count: 2, changes: [{ state: 'working' }, { atMs: 5_000 }] });
    expect(changedTrail(trail, said, 6_000)).toBeUndefined();
  });

  it('knows since when the task has its state', () => {
    const trail = trailOf(working, { ...working, note: 'a' }, { state: 'paused' }, { state: 'paused', note: 'b' });
    expect([trail.stateSinceMs, trail.changes.at(-1)?.atMs]).toEqual([2_000, 3_000]);
  });

  it('keeps the last 20 changes and counts all, and never goes back in time', () => {
    const trail = trailOf(...Array.from({ length: 30 }, (_, n) => ({ ...working, note: `part ${n}` })));
    expect([trail.count, trail.changes.length, trail.changes[0]?.message]).toEqual([30, 20, 'part 10']);
    expect(changedTrail(trail, working, 0)?.changes.at(-1)?.atMs).toBe(29_000);
  });

  it('has texts as one line of visible characters, and the first 200 of a message, however they are encoded', () => {
    const note = `\u001b[31m a\u0000b\r\n\u202ec\u200b ${'😀'.repeat(300)}`;
    const { message } = trailOf({ ...working, note }).changes[0]!;
    expect(message?.startsWith('[31m a b c 😀')).toBe(true);
    expect(Array.from(message ?? '')).toHaveLength(200);
    expect(trailOf({ ...working, note: ' \u200b\n' }).changes[0]).not.toHaveProperty('message');
    expect(trailOf({ state: 'x'.repeat(200) }).changes[0]?.state).toHaveLength(64);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('has no progress of %d', (progress) => {
    expect(trailOf({ ...working, progress }).changes[0]).not.toHaveProperty('progress');
  });

  it('is no larger than its room, whatever a server says', () => {
    const trail = trailOf(
      ...Array.from({ length: 40 }, (_, n) => ({ state: '"'.repeat(64), note: `${n}${'\\'.repeat(300)}` })),
    );
    expect(JSON.stringify(trail.changes).length).toBeLessThanOrEqual(trailMaxBytes);
    expect(trail.count).toBe(40);
  });
});

describe('a write of its own', () => {
  const before = trailOf(working);
  const after = (said: SaidOfTask, atMs: number): TaskTrail => changedTrail(before, said, atMs)!;

  it('is worth a new state, and of messages and numbers one a minute unless a handler hears of them', () => {
    expect(isWorthWriting(undefined, before, false)).toBe(true);
    expect(isWorthWriting(before, after({ state: 'paused' }, 1), false)).toBe(true);
    expect(isWorthWriting(before, after({ ...working, note: 'a' }, 59_999), false)).toBe(false);
    expect(isWorthWriting(before, after({ ...working, note: 'a' }, 60_000), false)).toBe(true);
    expect(isWorthWriting(before, after({ ...working, note: 'a' }, 1), true)).toBe(true);
  });
});

describe('what a handler hears of', () => {
  it('are the changes that it has not heard, by their numbers, and none beyond the limit of a call', () => {
    const trail = trailOf(...Array.from({ length: 25 }, (_, n) => ({ ...working, progress: n })));
    expect(changesAfter(trail, 22).map(([number, { progress }]) => [number, progress])).toEqual([
      [23, 22],
      [24, 23],
      [25, 24],
    ]);
    expect(changesAfter(trail, 0)[0]?.[0]).toBe(6);
    const late = { ...trail, count: progressMax + 2 };
    expect(changesAfter(late, progressMax - 1).map(([number]) => number)).toEqual([progressMax]);
  });
});
