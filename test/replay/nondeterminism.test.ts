import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../lib/history/event.js';
import {
  asked,
  exportRequested,
  replay,
  runStarted,
  stepCompleted,
  stepRequested,
  timerStarted,
  timerFired,
  type Run,
} from './replaying.js';

const advice = 'Deploy code that asks for the same waits in the same order; the run then continues by itself.';

describe('code that no longer fits its history blocks the run (S0-124, EN-11)', () => {
  const stepA = [runStarted(), stepRequested('1', 'a')];
  const stepsAB = [...stepA, stepCompleted('1'), stepRequested('2', 'b')];
  const call = [runStarted(), exportRequested('1')];

  it.each<[string, readonly HistoryEvent[], Run, string, string, string]>([
    ['another step name', stepA, async (ctx) => ctx.step('b', () => 1), '1', 'step "a"', 'step "b"'],
    [
      'another order',
      [runStarted(), stepRequested('1', 'a'), timerStarted('2')],
      async (ctx) => Promise.all([ctx.sleep({ seconds: 1 }), ctx.step('a', () => 1)]),
      '1',
      'step "a"',
      'a sleep',
    ],
    [
      'another kind of wait',
      stepA,
      async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'a' }),
      '1',
      'step "a"',
      'remote task "a" on "reports"',
    ],
    [
      'another tool',
      call,
      async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'import', arguments: { month: '2026-10' } }),
      '1',
      'remote task "export" on "reports"',
      'remote task "import" on "reports"',
    ],
    [
      'another server',
      call,
      async (ctx) => ctx.callRemoteTask({ server: 'archive', tool: 'export', arguments: { month: '2026-10' } }),
      '1',
      'remote task "export" on "reports"',
      'remote task "export" on "archive"',
    ],
    [
      'other arguments',
      call,
      async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', arguments: { month: '2026-11' } }),
      '1',
      'remote task "export" on "reports"',
      'remote task "export" on "reports" (with other arguments)',
    ],
    [
      'a skill in place of a tool of the same name',
      call,
      async (ctx) => ctx.callRemoteTask({ server: 'reports', skill: 'export', arguments: { month: '2026-10' } }),
      '1',
      'remote task "export" on "reports"',
      'remote task "export" on "reports" (with other arguments)',
    ],
    ['a step removed', stepsAB, async (ctx) => ctx.step('b', () => 1), '1', 'step "a"', 'step "b"'],
    [
      'a step added before a recorded one',
      stepsAB,
      async (ctx) => {
        await ctx.step('a', () => 1);
        await ctx.step('new', () => 1);
        await ctx.step('b', () => 1);
      },
      '2',
      'step "b"',
      'step "new"',
    ],
    [
      'a step added beside a recorded one',
      stepsAB,
      async (ctx) => {
        await Promise.all([ctx.step('a', () => 1), ctx.step('new', () => 1)]);
        await ctx.step('b', () => 1);
      },
      '2',
      'step "b"',
      'step "new"',
    ],
    ['an early return', stepsAB, async (ctx) => ctx.step('a', () => 1), '2', 'step "b"', 'nothing at this point'],
    [
      'one of two parallel steps removed',
      [runStarted(), stepRequested('1', 'a'), stepRequested('2', 'b')],
      async (ctx) => ctx.step('a', () => 1),
      '2',
      'step "b"',
      'nothing at this point',
    ],
  ])('%s', async (_, events, run, waitId, recorded, askedFor) => {
    expect((await replay(run, events)).status).toEqual({
      kind: 'blocked',
      error: {
        code: 'NONDETERMINISM',
        message: `wait ${waitId}: the history has ${recorded}, but the workflow now asks for ${askedFor}. ${advice}`,
        details: { waitId, recorded, asked: askedFor },
      },
    });
  });

  it('applies nothing after the first difference', async () => {
    const later: string[] = [];
    const run: Run = async (ctx) => {
      await ctx.step('b', () => 1);
      later.push('went on');
    };
    const execution = await replay(run, [...stepA, stepCompleted('1'), stepRequested('2', 'b')]);
    expect(execution.status).toMatchObject({ kind: 'blocked', error: { details: { waitId: '1' } } });
    expect(later).toEqual([]);
  });
});

describe('code that still fits', () => {
  it('may ask for arguments with the same keys in another order', async () => {
    const recorded = await replay(
      async (ctx) => ctx.callRemoteTask({ server: 's', tool: 't', arguments: { a: 1, b: [2] } }),
      [runStarted()],
    );
    const [command] = recorded.newCommands(1);
    if (command?.kind !== 'startRemoteTask') return expect.unreachable();
    const { waitId, server, name, digest } = command;
    const execution = await replay(
      async (ctx) => ctx.callRemoteTask({ server: 's', tool: 't', arguments: { b: [2], a: 1 } }),
      [runStarted(), { type: 'RemoteTaskRequested', atMs: 0, waitId, server, name, digest, deadlineAtMs: 1 }],
    );
    expect(execution.status).toEqual({ kind: 'waiting' });
  });

  it('may sleep for another time and retry otherwise: the recorded times hold', async () => {
    const run: Run = async (ctx) => {
      await ctx.sleep({ days: 9 });
      await ctx.step('a', () => 1, { retry: { maxAttempts: 1 } });
    };
    const execution = await replay(run, [runStarted(), timerStarted('1'), timerFired('1'), stepRequested('2', 'a')]);
    expect(execution.status).toEqual({ kind: 'waiting' });
  });

  it('may go on with something new after what is recorded', async () => {
    const run: Run = async (ctx) => {
      await ctx.step('a', () => 1);
      await ctx.step('new', () => 1);
    };
    const execution = await replay(run, [runStarted(), stepRequested('1', 'a'), stepCompleted('1')]);
    expect(execution.status).toEqual({ kind: 'waiting' });
    expect(asked(execution)).toEqual(['2 step new']);
  });
});
