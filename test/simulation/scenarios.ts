import type { JsonValue } from '../../lib/base/json.js';
import type { Duration } from '../../lib/base/time.js';
import type { ChildOptions, WorkflowContext } from '../../lib/workflow/context.js';
import type { RemoteOutcome } from '../../lib/workflow/outcome.js';
import { defineWorkflow, type AnyWorkflow } from '../../lib/workflow/define-workflow.js';
import type { World } from './world.js';

export interface More {
  /** Input of this run; null for the first run of a scenario. */
  readonly input: JsonValue;
  readonly child: (options?: ChildOptions, from?: WorkflowContext) => Promise<unknown>;
  /** Works for that many seconds and reports every ten; fails in that many attempts. Returns the code of a failure. */
  readonly longStep: (name: string, seconds: number, failures?: number, from?: WorkflowContext) => Promise<unknown>;
}

export interface Scenario {
  readonly name: string;
  readonly run: (ctx: WorkflowContext, step: (name: string) => Promise<string>, more: More) => Promise<unknown>;
  /** The workflow of its children. */
  readonly child?: Scenario['run'];
  /** Duration of the task of each tool, in seconds. Default: endless. */
  readonly tools?: Readonly<Record<string, number>>;
  readonly dedupes?: boolean;
  /** Whether the remote server can be asked for the task of a start. Default: false. */
  readonly finds?: boolean;
  readonly lists?: 'perhaps' | 'never';
  /** Seconds that the server takes to answer a start. */
  readonly startsTakeS?: number;
  /** Number of questions that each tool asks before its task exists, and while it runs. */
  readonly asks?: Readonly<Record<string, { readonly first: number; readonly then: number }>>;
  /** Whether there is a bus that receives lifecycle events. Default: false. */
  readonly bus?: boolean;
  /** Actions of others, and their times. */
  readonly callers?: (world: World, runId: string) => void;
  /** Seconds by which a run may end later than without faults, beyond two sweeps and a visibility timeout. */
  readonly slackS?: number;
}

export const call = (ctx: WorkflowContext, tool: string, timeout: Duration = { hours: 6 }): Promise<RemoteOutcome> =>
  ctx.callRemoteTask({ server: 'remote', tool, timeout });

/** The scenarios of the protocol's model, as real workflows. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'sequence',
    tools: { r1: 100 },
    run: async (ctx, step) => [await step('s1'), await step('s2'), (await call(ctx, 'r1')).result, await step('s3')],
  },
  {
    name: 'no dedupe',
    tools: { r1: 60 },
    dedupes: false,
    run: async (ctx, step) => [await orCode(call(ctx, 'r1')), await step('s2')],
  },
  {
    name: 'a task that asks',
    tools: { r1: 60 },
    asks: { r1: { first: 2, then: 2 } },
    slackS: 600,
    run: async (ctx, step) => {
      const answered: string[] = [];
      const { result } = await ctx.callRemoteTask({
        server: 'remote',
        tool: 'r1',
        timeout: { hours: 6 },
        onInput: async ({ message }, inner) => {
          answered.push(message);
          await inner.sleep({ seconds: answered.length });
          return { action: 'accept', content: answered.length };
        },
      });
      return [result, answered, await step('s1')];
    },
  },
  {
    name: 'a server that does not dedupe asks first',
    tools: { r1: 60 },
    dedupes: false,
    asks: { r1: { first: 1, then: 1 } },
    slackS: 600,
    run: async (ctx) =>
      orCode(
        ctx.callRemoteTask({
          server: 'remote',
          tool: 'r1',
          timeout: { hours: 6 },
          onInput: ({ message }) => ({ action: 'accept', content: message }),
        }),
      ),
  },
  {
    name: 'no dedupe but asked',
    tools: { r1: 60 },
    dedupes: false,
    finds: true,
    run: async (ctx, step) => [await orCode(call(ctx, 'r1')), await step('s2')],
  },
  {
    name: 'cancel while a remote task starts',
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.stopAt(0.2, runId, 'cancel', 'c1');
      world.stopAt(3000, runId, 'cancel', 'c2');
    },
  },
  {
    name: 'cancel while a remote task starts and is asked for',
    dedupes: false,
    finds: true,
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.stopAt(0.2, runId, 'cancel', 'c1');
      world.stopAt(3000, runId, 'cancel', 'c2');
    },
  },
  {
    name: 'slow starts',
    tools: { r1: 60 },
    startsTakeS: 40,
    slackS: 1_500,
    run: async (ctx, step) => [
      await Promise.all([call(ctx, 'r1').then(({ result }) => result), step('s1')]),
      await step('s2'),
    ],
  },
  {
    name: 'slow starts without dedupe',
    tools: { r1: 60 },
    dedupes: false,
    startsTakeS: 40,
    slackS: 1_500,
    run: async (ctx, step) => [await orCode(call(ctx, 'r1')), await step('s2')],
  },
  {
    name: 'slow starts without dedupe but asked',
    tools: { r1: 60 },
    dedupes: false,
    finds: true,
    startsTakeS: 40,
    slackS: 1_500,
    run: async (ctx, step) => [await orCode(call(ctx, 'r1')), await step('s2')],
  },
  {
    name: 'a slow server asks first',
    tools: { r1: 60 },
    dedupes: false,
    startsTakeS: 20,
    asks: { r1: { first: 1, then: 1 } },
    slackS: 2_100,
    run: async (ctx) =>
      orCode(
        ctx.callRemoteTask({
          server: 'remote',
          tool: 'r1',
          timeout: { hours: 6 },
          onInput: ({ message }) => ({ action: 'accept', content: message }),
        }),
      ),
  },
  ...[true, false].map((dedupes): Scenario => ({
    name: `cancel while a worker starts a task${dedupes ? '' : ' once'}`,
    dedupes,
    startsTakeS: 40,
    slackS: 900,
    run: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.stopAt(20, runId, 'cancel', 'c1');
      world.stopAt(3000, runId, 'cancel', 'c2');
    },
  })),
  {
    name: 'race with a slow start',
    startsTakeS: 40,
    slackS: 900,
    run: async (ctx, step) => [
      await ctx.race([
        async (c) => (await call(c, 'r1')).result,
        async (c) => c.sleep({ seconds: 20 }).then(() => 'timer'),
      ]),
      await step('s1'),
    ],
  },
  {
    name: 'deadline of a slow start',
    dedupes: false,
    startsTakeS: 400,
    slackS: 120,
    run: async (ctx, step) => [await orCode(call(ctx, 'r1', { seconds: 90 })), await step('s1')],
  },
  {
    name: 'race of two remote tasks',
    tools: { r1: 100 },
    run: async (ctx, step) => {
      const won = await Promise.race([call(ctx, 'r1').then(() => 'r1'), call(ctx, 'r2').then(() => 'r2')]);
      return step(`after ${won}`);
    },
    callers: (world, runId) => {
      world.settleAt(90, runId, '1', 'pushed 1');
      world.settleAt(91, runId, '2', 'pushed 2');
      world.settleAt(200, runId, '2', 'late');
      world.settleAt(3000, runId, '2', 'very late');
      world.settleAt(3100, runId, '1', 'very late');
    },
  },
  {
    name: 'ends while the loser runs',
    run: async (ctx) => Promise.race([call(ctx, 'r1').then(() => 'r1'), call(ctx, 'r2').then(() => 'r2')]),
    callers: (world, runId) => {
      world.settleAt(90, runId, '1', 'pushed 1');
      world.settleAt(91, runId, '2', 'pushed 2');
      world.settleAt(3000, runId, '2', 'very late');
    },
  },
  {
    name: 'ends while a remote task starts',
    dedupes: false,
    run: async (ctx, step) => Promise.race([orCode(call(ctx, 'r1')), step('s1')]),
    callers: (world, runId) => {
      world.settleAt(150, runId, '1', 'late');
      world.settleAt(3000, runId, '1', 'very late');
    },
  },
  {
    name: 'cancel with cleanup',
    run: async (ctx, step) => {
      try {
        return [await step('s1'), (await call(ctx, 'r1')).result, await step('s2')];
      } finally {
        await step('undo');
      }
    },
    callers: (world, runId) => {
      world.stopAt(1.05, runId, 'cancel', 'c1');
      world.stopAt(30, runId, 'cancel', 'c2');
      world.settleAt(29.9, runId, '2', 'pushed');
      world.settleAt(31, runId, '2', 'late');
      world.settleAt(3000, runId, '2', 'very late');
    },
  },
  {
    name: 'cancel of a quiet run',
    run: async (ctx) => ctx.sleep({ seconds: 2000 }),
    slackS: 2000,
    callers: (world, runId) => {
      world.stopAt(30, runId, 'cancel', 'c1');
    },
  },
  {
    name: 'terminate',
    run: async (ctx) => (await call(ctx, 'r1')).result,
    callers: (world, runId) => {
      world.settleAt(29.9, runId, '1', 'pushed');
      world.settleAt(3000, runId, '1', 'very late');
      world.stopAt(30, runId, 'terminate', 'x1');
      world.stopAt(29.95, runId, 'cancel', 'c1');
    },
  },
  {
    name: 'two timers',
    slackS: 310,
    run: async (ctx, step) =>
      Promise.all([
        ctx.sleep({ seconds: 100 }).then(() => step('s1')),
        call(ctx, 'gate')
          .then(() => ctx.sleep({ seconds: 300 }))
          .then(() => step('s2')),
      ]),
    callers: (world, runId) => {
      world.settleAt(99.99, runId, '2', 'open');
    },
    tools: { gate: 110 },
  },
  {
    name: 'two long timers',
    slackS: 1500,
    run: async (ctx, step) =>
      Promise.all([
        ctx.sleep({ seconds: 100 }).then(() => step('s1')),
        call(ctx, 'gate')
          .then(() => ctx.sleep({ seconds: 1500 }))
          .then(() => step('s2')),
      ]),
    callers: (world, runId) => {
      world.settleAt(200, runId, '2', 'open');
    },
    tools: { gate: 210 },
  },
  {
    name: 'short timers',
    slackS: 60,
    run: async (ctx, step) => {
      await ctx.sleep({ seconds: 20 });
      await step('s1');
      await ctx.sleep({ seconds: 30 });
    },
  },
  {
    name: 'deadline',
    slackS: 460,
    run: async (ctx, step) => [await orCode(call(ctx, 'r1', { seconds: 400 })), await step('s2')],
    callers: (world, runId) => {
      world.settleAt(3000, runId, '1', 'very late');
    },
  },
  {
    name: 'five remote tasks',
    tools: { r1: 40, r2: 90, r3: 20, r4: 200, r5: 61 },
    run: async (ctx, step) => {
      const outcomes = await Promise.all(
        ['r1', 'r2', 'r3', 'r4', 'r5'].map(async (tool) => [
          (await call(ctx, tool)).result,
          await step(`after ${tool}`),
        ]),
      );
      return outcomes;
    },
  },
  {
    name: 'signals in a loop',
    run: async (ctx, step) => {
      const got: JsonValue[] = [];
      while (got.length < 4) got.push(await ctx.signal('n'));
      return [got, await step('s1')];
    },
    callers: (world, runId) => {
      for (const [n, atS] of [0.5, 30, 30, 31, 90].entries()) world.signalAt(atS, runId, 'n', n, `k${n}`);
      // Sends the same signal again, and enough others for the loop to end whatever was not accepted.
      world.signalAt(120, runId, 'n', 1, 'k1');
      for (let n = 0; n < 5; n++) world.signalAt(3000 + n, runId, 'n', n, `late${n}`);
    },
  },
  {
    name: 'signals in the last turn',
    run: async (ctx, step) => {
      const early = ctx.signal('n', { timeout: { seconds: 200 } }).catch(() => 'none');
      await call(ctx, 'r1');
      await step('s1');
      return [await step('s2'), typeof (await ctx.race([async () => early, async (c) => c.sleep({ seconds: 1 })]))];
    },
    tools: { r1: 30 },
    callers: (world, runId) => {
      for (const [n, atS] of [31, 31.5, 32, 32.5, 33, 33.5, 34, 60, 61].entries())
        world.signalAt(atS, runId, 'n', n, `k${n}`);
    },
  },
  {
    name: 'signal deadline',
    slackS: 310,
    run: async (ctx, step) => [
      await ctx.signal('n', { timeout: { seconds: 300 } }).catch(() => 'none'),
      await step('s1'),
    ],
    callers: (world, runId) => {
      world.signalAt(299.9, runId, 'n', 'just', 'k');
    },
  },
  {
    name: 'cancel with children',
    slackS: 100,
    run: async (_, step, { child }) => {
      try {
        return await Promise.all([child(), child({ parentClose: 'terminate' })]);
      } finally {
        await step('undo');
      }
    },
    child: async (ctx, step) => {
      try {
        await call(ctx, 'r1');
      } finally {
        await step('undo child');
      }
    },
    callers: (world, runId) => {
      world.stopAt(30, runId, 'cancel', 'c1');
      world.stopAt(3000, runId, 'cancel', 'c2');
    },
  },
  {
    name: 'terminate with children',
    slackS: 100,
    run: async (_, __, { child }) => Promise.all([child(), child({ parentClose: 'terminate' })]),
    child: async (ctx) => call(ctx, 'r1'),
    callers: (world, runId) => {
      world.stopAt(0.4, runId, 'terminate', 'x1');
      world.stopAt(3000, runId, 'terminate', 'x2');
    },
  },
  {
    name: 'children',
    slackS: 200,
    tools: { r1: 40 },
    run: async (_, step, { child }) => [await Promise.all([child(), child(), child()]), await step('s1')],
    child: async (ctx, step) => [(await call(ctx, 'r1')).result, await step('in child')],
  },
  {
    name: 'child outlives parent',
    slackS: 200,
    run: async (ctx, _, { child }) => ctx.race([async (c) => child({}, c), async (c) => c.sleep({ seconds: 50 })]),
    child: async (ctx) => {
      await ctx.sleep({ seconds: 16 });
      return ctx.continueAsNew(null);
    },
  },
  {
    name: 'continue as new with signals',
    slackS: 200,
    run: async (ctx, step, { input }) => {
      const round = Number(input ?? 0);
      const got = await ctx.signal('n', { timeout: { seconds: 40 } }).catch(() => 'none');
      await step('s1');
      return round < 3 ? ctx.continueAsNew(round + 1) : got;
    },
    callers: (world, runId) => {
      for (const [n, atS] of [0.5, 0.6, 41, 42, 43, 80].entries()) world.signalAt(atS, runId, 'n', n, `k${n}`);
    },
  },
  {
    name: 'continue as new at once',
    slackS: 100,
    run: async (ctx, _, { input }) => {
      const round = Number(input ?? 0);
      const got = await ctx.signal('n');
      return round < 3 ? ctx.continueAsNew(round + 1) : got;
    },
    callers: (world, runId) => {
      for (const [n, atS] of [0.03, 0.04, 0.05, 60].entries()) world.signalAt(atS, runId, 'n', n, `k${n}`);
      // Enough signals for the last run to end, whatever was not accepted.
      for (let n = 0; n < 5; n++) world.signalAt(3000 + n * 60, runId, 'n', n, `late${n}`);
    },
  },
  {
    name: 'saga',
    slackS: 150,
    tools: { r1: 30 },
    run: async (ctx, step) =>
      ctx.saga(async (saga) => {
        await step('book');
        saga.compensate('unbook', () => 1);
        await call(ctx, 'r1');
        saga.compensate('refund', () => 1);
        await ctx.sleep({ seconds: 60 });
        throw new Error('no seat');
      }),
    callers: (world, runId) => {
      world.stopAt(33, runId, 'cancel', 'c1');
    },
  },
  {
    name: 'race with teardown',
    slackS: 250,
    run: async (ctx, step, { child }) => {
      const won = await ctx.race([
        async (c) => call(c, 'r1'),
        async (c) => (await c.externalToken({ name: 't' })).outcome,
        async (c) => child({}, c),
        async (c) => c.sleep({ seconds: 45 }).then(() => 'timer'),
      ]);
      await step('after');
      await ctx.sleep({ seconds: 120 });
      return won;
    },
    child: async (ctx) => call(ctx, 'r2'),
    callers: (world, runId) => {
      world.settleAt(45, runId, '1', 'pushed');
      world.settleAt(44.9, runId, '2', 'approved');
      world.settleAt(100, runId, '1', 'late');
      world.settleAt(3000, runId, '2', 'very late');
    },
  },
  {
    name: 'long step',
    slackS: 400,
    run: async (_, step, { longStep }) => [await step('s1'), await longStep('l1', 130), await step('s2')],
  },
  {
    name: 'long step that fails and resumes',
    slackS: 900,
    run: async (_, step, { longStep }) => [await longStep('l1', 70, 2), await step('s1')],
    callers: (world, runId) => {
      world.retryNowAt(85, runId);
    },
  },
  {
    name: 'long steps that nobody waits for any more',
    slackS: 400,
    run: async (ctx, step, { longStep }) => {
      const won = await ctx.race([
        async (branch) => longStep('l1', 700, 0, branch),
        async (branch) => longStep('l2', 40, 0, branch),
        async (branch) => branch.sleep({ seconds: 300 }),
      ]);
      await step('s1');
      try {
        return [typeof won, await longStep('l3', 800)];
      } finally {
        await step('undo');
      }
    },
    callers: (world, runId) => {
      world.stopAt(200, runId, 'cancel', 'c1');
      world.stopAt(3000, runId, 'cancel', 'c2');
    },
  },
  {
    name: 'terminate during steps',
    run: async (_, step) => {
      for (let n = 0; n < 12; n++) await step(`s${n}`);
    },
    callers: (world, runId) => {
      world.stopAt(5.5, runId, 'terminate', 'x1');
    },
  },
  {
    name: 'bus with a sequence',
    bus: true,
    tools: { r1: 100 },
    run: async (ctx, step) => [
      await step('s1'),
      (await call(ctx, 'r1')).result,
      await valueOrCode(ctx.ask({ message: 'really?', timeout: { seconds: 30 } })),
      await step('s2'),
    ],
  },
  {
    name: 'bus with waits closed at the end',
    bus: true,
    run: async (ctx) => Promise.race([call(ctx, 'r1').then(() => 'r1'), call(ctx, 'r2').then(() => 'r2')]),
    callers: (world, runId) => {
      world.settleAt(90, runId, '1', 'pushed 1');
      world.settleAt(91, runId, '2', 'pushed 2');
      world.settleAt(3000, runId, '2', 'very late');
    },
  },
  {
    name: 'bus with children and a next run',
    bus: true,
    tools: { r1: 20 },
    slackS: 400,
    run: async (ctx, _, { input, child }) => {
      await child();
      return input === null ? ctx.continueAsNew('second') : 'ended';
    },
    child: async (ctx, step) => [(await call(ctx, 'r1')).result, await step('in child')],
  },
];

export function workflowsOf(scenario: Scenario, worldOf: () => World): readonly AnyWorkflow[] {
  const named = (name: string, run: Scenario['run']): AnyWorkflow =>
    defineWorkflow({
      name,
      run: async (ctx, input: JsonValue) =>
        run(ctx, (step) => ctx.step(step, () => worldOf().step(ctx.runId, step)), {
          input,
          child: (options, from = ctx) => from.child(child, null, options),
          longStep: (step, seconds, failures = 0, from = ctx) =>
            valueOrCode(
              from.step(step, (context) => worldOf().longStep(ctx.runId, step, context, seconds, failures), {
                long: true,
                retry: { initialInterval: { seconds: 60 } },
              }),
            ),
        }),
    });
  const child = named('child', scenario.child ?? (async () => 'child'));
  return [named(scenario.name.replaceAll(' ', '-'), scenario.run), child];
}

export async function orCode(outcome: Promise<RemoteOutcome>): Promise<unknown> {
  return valueOrCode(outcome.then(({ result }) => result));
}

async function valueOrCode(value: Promise<unknown>): Promise<unknown> {
  try {
    return await value;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === 'RUN_CANCELLED') throw error;
    return code;
  }
}
