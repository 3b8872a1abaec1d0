import { afterEach, describe, expect, it } from 'vitest';
import type { HttpClient, HttpRequest } from '../../../lib/remote/http/http.js';
import type { RemoteTaskTransport } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent, mcpServer, type McpServerConfig } from '../../../lib/workflow/app.js';
import { working } from './a2a-agent.js';
import { type Answer, closeAll, httpClient, nowMs, result, serve, transportDeps } from './loopback.js';
import {
  accepted,
  aPeer,
  inSession,
  legacyHello,
  legacyTask,
  legacyTools,
  modern,
  started,
  startOf,
} from './mcp-peer.js';

// The time for which a client waits for the answer to a start, and what it knows of a server's pace.

afterEach(closeAll);

/** Creates a transport, and records the limits of each request that it sends, by method. */
async function watched(
  answer: Answer,
  transportOf: (url: string, http: HttpClient) => RemoteTaskTransport,
): Promise<{ readonly transport: RemoteTaskTransport; readonly sent: readonly (readonly [string, HttpRequest])[] }> {
  const server = await serve(answer);
  const inner = httpClient();
  const sent: (readonly [string, HttpRequest])[] = [];
  const http: HttpClient = {
    send: (request) => {
      const { method } = JSON.parse(request.body ?? '{}') as { readonly method?: string };
      sent.push([method ?? '', request]);
      return inner.send(request);
    },
  };
  return { transport: transportOf(server.url, http), sent };
}

const patience = { timeoutMs: 300_000, limits: { headersMs: 300_000, totalMs: 300_000 } };

describe('a start for which there is time (F62, F75)', () => {
  it('over A2A may be answered at any moment until then; what is asked beside it has its own limits', async () => {
    const { transport, sent } = await watched(
      (request, response) => {
        result(response, request, { task: working });
      },
      (url, http) => createTransports({ supplier: a2aAgent({ url }) }, transportDeps(http)).get('supplier'),
    );
    const start = { request: { kind: 'skill', skill: 'quote', arguments: {} }, idempotencyKey: 'run1/3' } as const;
    expect(await transport.start({ ...start, untilMs: nowMs + 300_000 })).toMatchObject({ kind: 'started' });
    expect(await transport.start(start)).toMatchObject({ kind: 'started' });
    expect(sent.map(([method]) => method)).toEqual(['SendMessage', 'SendMessage']);
    expect(sent[0]![1]).toMatchObject(patience);
    expect(sent[1]![1]).toMatchObject({ timeoutMs: 30_000 });
    expect(sent[1]![1].limits).toBeUndefined();
  });

  it.each<[McpServerConfig['protocolVersion'], readonly string[]]>([
    ['2026-07-28', ['tools/call']],
    ['2025-11-25', ['initialize', 'notifications/initialized', 'tools/list', 'tools/call']],
  ])('over MCP %s alike', async (protocolVersion, methods) => {
    const { transport, sent } = await watched(
      (request, response) => {
        const { method } = request.body;
        const answers: Record<string, object> = {
          'tools/list': legacyTools,
          'tools/call': protocolVersion === '2025-11-25' ? { task: legacyTask } : started,
        };
        if (method === 'initialize') inSession('s-1', legacyHello)(request, response);
        else if (method === 'notifications/initialized') accepted(request, response);
        else result(response, request, answers[method]);
      },
      (url, http) =>
        createTransports({ reports: mcpServer({ url, protocolVersion: protocolVersion! }) }, transportDeps(http)).get(
          'reports',
        ),
    );
    const start = startOf('simulate', {}, { untilMs: nowMs + 300_000 });
    expect(await transport.start(start)).toMatchObject({ kind: 'started' });
    expect(sent.map(([method]) => method)).toEqual(methods);
    for (const [method, { limits }] of sent)
      expect([method, limits]).toEqual([method, method === 'tools/call' ? patience.limits : undefined]);
  });
});

describe('what an MCP server says of its pace', () => {
  const call = (tool: string) => ({ kind: 'tool', tool, arguments: {} }) as const;

  it('of 2025-11-25: a tool that runs as a task is answered at once, another one is not', async () => {
    const { transport } = await aPeer(
      {
        initialize: inSession('s-1', legacyHello),
        'notifications/initialized': accepted,
        'tools/list': legacyTools,
      },
      { protocolVersion: '2025-11-25' },
    );
    expect(await transport.answersAtOnce!(call('simulate'))).toBe(true);
    expect(await transport.answersAtOnce!(call('plain'))).toBe(false);
  });

  it('of 2026-07-28: not known with tasks, and never at once without', async () => {
    const withTasks = await aPeer({ 'server/discover': modern });
    expect(await withTasks.transport.answersAtOnce!(call('simulate'))).toBeUndefined();
    const { capabilities: _, ...rest } = modern as { readonly capabilities?: object };
    const without = await aPeer({ 'server/discover': { ...rest, capabilities: { tools: {} } } });
    expect(await without.transport.answersAtOnce!(call('simulate'))).toBe(false);
  });
});
