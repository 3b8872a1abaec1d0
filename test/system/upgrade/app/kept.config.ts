import { defineApp, defineWorkflow, mcpServer, type WorkflowContext } from 'outwait';

// What the kept bundles of a release run. A change here does not change them: add, and keep what is there.

const step = (ctx: WorkflowContext, name: string): Promise<string> => ctx.step(name, () => `${name} 1`);

/** Goes on for ever where the environment says so, and must then be ended by the death of its process. */
async function indexAll({ signal }: { readonly signal: AbortSignal }): Promise<string> {
  if (process.env['UPGRADE_HOLD'] === undefined) return 'indexed 1';
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(new Error('stopped'));
    });
  });
}

export default defineApp({
  workflows: [
    defineWorkflow({
      name: 'remote',
      run: async (ctx) => {
        const prepared = await step(ctx, 'prepare');
        const outcome = await ctx.callRemoteTask({
          server: 'reports',
          tool: 'start_export',
          arguments: { month: '2026-10' },
        });
        return [prepared, outcome.isError, await step(ctx, 'publish')];
      },
    }),
    defineWorkflow({
      name: 'timer',
      run: async (ctx) => {
        const prepared = await step(ctx, 'prepare');
        await ctx.sleep({ hours: 1 });
        return [prepared, await step(ctx, 'publish')];
      },
    }),
    defineWorkflow({
      name: 'signal',
      run: async (ctx) => {
        const prepared = await step(ctx, 'prepare');
        return [prepared, await ctx.signal('go'), await step(ctx, 'publish')];
      },
    }),
    defineWorkflow({
      name: 'long',
      run: async (ctx) => {
        const prepared = await step(ctx, 'prepare');
        return [prepared, await ctx.step('index', indexAll, { long: true }), await step(ctx, 'publish')];
      },
    }),
  ],
  servers: {
    reports: mcpServer({
      url: process.env['UPGRADE_MCP_URL'] ?? 'http://127.0.0.1:1/mcp',
      allowPrivateAddresses: true,
    }),
  },
});
