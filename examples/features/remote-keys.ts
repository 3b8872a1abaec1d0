import { defineWorkflow, textOf } from 'outwait';

export const exportOnce = defineWorkflow<{ month: string }>({
  name: 'exportOnce',
  async run(ctx, { month }) {
    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'start_export',
      arguments: { month },
      // However many runs ask for this month, the server makes one task of it.
      idempotencyKey: `export/${month}`,
    });
    return textOf(outcome);
  },
});
