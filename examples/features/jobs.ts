import { dataOf, defineApp, defineWorkflow, mcpServer } from 'outwait';

export const exportRows = defineWorkflow<{ month: string }>({
  name: 'exportRows',
  run: async (ctx, { month }) => {
    const outcome = await ctx.callRemoteTask({
      server: 'warehouse',
      tool: 'start_export',
      arguments: { month },
      timeout: { hours: 6 },
    });
    return dataOf(outcome);
  },
});

export default defineApp({
  workflows: [exportRows],
  servers: {
    warehouse: mcpServer({
      url: 'https://warehouse.example.com/mcp',
      jobs: {
        // start_export answers { "job_id": "j-17" }; the other two take { "job_id": "j-17" }.
        start_export: {
          id: 'job_id',
          status: 'export_status',
          cancel: 'cancel_export',
          // { "status": "done", "result": { … } }, or { "status": "failed", "message": "…" }; any other status means
          // that the job is still running.
          done: ['done'],
          failed: ['failed'],
          result: 'result',
          missing: ['no such job'],
        },
      },
    }),
  },
});
