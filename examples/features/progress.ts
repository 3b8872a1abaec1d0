import { defineWorkflow } from 'outwait';

export const nightly = defineWorkflow({
  name: 'nightly',
  run: async (ctx) => {
    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'start_export',
      timeout: { hours: 6 },
      onProgress: ({ state, message, progress, total }) => {
        ctx.progress({ state, message: message ?? '', done: total === undefined ? 0 : (progress ?? 0) / total });
      },
    });
    return outcome.result;
  },
});
