import { defineApp, defineWorkflow, mcpServer, type WorkflowContext } from 'outwait';

// The workflows of kept.config.ts, changed as workflows with open runs are changed.

const step = (ctx: WorkflowContext, name: string): Promise<string> => ctx.step(name, () => `${name} 2`);

/** Adds a step at the beginning and one after the wait, each only for runs that have not passed that point. */
const changed = (name: string, wait: (ctx: WorkflowContext) => Promise<unknown>) =>
  defineWorkflow({
    name,
    version: '2',
    run: async (ctx) => {
      const greeted = ctx.patched('greet') ? [await step(ctx, 'greet')] : [];
      const prepared = await step(ctx, 'prepare');
      const waited = await wait(ctx);
      const checked = ctx.patched('check') ? [await step(ctx, 'check')] : [];
      return [...greeted, prepared, ...(waited === undefined ? [] : [waited]), ...checked, await step(ctx, 'publish')];
    },
  });

export default defineApp({
  workflows: [
    changed('remote', async (ctx) => {
      const { isError } = await ctx.callRemoteTask({
        server: 'reports',
        tool: 'start_export',
        arguments: { month: '2026-10' },
      });
      return isError;
    }),
    changed('timer', (ctx) => ctx.sleep({ hours: 1 })),
    changed('signal', (ctx) => ctx.signal('go')),
    changed('long', (ctx) => ctx.step('index', () => 'indexed 2', { long: true })),
  ],
  servers: {
    reports: mcpServer({
      url: process.env['UPGRADE_MCP_URL'] ?? 'http://127.0.0.1:1/mcp',
      allowPrivateAddresses: true,
    }),
  },
});
