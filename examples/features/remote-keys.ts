import { defineWorkflow, textOf } from 'outwait';

export const exportOnce = defineWorkflow<{ month: string }>({
  name: 'exportOnce',
  async run(ctx, { month }) {
    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'start_export',
      arguments: { month },
      // The server makes one task per month, however many runs request it.
      idempotencyKey: `export/${month}`,
    });
    return textOf(outcome);
  },
});
