import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { defineApp, defineWorkflow, mcpServer, type Tracing } from 'outwait';
import { createTestApp, scriptedServer } from 'outwait/testing';
import { describe, expect, it } from 'vitest';

const flow = defineWorkflow({
  name: 'flow',
  run: async (ctx) => {
    await ctx.step('prepare', () => 1);
    return (await ctx.callRemoteTask({ server: 'reports', tool: 'export' })).result;
  },
});
const servers = { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) };
const scripted = () => ({
  reports: scriptedServer({ protocol: 'mcp', task: () => ({ after: { minutes: 1 }, result: 'done' }) }),
});

/** Keeps spans in memory. */
function inMemory(): { readonly tracing: Tracing; readonly exporter: InMemorySpanExporter } {
  const exporter = new InMemorySpanExporter();
  const tracing: Tracing = ({ idGenerator }) => ({
    api: { trace, ROOT_CONTEXT },
    provider: new BasicTracerProvider({ idGenerator, spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  });
  return { tracing, exporter };
}

describe('the tracing of a test app', () => {
  it('has all spans of a run when it has ended, at the times of the clock', async () => {
    const { tracing, exporter } = inMemory();
    const app = createTestApp(defineApp({ workflows: [flow], servers }), { servers: scripted(), tracing });
    const runId = await app.start(flow, null);
    const startMs = app.clock.nowMs();
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
    const spans = exporter.getFinishedSpans();
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect([...new Set(spans.map(({ name }) => name))].sort()).toEqual([
      'poll reports',
      'run flow',
      'settlement',
      'start reports',
      'step prepare',
      'turn flow',
    ]);
    const run = spans.find(({ name }) => name === 'run flow');
    expect(run?.attributes).toMatchObject({ 'outwait.run_id': runId, 'outwait.status': 'completed' });
    expect([run?.startTime[0], run?.endTime[0]]).toEqual([startMs / 1_000, Math.floor(app.clock.nowMs() / 1_000)]);
  });

  it('does not call that of the app, which sends its spans elsewhere', async () => {
    const tracing: Tracing = () => {
      throw new Error('called');
    };
    const lines: string[] = [];
    const write = (event: string): void => void lines.push(event);
    const log = { debug: write, info: write, warn: write, error: write };
    const app = createTestApp(defineApp({ workflows: [flow], servers, tracing }), { servers: scripted(), log });
    await app.runToEnd(await app.start(flow, null));
    expect(lines).not.toContain('spans not sent');
  });
});
