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
          // An index that is half built is worse than one that is late: nobody stops it.
          onCancel: 'leave',
          onTimeout: 'leave',
        }),
      async (branch) => branch.sleep({ hours: 1 }).then(() => 'not done yet'),
    ]),
});
