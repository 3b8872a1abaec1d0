import { defineApp, defineWorkflow, mcpServer, type WorkflowContext } from 'outwait';

// The app of the kept bundles of a release. A change here does not change those, so add workflows and keep the existing
// ones.

const step = (ctx: WorkflowContext, name: string): Promise<string> => ctx.step(name, () => `${name} 1`);

/** Runs for ever if the environment says so; only the death of its process ends it then. */
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
