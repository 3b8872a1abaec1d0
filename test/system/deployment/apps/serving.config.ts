import { defineApp, defineWorkflow } from 'outwait';
import { z } from 'zod';

/** Reports while it works, asks its caller, and ends with what it was told. */
const report = defineWorkflow({
  name: 'report',
  input: z.object({ month: z.string() }),
  async run(ctx, { month }) {
    ctx.progress('collecting');
    ctx.artifact({ artifactId: 'rows', data: [month], append: true });
    await ctx.sleep({ seconds: 1 });
    ctx.artifact({ artifactId: 'rows', data: ['end'], append: true, lastChunk: true });
    const { action } = await ctx.ask({ to: 'caller', message: 'Is this for the board?' });
    return { month, action, caller: ctx.caller?.id ?? '' };
  },
});

/** Waits until it is cancelled. */
const watch = defineWorkflow({ name: 'watch', input: z.object({}), run: (ctx) => ctx.signal('never') });

export default defineApp({
  workflows: [report, watch],
  serve: {
    agent: { name: 'Finance desk', description: 'Reports of the finance desk' },
    skills: { report: { description: 'Writes a report' }, watch: { description: 'Watches' } },
  },
});
