import { defineApp, defineWorkflow, mcpServer, NonRetryableError, type App, type WorkflowContext } from 'outwait';
import { scriptedServer, type ScriptedTask, type TestApp } from 'outwait/testing';
import type { AnyWorkflow } from '../../../lib/workflow/define-workflow.js';

/** A run to record, and the code that must fit its history for as long as histories are kept. */
export interface Recording {
  /** The current code, under the same names as the recorded code. */
  readonly workflows: readonly AnyWorkflow[];
  /** The code that the run is recorded with, if it is older. */
  readonly recordedWith?: readonly AnyWorkflow[];
  /** Returns the script of the server `remote` for a call of a tool. */
  readonly task?: (tool: string) => ScriptedTask;
  /** Runs the first workflow as far as its history should go. */
  readonly drive: (app: TestApp, runId: string) => Promise<unknown>;
  /** Other histories of the same drive, by name. */
  readonly others?: (app: TestApp, runId: string) => Promise<Readonly<Record<string, string>>>;
  /** Code with a mistake, which does not fit. */
  readonly changed: readonly AnyWorkflow[];
}

export function appOf(workflows: readonly AnyWorkflow[]): App {
  return defineApp({ workflows, servers: { remote: mcpServer({ url: 'https://remote.example.com/mcp' }) } });
}

export const serversOf = ({ task = () => ({ never: true }) }: Pick<Recording, 'task'>) => ({
  remote: scriptedServer({
    protocol: 'mcp',
    task: (request) => task(request.kind === 'tool' ? request.tool : ''),
  }),
});

type Body = (ctx: WorkflowContext) => Promise<unknown>;
const flow = (name: string, run: Body): AnyWorkflow => defineWorkflow<unknown>({ name, run });
const toEnd = (app: TestApp, runId: string): Promise<unknown> => app.runToEnd(runId);

const retries = (steps: readonly [string, string]): AnyWorkflow =>
  flow('retries', async (ctx) => {
    const flaky = await ctx.step(
      steps[0],
      ({ attempt }) => {
        if (attempt < 3) throw new Error(`busy ${attempt}`);
        return { attempt };
      },
      { retry: { maxAttempts: 4, jitter: 0.5 } },
    );
    const refused = await ctx
      .step(steps[1], () => {
        throw new NonRetryableError('closed');
      })
      .catch((error: unknown) => (error as { code: string }).code);
    return { flaky, refused, at: ctx.now(), chance: ctx.random(), id: ctx.uuid() };
  });

const race = (tool: string): AnyWorkflow =>
  flow('race', (ctx) =>
    ctx.race([
      async (branch) => {
        await branch.callRemoteTask({ server: 'remote', tool, arguments: { rows: 3 } });
        return 'remote';
      },
      async (branch) => {
        await branch.sleep({ hours: 2 });
        return 'timer';
      },
    ]),
  );

const five = ['one', 'two', 'three', 'four', 'five'];
const hoursOf: Readonly<Record<string, number>> = { one: 5, two: 1, three: 4, four: 2, five: 3 };
const all = (tools: readonly string[]): AnyWorkflow =>
  flow('all', async (ctx) => {
    const outcomes = await Promise.all(tools.map((tool) => ctx.callRemoteTask({ server: 'remote', tool })));
    return outcomes.map(({ result }) => result);
  });

const cleanup = (last: Body): AnyWorkflow =>
  flow('cleanup', async (ctx) => {
    try {
      await ctx.callRemoteTask({ server: 'remote', tool: 'endless' });
      return 'not cancelled';
    } finally {
      await ctx.shield(async (shielded) => {
        await shielded.step('release', () => 'released');
        await last(shielded);
      });
    }
  });

const signals = (second: string): AnyWorkflow =>
  flow('signals', async (ctx) => {
    const first = await ctx.signal('amount', { where: (amount) => Number(amount) > 10 });
    const missed = await ctx.signal('never', { timeout: { hours: 1 } }).catch((error: unknown) => {
      return (error as { code: string }).code;
    });
    return { first, missed, rest: [await ctx.signal('amount'), await ctx.signal(second)] };
  });

const child = defineWorkflow<string, string>({
  name: 'child',
  async run(ctx) {
    await ctx.sleep({ minutes: 5 });
    return 'grown';
  },
});
const changedChild = flow('child', async (ctx) => ctx.step('grow', () => 'grown'));
const parent = (input: string): AnyWorkflow =>
  flow('parent', async (ctx) => [await ctx.child(child, input), await ctx.step('greet', () => 'hello')]);

const rounds = (step: string): AnyWorkflow =>
  defineWorkflow<unknown>({
    name: 'rounds',
    async run(ctx, input) {
      const round = typeof input === 'number' ? input : 1;
      await ctx.step(step, () => round);
      return round === 2 ? 'done' : ctx.continueAsNew(round + 1);
    },
  });

const trip = (undo: string): AnyWorkflow =>
  flow('trip', (ctx) =>
    ctx.saga(async (saga) => {
      await ctx.step('book flight', () => 'f-1');
      saga.compensate('cancel flight', () => 'undone');
      await ctx.step('book hotel', () => 'h-1');
      saga.compensate(undo, () => 'undone');
      await ctx.step('book car', () => {
        throw new NonRetryableError('no car');
      });
    }),
  );

const payment = (pay: (ctx: WorkflowContext) => string): AnyWorkflow =>
  flow('payment', async (ctx) => {
    const paid = await ctx.step(pay(ctx), () => 'paid');
    await ctx.sleep({ hours: 1 });
    return [paid, await ctx.step('close', () => 'closed')];
  });
const patchedPayment = payment((ctx) => (ctx.patched('pay-2') ? 'pay again' : 'pay'));

const approval = (token: string): AnyWorkflow =>
  flow('approval', async (ctx) => {
    const { outcome } = await ctx.externalToken({ name: token });
    const { result } = await outcome;
    const { promise } = await ctx.promise({ name: 'second', timeout: { days: 1 } });
    return [result, await promise.catch((error: unknown) => (error as { code: string }).code)];
  });

/** Hears of the changes of a task one at a time: a step for some of them, during which others come. */
const progress = (step: string): AnyWorkflow =>
  flow('progress', async (ctx) => {
    const heard: unknown[] = [];
    await ctx.callRemoteTask({
      server: 'remote',
      tool: 'export',
      onProgress: async ({ state, message, progress: done, total }, inner) => {
        heard.push([state, message ?? '', done ?? 0, total ?? 0]);
        if (done === 1) await inner.sleep({ minutes: 5 });
        if (done !== undefined) await inner.step(step, () => done);
      },
    });
    return heard;
  });

/** The recordings, by the name of the file that holds the history. */
export const recordings: Readonly<Record<string, Recording>> = {
  'steps-with-retries': {
    workflows: [retries(['flaky', 'refused'])],
    drive: toEnd,
    changed: [retries(['refused', 'flaky'])],
  },
  'race-of-remote-and-timer': {
    workflows: [race('export')],
    drive: toEnd,
    changed: [race('import')],
  },
  'all-of-five-remotes': {
    workflows: [all(five)],
    task: (tool) => ({ after: { hours: hoursOf[tool] ?? 0 }, result: `${tool} done` }),
    drive: toEnd,
    changed: [all([...five].reverse())],
  },
  'cancel-with-cleanup': {
    workflows: [cleanup((ctx) => ctx.sleep({ minutes: 1 }))],
    drive: async (app, runId) => {
      await app.pass({ hours: 1 });
      await app.cancel(runId, 'enough');
      await app.runToEnd(runId);
    },
    changed: [cleanup((ctx) => ctx.step('report', () => 1))],
  },
  signals: {
    workflows: [signals('last')],
    drive: async (app, runId) => {
      await app.signal(runId, 'amount', 5, 'a');
      await app.pass({ minutes: 1 });
      await app.signal(runId, 'amount', 50, 'b');
      await app.pass({ hours: 2 });
      await app.signal(runId, 'last', { ok: true }, 'c');
      await app.runToEnd(runId);
    },
    changed: [signals('final')],
  },
  'child-parent': {
    workflows: [parent('seed'), child],
    drive: toEnd,
    others: async (app, runId) => {
      const { events } = await app.history(runId);
      const requested = events.find((event) => event.type === 'ChildRequested');
      return requested === undefined ? {} : { 'child-itself': requested.childRunId };
    },
    changed: [parent('other seed'), changedChild],
  },
  'continue-as-new-first': {
    workflows: [rounds('work')],
    drive: toEnd,
    others: async (app, runId) => {
      const { nextRunId } = await app.show(runId);
      if (nextRunId === undefined) return {};
      await app.runToEnd(nextRunId);
      return { 'continue-as-new-second': nextRunId };
    },
    changed: [rounds('rest')],
  },
  saga: {
    workflows: [trip('cancel hotel')],
    drive: toEnd,
    changed: [trip('refund hotel')],
  },
  'patched-before': {
    workflows: [patchedPayment],
    recordedWith: [payment(() => 'pay')],
    drive: toEnd,
    changed: [payment(() => 'pay again')],
  },
  'patched-after': {
    workflows: [patchedPayment],
    drive: toEnd,
    changed: [payment(() => 'pay')],
  },
  tokens: {
    workflows: [approval('approval')],
    drive: async (app, runId) => {
      await app.pass({ minutes: 1 });
      await app.settle(await app.tokenOf(runId, 'approval'), { approved: true });
      await app.runToEnd(runId);
    },
    changed: [approval('consent')],
  },
  progress: {
    workflows: [progress('note')],
    task: () => ({
      after: { minutes: 20 },
      result: 'exported',
      states: [
        { from: { seconds: 0 }, state: 'working' },
        { from: { minutes: 1 }, state: 'working', message: 'reading', progress: 1, total: 3 },
        { from: { minutes: 3 }, state: 'working', message: 'counting', progress: 2, total: 3 },
        { from: { minutes: 5 }, state: 'working', message: 'writing', progress: 3, total: 3 },
      ],
    }),
    drive: toEnd,
    changed: [progress('log')],
  },
  'under-way': {
    workflows: [all(five)],
    task: (tool) => ({ after: { hours: hoursOf[tool] ?? 0 }, result: `${tool} done` }),
    drive: (app) => app.pass({ minutes: 150 }),
    changed: [flow('all', (ctx) => ctx.sleep({ hours: 1 }))],
  },
};
