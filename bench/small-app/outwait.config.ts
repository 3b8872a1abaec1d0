import { defineApp, defineWorkflow, mcpServer } from 'outwait';

/** The smallest possible deployment: its bundles contain outwait and almost nothing else. */
export default defineApp({
  workflows: [
    defineWorkflow({ name: 'small', run: (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export' }) }),
  ],
  servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) },
});
