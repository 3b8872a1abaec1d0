import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLog, type Log } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { a2aAgent, type App, defineApp, mcpServer } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';
import { agent, jsonRpc } from '../../unit/remote/a2a-agent.js';
import { closeAll, type LoopbackServer, result, serve } from '../../unit/remote/loopback.js';
import { heardLog } from '../../support/outputs/heard.js';

afterEach(closeAll);

const api = { trace, ROOT_CONTEXT };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpan = 'b7ad6b7169203331';
const sampled = `00-${traceId}-${callerSpan}-01`;

const inner = defineWorkflow({ name: 'inner', run: async (ctx) => ctx.step('count', () => 1) });
const outer = defineWorkflow<{ fails?: boolean }>({
  name: 'outer',
  run: async (ctx, { fails }) => {
    await ctx.step(
      'prepare',
      (step) => {
        if (fails === true && step.attempt === 1) throw new Error('not yet');
        return 1;
      },
      { retry: { initialInterval: { milliseconds: 1 } } },
    );
    await Promise.all([
      ctx.child(inner, null),
      ctx.callRemoteTask({ server: 'reports', tool: 'export', arguments: {} }),
    ]);
  },
});

const asks = defineWorkflow({
  name: 'outer',
  run: async (ctx) => {
    await Promise.all([
      ctx.child(inner, null),
      ctx.callRemoteTask({ server: 'supplier', message: { parts: [{ text: 'a quote' }] }, timeout: { hours: 1 } }),
    ]);
  },
});

/** Starts an agent whose task ends when it pushes; a push carries the trace context of the agent's own span. */
async function aPushingAgent() {
  const pushSpan = 'c0ffee00c0ffee00';
  const peer = await agent(jsonRpc, { capabilities: { pushNotifications: true } });
  const task = (state: string) => ({ id: 't1', contextId: 'c1', status: { state: `TASK_STATE_${state}` } });
  let state = 'WORKING';
  peer.answer = (request, response) => {
    result(response, request, request.body.method === 'SendMessage' ? { task: task(state) } : task(state));
  };
  const push = async (): Promise<void> => {
    const start = peer.calls().find(({ body }) => body.method === 'SendMessage')!;
    const { configuration } = start.body.params as { configuration: Record<string, { url: string; token: string }> };
    const { url, token } = configuration['taskPushNotificationConfig']!;
    const [, ofStart] = /^00-([0-9a-f]{32})-/.exec(String(start.headers['traceparent']))!;
    state = 'COMPLETED';
    const headers = { 'content-type': 'application/json', 'x-a2a-notification-token': token };
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, traceparent: `00-${ofStart}-${pushSpan}-01` },
      body: JSON.stringify({ task: task(state) }),
    });
    expect(answer.status).toBe(202);
  };
  return { peer, push, pushSpan };
}

/** Starts a server that answers with the result, or with a task that ends at the first read. */
async function aServer({ withTask }: { readonly withTask: boolean }): Promise<LoopbackServer> {
  const task = { taskId: 't1', createdAt: '2026-11-29T10:00:00Z', ttlMs: null };
  const done = { content: [], isError: false };
  return serve((request, response) => {
    const read = { resultType: 'complete', ...task, status: 'completed', result: done };
    const started = withTask ? { resultType: 'task', ...task, status: 'working' } : { resultType: 'complete', ...done };
    result(response, request, request.body.method === 'tools/call' ? started : read);
  });
}

async function anEngine(app: App, log: Log = silentLog): Promise<LocalEngine> {
  const tokens = new TokenKeys([{ keyId: 'k1', secret: new Uint8Array(32) }]);
  return startLocalEngine({ app, table: new MemoryTable(), tokens, log: heardLog(log), port: 0 });
}

/** Runs `outer` to its end, and returns its id when all invocations have ended. */
async function runOuter(
  engine: LocalEngine,
  input: object,
  headers: Record<string, string> = {},
  meanwhile?: (runId: string) => Promise<void>,
): Promise<string> {
  const started = await fetch(`${engine.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ workflow: 'outer', input }),
  });
  const { runId } = (await started.json()) as { readonly runId: string };
  await meanwhile?.(runId);
  const ended = await fetch(`${engine.url}/runs/${runId}/result?wait=20`);
  expect(await ended.json()).toMatchObject({ outcome: { status: 'completed' } });
  await engine.stop();
  return runId;
}

/** Creates an app that keeps its spans in memory. */
async function aTracedApp({ withTask = false, supplier = 'http://127.0.0.1:1', main = outer as typeof asks } = {}) {
  const server = await aServer({ withTask });
  const exporter = new InMemorySpanExporter();
  let providers = 0;
  const app = defineApp({
    workflows: [main, inner],
    servers: {
      reports: mcpServer({ url: server.url, protocolVersion: '2026-07-28', dedupes: true }),
      supplier: a2aAgent({ card: supplier }),
    },
    tracing: ({ idGenerator }) => {
      providers++;
      const spanProcessors = [new SimpleSpanProcessor(exporter)];
      return { api, provider: new BasicTracerProvider({ idGenerator, spanProcessors }) };
    },
  });
  const spans = () =>
    exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      id: span.spanContext().spanId,
      traceId: span.spanContext().traceId,
      parent: span.parentSpanContext?.spanId,
      links: span.links.map(({ context }) => context.spanId),
      attributes: span.attributes,
      failed: span.status.code === SpanStatusCode.ERROR,
    }));
  return { app, server, spans, providers: () => providers };
}

describe('a run with a step, a child and a remote task', () => {
  it('is one trace, that of the request that started it', async () => {
    const { app, server, spans, providers } = await aTracedApp({ withTask: true });
    const runId = await runOuter(await anEngine(app), { fails: true }, { traceparent: sampled });
    const all = spans();
    expect(new Set(all.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(providers()).toBe(1);

    const named = (name: string) => all.filter((span) => span.name === name);
    const [run] = named('run outer');
    expect(run).toMatchObject({ parent: callerSpan, attributes: { 'outwait.run_id': runId } });
    const settlements = named('settlement');
    const ofChild = settlements.find(({ attributes }) => attributes['outwait.settled_by'] === 'child');
    const ofTask = settlements.find(({ attributes }) => attributes['outwait.settled_by'] === 'poll');
    expect([ofChild?.parent, ofTask?.parent]).toEqual([run?.id, run?.id]);
    expect(named('run inner').map(({ parent }) => parent)).toEqual([ofChild?.id]);
    expect(named('step prepare').map(({ parent, failed }) => [parent, failed])).toEqual([
      [run?.id, true],
      [run?.id, false],
    ]);
    const [start] = named('start reports');
    expect(start?.parent).toBe(ofTask?.id);
    expect(ofTask?.links).toEqual([start?.id]);
    expect(named('poll reports').map(({ parent, links }) => [parent, links])).toEqual([[ofTask?.id, [start?.id]]]);
    const turns = named('turn outer');
    expect(turns.every(({ parent }) => parent === run?.id)).toBe(true);
    expect(turns.flatMap(({ links }) => links).sort()).toEqual([ofChild?.id, ofTask?.id].sort());

    // The server can continue the trace.
    const sent = `00-${traceId}-${start?.id}-01`;
    const [call] = server.received.filter(({ body }) => body.method === 'tools/call');
    expect(call?.headers['traceparent']).toBe(sent);
    expect(call?.body.params['_meta']).toMatchObject({ traceparent: sent });
  });

  it('is one trace with the push of its agent, to which the read that it asks for is linked', async () => {
    const { peer, push, pushSpan } = await aPushingAgent();
    const { app, spans } = await aTracedApp({ supplier: peer.origin, main: asks });
    const engine = await anEngine(app);
    await runOuter(engine, {}, { traceparent: sampled }, async (runId) => {
      await eventually(async () => {
        expect(await (await fetch(`${engine.url}/activities/external?server=supplier&taskId=t1`)).text()).toContain(
          runId,
        );
      });
      await push();
    });
    const all = spans();
    const named = (name: string) => all.filter((span) => span.name === name);
    expect(new Set(all.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const [start] = named('start supplier');
    expect(named('poll supplier').map(({ links }) => links)).toEqual([[start?.id, pushSpan]]);
    expect(named('run inner')).toHaveLength(1);
    expect(named('settlement').map(({ attributes }) => attributes['outwait.settled_by'])).toEqual(
      expect.arrayContaining(['child', 'poll']),
    );
  });

  it('has a trace of its own, whose id is in its log, if the request had none', async () => {
    const lines: Record<string, unknown>[] = [];
    const { app, spans } = await aTracedApp();
    const logs = defineWorkflow<object>({
      ...outer,
      run: async (ctx, input) => {
        ctx.log.info('begins', { runId: 'mine', note: 1 });
        return outer.run(ctx, input);
      },
    });
    const log = { ...silentLog, info: (event: string, fields = {}) => void lines.push({ event, ...fields }) };
    const runId = await runOuter(
      await anEngine({ ...app, workflows: new Map([...app.workflows, ['outer', logs]]) }, log),
      {},
    );
    const traces = new Set(spans().map((span) => span.traceId));
    expect(traces.size).toBe(1);
    expect(lines.filter(({ event }) => event === 'begins')).toEqual([
      { event: 'begins', runId, workflow: 'outer', traceId: [...traces][0], runId_: 'mine', note: 1 },
    ]);
  });

  it('is not recorded if its caller does not record the trace', async () => {
    const { app, server, spans } = await aTracedApp();
    await runOuter(await anEngine(app), {}, { traceparent: `00-${traceId}-${callerSpan}-00` });
    expect(spans()).toEqual([]);
    const [call] = server.received.filter(({ body }) => body.method === 'tools/call');
    expect(call?.headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  });

  it('is not held up by a provider that fails', async () => {
    const { app } = await aTracedApp();
    const warned: unknown[] = [];
    const log = { ...silentLog, warn: (event: string) => void warned.push(event) };
    const tracing = () => {
      throw new Error('no provider');
    };
    await runOuter(await anEngine({ ...app, tracing }, log), {});
    expect(new Set(warned)).toEqual(new Set(['spans not sent']));
  });

  it('is not traced with ids of the provider', async () => {
    const { app } = await aTracedApp();
    const errors: unknown[] = [];
    const log = { ...silentLog, warn: (_: string, fields: object = {}) => void errors.push(fields) };
    await runOuter(await anEngine({ ...app, tracing: () => ({ api, provider: new BasicTracerProvider() }) }, log), {});
    expect(String((errors[0] as { error: unknown }).error)).toContain('idGenerator');
  });

  it('passes on the context of the request if it is not traced', async () => {
    const { app, server } = await aTracedApp();
    const { tracing, ...untraced } = app;
    expect(tracing).toBeDefined();
    await runOuter(await anEngine(untraced), {}, { traceparent: sampled });
    const [call] = server.received.filter(({ body }) => body.method === 'tools/call');
    expect(call?.headers['traceparent']).toBe(sampled);
  });
});
