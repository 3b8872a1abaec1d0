import { describe, expect, it } from 'vitest';
import { inboxProblems, pauseProblems } from '../../../bench/soak/checks.js';
import { makePlan, type PlannedRun, senders, signalsOf } from '../../../bench/soak/plan.js';
import type { ExportedEvent } from '../../../lib/operations/views/read-history.js';
import { seeded } from '../../simulation/random.js';

const inbox: PlannedRun & { readonly workflow: 'inbox' } = {
  name: 'a',
  workflow: 'inbox',
  input: null,
  answer: 7,
  unread: 2,
  pauseMs: 0,
};

describe('the plan of the soak', () => {
  it('has at scale 1 what the soak promises, and is the same for the same seed', () => {
    const plan = makePlan(1, seeded(1));
    expect(plan.runs).toHaveLength(2_000);
    expect(plan).toMatchObject({
      signals: 5_000,
      children: { completed: 900, cancelled: 100 },
      pauses: 150,
      cancels: 275,
    });
    expect(new Set(plan.runs.map(({ name }) => name)).size).toBe(2_000);
    expect(makePlan(1, seeded(1))).toEqual(plan);
    expect(makePlan(1, seeded(2))).not.toEqual(plan);
  });

  it('has each kind of run at any scale', () => {
    expect(makePlan(0.001, seeded(1)).runs).toHaveLength(8);
  });
});

describe('the checks of the soak', () => {
  const lines = senders.flatMap((sender) =>
    signalsOf(inbox, sender)
      .filter(({ name }) => name === 'line')
      .map(({ payload }) => payload),
  );

  it('take the signals of the senders in any mixture, each in order', () => {
    expect(inboxProblems(inbox, { lines, answer: 7 })).toEqual([]);
    expect(inboxProblems(inbox, { lines: [...lines.slice(4), ...lines.slice(0, 4)], answer: 7 })).toEqual([]);
  });

  it('find a signal that is missing, comes twice or comes too early, and a wrong answer', () => {
    expect(inboxProblems(inbox, { lines: lines.slice(1), answer: 7 })).toHaveLength(1);
    expect(inboxProblems(inbox, { lines: [...lines, lines[0]!], answer: 7 })).toHaveLength(1);
    expect(inboxProblems(inbox, { lines: lines.toReversed(), answer: 7 })).toHaveLength(2);
    expect(inboxProblems(inbox, { lines, answer: 8 })).toHaveLength(1);
  });

  it('find a signal that was read during a pause, and a pause that never was', () => {
    const received = (n: number) =>
      ({ seq: 1, type: 'SignalReceived', atMs: 1, inboxId: `i${n}`, name: 'line', payload: { sender: 0, n } }) as const;
    const delivered = (n: number) =>
      ({ seq: 1, type: 'SignalDelivered', atMs: 1, waitId: '1', inboxId: `i${n}` }) as const;
    const paused: ExportedEvent = { seq: 1, type: 'RunPaused', atMs: 1, inboxId: 'p', untilMs: 9 };
    const resumed: ExportedEvent = { seq: 1, type: 'RunResumed', atMs: 1, inboxId: 'r' };
    expect(pauseProblems([received(0), paused, delivered(0), received(2), resumed, delivered(2)])).toEqual([]);
    expect(pauseProblems([received(0), paused, received(2), delivered(2), resumed])).toHaveLength(1);
    expect(pauseProblems([paused, received(2), resumed, delivered(2), resumed])).toEqual([]);
    expect(pauseProblems([received(0), delivered(0)])).toHaveLength(1);
  });
});
