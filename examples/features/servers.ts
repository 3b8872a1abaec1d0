import { a2aAgent, defineApp, defineWorkflow, mcpServer, secret, secretsManager, ssmParameter } from 'outwait';

export const exportMonth = defineWorkflow<{ month: string }>({
  name: 'exportMonth',
  run: async (ctx, { month }) => {
    const { result } = await ctx.callRemoteTask({ server: 'reports', tool: 'start_export', arguments: { month } });
    return result;
  },
});

export default defineApp({
  workflows: [exportMonth],
  servers: {
    reports: mcpServer({
      url: 'https://reports.example.com/mcp',
      auth: {
        oauth: {
          issuer: 'https://login.example.com',
          clientId: 'outwait',
          clientSecret: secretsManager('reports/client', { field: 'secret' }),
        },
      },
      limits: { concurrency: 20, perMinute: 600, breaker: { failures: 5, openFor: { minutes: 1 } } },
    }),
    supplier: a2aAgent({
      url: 'https://supplier.example.com/a2a',
      auth: { bearer: ssmParameter('/outwait/supplier'), headers: { 'x-api-key': secret('SUPPLIER_KEY') } },
    }),
    internal: mcpServer({
      url: 'https://abc123.execute-api.eu-central-1.amazonaws.com/prod/mcp',
      auth: { sigv4: { service: 'execute-api', region: 'eu-central-1' } },
    }),
  },
});
