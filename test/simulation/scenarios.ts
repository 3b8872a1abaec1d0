import type { Duration } from '../../lib/base/time.js';
import type { RemoteOutcome, WorkflowContext } from '../../lib/workflow/context.js';
import { defineWorkflow, type AnyWorkflow } from '../../lib/workflow/define-workflow.js';
import type { World } from './world.js';

export interface Scenario {
  readonly name: string;
  readonly run: (ctx: WorkflowContext, step: (name: string) => Promise<string>) => Promise<unknown>;
  /** How long each tool's task runs, in seconds; default for ever. */
  readonly tools?: Readonly<Record<string, number>>;
  readonly dedupes?: boolean;
  /** What others do, and when. */
  readonly callers?: (world: World, runId: string) => void;
  /** How much later than without faults a run may end, beyond two sweeps and a visibility time. */
  readonly slackS?: number;
}

const call = (ctx: WorkflowContext, tool: string, timeout: Duration = { hours: 6 }): Promise<RemoteOutcome> =>
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
];

export function workflowOf(scenario: Scenario, worldOf: () => World): AnyWorkflow {
  return defineWorkflow<string>({
    name: scenario.name.replaceAll(' ', '-'),
    run: async (ctx, runId) => scenario.run(ctx, (name) => ctx.step(name, () => worldOf().step(runId, name))),
  });
}

async function orCode(outcome: Promise<RemoteOutcome>): Promise<unknown> {
  try {
    return (await outcome).result;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === 'RUN_CANCELLED') throw error;
    return code;
  }
}
