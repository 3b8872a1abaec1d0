import { defineWorkflow, hasCode, textOf } from 'outwait';

export const monthEnd = defineWorkflow({
  name: 'monthEnd',
  run: async (ctx) => {
    try {
      const outcome = await ctx.callRemoteTask({
        server: 'reports',
        tool: 'start_export',
        timeout: { hours: 6 },
        // Starts a new task, up to twice, if the server reports it as failed or loses it.
        restart: { attempts: 3, on: ['failed', 'lost'] },
      });
      if (outcome.isError) return `refused ${outcome.phase === 'start' ? 'at the start' : 'later'}: ${textOf(outcome)}`;
      return textOf(outcome);
    } catch (error) {
      if (hasCode(error, 'REMOTE_TASK_FAILED')) return `failed ${JSON.stringify(error.details?.['attempts'])} times`;
      // A task may be running whose id is unknown: a person has to look it up.
      if (hasCode(error, 'REMOTE_START_AMBIGUOUS')) return ctx.signal('looked up');
      throw error;
    }
  },
});
