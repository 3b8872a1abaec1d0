import { defineApp, defineWorkflow, mcpServer } from 'outwait';
import { createTestApp, scriptedServer } from 'outwait/testing';
import { expect, test } from 'vitest';

test('a workflow of three steps and one remote task completes', async () => {
  const flow = defineWorkflow<{ month: string }>({
    name: 'flow',
    async run(ctx, { month }) {
      const a = await ctx.step('a', () => 1);
      const b = await ctx.step('b', () => a + 1);
      const outcome = await ctx.callRemoteTask({ server: 'reports', tool: 'export', arguments: { month }, timeout: { hours: 6 } });
      await ctx.sleep({ days: 30 });
      return ctx.step('c', () => ({ b, result: outcome.result, isError: outcome.isError }));
    },
  });
  const server = scriptedServer({ protocol: 'mcp', task: () => ({ after: { hours: 1 }, result: { rows: 412 } }) });
  const app = createTestApp(defineApp({ workflows: [flow], servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) } }), {
    servers: { reports: server },
  });
  const runId = await app.start(flow, { month: '2026-10' });
  const outcome = await app.runToEnd(runId);
  expect(outcome).toEqual({ status: 'completed', result: { b: 2, result: { rows: 412 }, isError: false } });
  expect(server.starts).toHaveLength(1);
  console.log(JSON.stringify((await app.history(runId)).events.map((e) => e.type)), server.reads);
});
