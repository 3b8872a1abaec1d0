import { defineApp, defineWorkflow, mcpServer } from 'outwait';

/** The least that a deployment can hold: what is left of its bundles is outwait. */
export default defineApp({
  workflows: [
    defineWorkflow({ name: 'small', run: (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' }) }),
  ],
  servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
});
