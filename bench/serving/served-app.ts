import { setTimeout as delay } from 'node:timers/promises';
import { type App, defineApp } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';

/** Goes on for an hour: its task is there and idle. */
const waits = defineWorkflow({
  name: 'waits',
  run: async (ctx) => {
    await ctx.sleep({ hours: 1 });
  },
});

/** Ends after as many steps as asked for. */
export const steps = defineWorkflow<{ readonly count: number }>({
  name: 'steps',
  run: async (ctx, { count }) => {
    let sum = 0;
    for (let at = 0; at < count; at++) sum += await ctx.step(`step-${at}`, () => at);
    return { sum };
  },
});

/** Says something every so often, in a commit each. */
export const ticks = defineWorkflow<{ readonly count: number; readonly everyMs: number }>({
  name: 'ticks',
  run: async (ctx, { count, everyMs }) => {
    for (let at = 0; at < count; at++) {
      await ctx.step(`tick-${at}`, async () => delay(everyMs));
      ctx.progress(`tick ${at}`);
    }
  },
});

/** Tells as many things as asked for, a hundred in each of its commits. */
export const talks = defineWorkflow<{ readonly count: number }>({
  name: 'talks',
  run: async (ctx, { count }) => {
    for (let at = 0; at < count; at++) {
      if (at % 100 === 0) await ctx.step(`part-${at}`, () => at);
      ctx.artifact({ artifactId: 'rows', data: at, append: true });
    }
  },
});

/** The app of each replica. */
export function servedApp(): App {
  const description = 'Serves the benchmark.';
  return defineApp({
    workflows: [waits, steps, ticks, talks],
    serve: {
      agent: { name: 'Bench', description },
      skills: { waits: { description }, steps: { description }, ticks: { description }, talks: { description } },
    },
  });
}
