import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../lib/history/event.js';
import type { TokenOutcome } from '../../lib/history/settlement.js';
import {
  asked,
  exportRequested,
  replay,
  runStarted,
  stepCompleted,
  stepFailed,
  stepRequested,
  timerFired,
  timerStarted,
  tokenSettled,
  type Run,
} from './replaying.js';

const exported: TokenOutcome = { kind: 'completed', result: 'rows', isError: false };
const refused: TokenOutcome = { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'no' } };

const exportMonth = { server: 'reports', tool: 'export', arguments: { month: '2026-10' } };

async function outcomeOf(
  run: Run,
  events: readonly HistoryEvent[],
  settlements: Readonly<Record<string, TokenOutcome>> = {},
): Promise<unknown> {
  const { status } = await replay(run, events, { settlements });
  return status.kind === 'ended' ? status.outcome : status;
}

describe('a race of a remote task and a timer', () => {
  const run: Run = async (ctx) =>
    Promise.race([ctx.callRemoteTask(exportMonth).then(() => 'remote'), ctx.sleep({ minutes: 1 }).then(() => 'timer')]);
  const requested = [runStarted(), exportRequested('1'), timerStarted('2')];

  it('registers both waits in one turn', async () => {
    expect(asked(await replay(run, [runStarted()]))).toEqual(['1 remote reports/export', '2 sleep 60000']);
  });

  it('is won by what the history has first', async () => {
    const settlements = { 1: exported };
    expect(await outcomeOf(run, [...requested, tokenSettled('1'), timerFired('2')], settlements)).toMatchObject({
      result: 'remote',
    });
    expect(await outcomeOf(run, [...requested, timerFired('2'), tokenSettled('1')], settlements)).toMatchObject({
      result: 'timer',
    });
  });

  it('goes by the history and not by the times in it', async () => {
    const events = [...requested, timerFired('2', 9_000), tokenSettled('1', 1_000)];
    expect(await outcomeOf(run, events, { 1: exported })).toMatchObject({ result: 'timer' });
  });
});

describe('Promise.all', () => {
  const run: Run = async (ctx) =>
    Promise.all([ctx.step('a', () => 1), ctx.step('b', () => 1), ctx.sleep({ minutes: 1 })]);
  const requested = [runStarted(), stepRequested('1', 'a'), stepRequested('2', 'b'), timerStarted('3')];
  const ends = [stepCompleted('1', 'A'), stepCompleted('2', 'B'), timerFired('3')];

  it.each(permutations([0, 1, 2]))(
    'gives its values in its own order when they come in the order %i %i %i',
    async (...order) => {
      const events = [...requested, ...order.map((index) => ends[index]!)];
      expect((await replay(run, events.slice(0, -1))).status).toEqual({ kind: 'waiting' });
      expect(await outcomeOf(run, events)).toEqual({ status: 'completed', result: ['A', 'B', null] });
    },
  );

  it('fails with the first failure and does not wait for the rest', async () => {
    expect(await outcomeOf(run, [...requested, stepFailed('2')])).toMatchObject({
      status: 'failed',
      error: { code: 'STEP_FAILED' },
    });
  });
});

describe('Promise.any', () => {
  const run: Run = async (ctx) =>
    Promise.any([ctx.callRemoteTask(exportMonth).then(() => 'remote'), ctx.step('a', () => 1)]);
  const requested = [runStarted(), exportRequested('1'), stepRequested('2', 'a')];

  it('takes the first that succeeds', async () => {
    const events = [...requested, tokenSettled('1'), stepCompleted('2', 'step')];
    expect(await outcomeOf(run, events, { 1: refused })).toMatchObject({ result: 'step' });
    expect(await outcomeOf(run, events, { 1: exported })).toMatchObject({ result: 'remote' });
  });

  it('fails when all have failed', async () => {
    expect(await outcomeOf(run, [...requested, tokenSettled('1'), stepFailed('2')], { 1: refused })).toMatchObject({
      status: 'failed',
      error: { code: 'WORKFLOW_FAILED', name: 'AggregateError' },
    });
  });
});

describe('loops and try/finally', () => {
  it('a loop asks for one wait at a time', async () => {
    const run: Run = async (ctx) => {
      const seen: unknown[] = [];
      for (const name of ['a', 'b']) seen.push(await ctx.step(name, () => 1));
      return seen;
    };
    const events = [runStarted(), stepRequested('1', 'a'), stepCompleted('1', 1)];
    expect(asked(await replay(run, events))).toEqual(['2 step b']);
    expect(await outcomeOf(run, [...events, stepRequested('2', 'b'), stepCompleted('2', 2)])).toMatchObject({
      result: [1, 2],
    });
  });

  it('cleanup runs before the failure leaves the workflow', async () => {
    const run: Run = async (ctx) => {
      try {
        await ctx.step('work', () => 1);
      } finally {
        await ctx.step('clean up', () => 1);
      }
    };
    const events = [runStarted(), stepRequested('1', 'work'), stepFailed('1')];
    expect(asked(await replay(run, events))).toEqual(['2 step clean up']);
    expect(await outcomeOf(run, [...events, stepRequested('2', 'clean up'), stepCompleted('2')])).toMatchObject({
      status: 'failed',
      error: { code: 'STEP_FAILED', message: 'broken' },
    });
  });

  it('a catch that swallows a failure lets the workflow go on', async () => {
    const run: Run = async (ctx) => {
      try {
        await ctx.callRemoteTask(exportMonth);
      } catch {
        return ctx.step('instead', () => 1);
      }
      return 'no failure';
    };
    expect(
      asked(
        await replay(run, [runStarted(), exportRequested('1'), tokenSettled('1')], { settlements: { 1: refused } }),
      ),
    ).toEqual(['2 step instead']);
  });

  it('the loser of a race stays open and its end changes nothing', async () => {
    const run: Run = async (ctx) => {
      const winner = await Promise.race([ctx.step('slow', () => 1), ctx.sleep({ minutes: 1 })]);
      const next = await ctx.step('next', () => 1);
      return [winner ?? 'timer', next];
    };
    const events = [
      runStarted(),
      stepRequested('1', 'slow'),
      timerStarted('2'),
      timerFired('2'),
      stepRequested('3', 'next'),
      stepCompleted('1', 'late'),
      stepCompleted('3', 'done'),
    ];
    expect(await outcomeOf(run, events)).toMatchObject({ result: ['timer', 'done'] });
  });
});

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}
