import { defineWorkflow } from 'outwait';

export const nightlyIndex = defineWorkflow({
  name: 'nightlyIndex',
  run: async (ctx) =>
    ctx.race([
      async (branch) =>
        branch.callRemoteTask({
          server: 'reports',
          tool: 'rebuild_index',
          timeout: { hours: 8 },
          // A half-built index is worse than a late one, so its task is never cancelled.
          onCancel: 'leave',
          onTimeout: 'leave',
        }),
      async (branch) => branch.sleep({ hours: 1 }).then(() => 'not done yet'),
    ]),
});
