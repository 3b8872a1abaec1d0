import { defineWorkflow } from 'outwait';

export const follow = defineWorkflow<{ taskId: string }>({
  name: 'follow',
  async run(ctx, { taskId }) {
    const { result } = await ctx.attachRemoteTask({ server: 'reports', taskId, timeout: { hours: 6 } });
    return result;
  },
});
