import { call, orCode, type Scenario } from './scenarios.js';

/**
 * Scenarios, one for each way of waiting. Ends of waits that are awaited together lie farther apart than a crash can
 * move them (a visibility timeout and two sweeps), so that the outcome must be the same wherever a process dies.
 */
export const everyAwaitScenarios: readonly Scenario[] = [
  {
    // Long enough for a sweep to come in between.
    name: 'single call',
    tools: { r1: 70 },
    run: async (ctx, step) => [await step('s1'), (await call(ctx, 'r1')).result, await step('s2')],
  },
  {
    name: 'single call with a bus',
    bus: true,
    tools: { r1: 70 },
    run: async (ctx, step) => [await step('s1'), (await call(ctx, 'r1')).result, await step('s2')],
  },
  {
    // A process that dies during a call holds it for as long as the call may take.
    name: 'slow start',
    tools: { r1: 70 },
    startsTakeS: 30,
    slackS: 1_500,
    run: async (ctx, step) => [await step('s1'), (await call(ctx, 'r1')).result, await step('s2')],
  },
  {
    name: 'cancel during a slow start',
    startsTakeS: 60,
    slackS: 1_500,
    run: async (ctx, step) => {
      try {
        return (await call(ctx, 'never')).result;
      } finally {
        await step('undo');
      }
    },
    callers: (world, runId) => {
      world.stopAt(20, runId, 'cancel', 'c1');
    },
  },
  {
    name: 'all',
    tools: { r1: 40, r2: 20 },
    run: async (ctx, step) =>
      Promise.all([
        ...['r1', 'r2'].map(async (tool) => [(await call(ctx, tool)).result, await step(`after ${tool}`)]),
        step('s1'),
        ctx.sleep({ seconds: 25 }).then(() => 'slept'),
      ]),
  },
  {
    name: 'race with timer',
    tools: { r1: 30 },
    slackS: 30,
    run: async (ctx, step) => [
      await ctx.race([
        async (c) => (await call(c, 'r1')).result,
        async (c) => c.sleep({ seconds: 1_000 }).then(() => 'timer'),
      ]),
      await ctx.race([
        async (c) => (await call(c, 'never')).result,
        async (c) => c.sleep({ seconds: 20 }).then(() => 'timer'),
      ]),
      await step('s1'),
    ],
  },
  {
    name: 'cancel',
    run: async (ctx, step) => {
      try {
        return (await call(ctx, 'never')).result;
      } finally {
        await step('undo');
      }
    },
    callers: (world, runId) => {
      world.stopAt(20, runId, 'cancel', 'c1');
      world.settleAt(2_000, runId, '1', 'very late');
    },
  },
  {
    name: 'children',
    tools: { r1: 20 },
    slackS: 200,
    run: async (_, step, { child }) => [await Promise.all([child(), child()]), await step('s1')],
    child: async (ctx, step) => [(await call(ctx, 'r1')).result, await step('in child')],
  },
  {
    name: 'continue as new',
    slackS: 200,
    run: async (ctx, step, { input }) => {
      const { round, sum } = (input ?? { round: 0, sum: 0 }) as { round: number; sum: number };
      await step('s1');
      const next = { round: round + 1, sum: sum + Number(await ctx.signal('n')) };
      return round < 2 ? ctx.continueAsNew(next) : next;
    },
    callers: (world, runId) => {
      for (const [n, atS] of [10, 20, 30].entries()) world.signalAt(atS, runId, 'n', 10 ** n, `k${n}`);
    },
  },
  {
    name: 'signal in the last turn',
    tools: { r1: 20 },
    run: async (ctx, step) => {
      ctx.signal('n').catch(() => undefined);
      return [(await call(ctx, 'r1')).result, await step('s1')];
    },
    // The last turn takes a second of work and some operations; one of these signals comes between its read and its
    // end.
    callers: (world, runId) => {
      for (let n = 0; n < 10; n++) world.signalAt(24.5 + n * 0.1, runId, 'n', n, `k${n}`);
    },
  },
  {
    name: 'saga',
    tools: { r1: 20 },
    slackS: 60,
    run: async (ctx, step) =>
      ctx.saga(async (saga) => {
        await step('book');
        saga.compensate('unbook', () => 1);
        await call(ctx, 'r1');
        saga.compensate('refund', () => 1);
        throw new Error('no seat');
      }),
  },
  {
    name: 'deadline',
    slackS: 30,
    run: async (ctx, step) => [await orCode(call(ctx, 'never', { seconds: 20 })), await step('s1')],
    callers: (world, runId) => {
      world.settleAt(600, runId, '1', 'very late');
    },
  },
  {
    name: 'external settlement',
    slackS: 60,
    run: async (ctx, step) => [(await (await ctx.externalToken({ name: 't' })).outcome).result, await step('s1')],
    callers: (world, runId) => {
      // A crash may come before the token is handed out, and then it cannot be settled.
      for (const atS of [20, 250]) world.settleAt(atS, runId, '1', 'approved');
      world.settleAt(600, runId, '1', 'very late');
    },
  },
];

/** The same scenario where a worker makes the start. */
export const slowWithoutDedupe: Scenario = {
  name: 'slow start without dedupe',
  tools: { r1: 30 },
  dedupes: false,
  startsTakeS: 30,
  slackS: 1_500,
  run: async (ctx, step) => [await orCode(call(ctx, 'r1')), await step('s1')],
};

/** A call of a server that starts a task for each request: a start of unknown fate is not repeated. */
export const withoutDedupe: Scenario = {
  name: 'single call without dedupe',
  tools: { r1: 30 },
  dedupes: false,
  run: async (ctx, step) => [await orCode(call(ctx, 'r1')), await step('s1')],
};
