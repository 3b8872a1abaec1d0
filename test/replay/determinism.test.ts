import { expect, it } from 'vitest';
import type { Log } from '../../lib/base/log.js';
import {
  asked,
  newExecution,
  replay,
  runStarted,
  stepCompleted,
  stepRequested,
  timerFired,
  timerStarted,
  tokenSettled,
  exportRequested,
  type Run,
} from './replaying.js';

it('runs no recorded step, however often it replays (S0-121, EN-1)', async () => {
  let ran = 0;
  const run: Run = async (ctx) => ctx.step('a', () => ++ran);
  for (let round = 0; round < 3; round++) {
    expect((await replay(run, [runStarted(), stepRequested('1', 'a'), stepCompleted('1', 1)])).status.kind).toBe(
      'ended',
    );
  }
  expect(ran).toBe(0);
});

it('ctx.now is the time of the event that woke the workflow', async () => {
  const run: Run = async (ctx) => {
    const times = [ctx.now()];
    await ctx.sleep({ minutes: 1 });
    times.push(ctx.now());
    return times;
  };
  const execution = await replay(run, [runStarted(1_000), timerStarted('1', 61_000), timerFired('1', 61_000)]);
  expect(execution.status).toMatchObject({ outcome: { result: [1_000, 61_000] } });
});

it('ctx.now never goes back when the clocks of those who record differ', async () => {
  const run: Run = async (ctx) => {
    const times = [ctx.now()];
    for (const name of ['a', 'b', 'c']) {
      await ctx.step(name, () => 1);
      times.push(ctx.now());
    }
    return times;
  };
  const execution = await replay(run, [
    runStarted(5_000),
    stepRequested('1', 'a', 5_000),
    stepCompleted('1', 0, 4_000),
    stepRequested('2', 'b', 3_000),
    stepCompleted('2', 0, 9_000),
    stepRequested('3', 'c', 12_000),
    stepCompleted('3', 0, 11_000),
  ]);
  expect(execution.status).toMatchObject({ outcome: { result: [5_000, 5_000, 9_000, 12_000] } });
});

it('ctx.random and ctx.uuid give the same values on each replay and others in another run', async () => {
  const run: Run = async (ctx) => {
    const first = [ctx.random(), ctx.uuid()];
    await ctx.step('a', () => 1);
    return [...first, ctx.random(), ctx.uuid()];
  };
  const history = [runStarted(), stepRequested('1', 'a'), stepCompleted('1', 0)];
  const valuesOf = async (seed: string): Promise<unknown> => (await replay(run, history, { seed })).status;
  // Values are never stored, so a release that gives different ones breaks every open run.
  expect(await valuesOf('7c9e')).toEqual({
    kind: 'ended',
    outcome: {
      status: 'completed',
      result: [
        0.24476338531509056,
        'c1636653-11ff-4ce3-9aaf-49152231936c',
        0.6645250550002713,
        '03e6e1fa-3cc6-401c-be2a-1d99da2632e1',
      ],
    },
  });
  expect(await valuesOf('7c9e')).toEqual(await valuesOf('7c9e'));
  expect(await valuesOf('7c9f')).not.toEqual(await valuesOf('7c9e'));
});

it('ctx.log is silent while recorded events are replayed', async () => {
  const lines: string[] = [];
  const record = (event: string): void => void lines.push(event);
  const log: Log = { debug: record, info: record, warn: record, error: record };
  const run: Run = async (ctx) => {
    ctx.log.info('started');
    await ctx.step('a', () => 1);
    ctx.log.warn('stepped');
    await ctx.sleep({ seconds: 1 });
    ctx.log.error('slept');
    ctx.log.debug('done');
  };
  const execution = newExecution(run, { log });
  for (const event of [runStarted(), stepRequested('1', 'a'), stepCompleted('1'), timerStarted('2')])
    await execution.apply(event);
  expect(lines).toEqual([]);
  execution.goLive();
  await execution.apply(timerFired('2'));
  expect(lines).toEqual(['slept', 'done']);
});

it('takes commands oldest first and in parts', async () => {
  const run: Run = async (ctx) => Promise.all(['a', 'b', 'c'].map(async (name) => ctx.step(name, () => 1)));
  const execution = await replay(run, [runStarted()]);
  expect(execution.newCommands(2).map(({ waitId }) => waitId)).toEqual(['1', '2']);
  await execution.apply(stepRequested('1', 'a'));
  expect(asked(execution)).toEqual(['2 step b', '3 step c']);
  await execution.apply(stepCompleted('1'));
  await execution.apply(stepRequested('2', 'b'));
  expect(asked(execution)).toEqual(['3 step c']);
});

it('a live result is a copy: what the workflow does to it does not reach the event', async () => {
  const run: Run = async (ctx) => {
    const found = await ctx.step('a', () => ({ rows: [1] }));
    found.rows.push(2);
    return found.rows;
  };
  const execution = await replay(run, [runStarted(), stepRequested('1', 'a')]);
  execution.goLive();
  const event = stepCompleted('1', { rows: [1] });
  await execution.apply(event);
  expect(execution.status).toMatchObject({ outcome: { result: [1, 2] } });
  expect(event).toMatchObject({ result: { rows: [1] } });
});

it('a settlement of a wait that was never asked for, or that has no token, changes nothing', async () => {
  const run: Run = async (ctx) => ctx.sleep({ minutes: 1 });
  const execution = await replay(run, [runStarted(), timerStarted('1'), tokenSettled('9'), tokenSettled('1')], {
    settlements: { 9: { kind: 'timed_out' }, 1: { kind: 'timed_out' } },
  });
  expect(execution.status).toEqual({ kind: 'waiting' });
});

it('a settlement of a step that the history does not have as long changes nothing', async () => {
  const run: Run = async (ctx) => ctx.step('a', () => 1);
  const execution = await replay(run, [runStarted(), stepRequested('1', 'a'), tokenSettled('1')], {
    settlements: { 1: { kind: 'timed_out' } },
  });
  expect(execution.status).toEqual({ kind: 'waiting' });
});

it('a second end of one wait changes nothing', async () => {
  const run: Run = async (ctx) => {
    const outcome = await ctx.callRemoteTask({ server: 'reports', tool: 'export', arguments: { month: '2026-10' } });
    await ctx.sleep({ minutes: 1 });
    return outcome.result;
  };
  const execution = await replay(
    run,
    [
      runStarted(),
      exportRequested('1'),
      tokenSettled('1'),
      tokenSettled('1'),
      timerStarted('2'),
      timerFired('2'),
      timerFired('2'),
    ],
    { settlements: { 1: { kind: 'completed', result: 'once', isError: false } } },
  );
  expect(execution.status).toEqual({ kind: 'ended', outcome: { status: 'completed', result: 'once' } });
});
