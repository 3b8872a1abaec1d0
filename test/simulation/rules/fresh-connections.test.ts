import { afterEach, expect, test } from 'vitest';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent } from '../../../lib/workflow/app.js';
import { working } from '../../unit/remote/a2a-agent.js';
import { closeAll, httpClient, result, serve, transportDeps, type LoopbackServer } from '../../unit/remote/loopback.js';
import {
  accepted,
  aPeer,
  inSession,
  legacyHello,
  legacyTask,
  legacyTools,
  modernHandle,
  started,
  startOf,
} from '../../unit/remote/mcp-peer.js';

// The server may close a kept connection at the very moment of the next request, which looks like a start that was sent
// and lost. So each start has its own connection.

afterEach(closeAll);

/** Returns for each request whether its connection serves only that request. */
const ownConnection = ({ received }: LoopbackServer): readonly (readonly [method: string, isOwn: boolean])[] =>
  received.map(({ body, headers }) => [body.method, headers.connection === 'close']);

test('fresh connection: each start over MCP 2026-07-28 has one of its own', async () => {
  const { transport, server } = await aPeer(
    { 'tools/call': started, 'tasks/get': { ...started, resultType: 'complete' } },
    { protocolVersion: '2026-07-28' },
  );
  await transport.start(startOf('x'));
  await transport.get(modernHandle);
  expect(ownConnection(server)).toEqual([
    ['tools/call', true],
    ['tasks/get', false],
  ]);
});

test('fresh connection: each start over MCP 2025-11-25 has one of its own', async () => {
  const { transport, server } = await aPeer(
    {
      initialize: inSession('s-1', legacyHello),
      'notifications/initialized': accepted,
      'tools/list': legacyTools,
      'tools/call': { task: legacyTask },
    },
    { protocolVersion: '2025-11-25' },
  );
  await transport.start(startOf('simulate'));
  expect(ownConnection(server)).toEqual([
    ['initialize', false],
    ['notifications/initialized', false],
    ['tools/list', false],
    ['tools/call', true],
  ]);
});

test('fresh connection: each start over A2A has one of its own', async () => {
  const server = await serve((request, response) => {
    result(response, request, request.body.method === 'SendMessage' ? { task: working } : working);
  });
  const supplier = a2aAgent({ url: server.url });
  const transport = createTransports({ supplier }, transportDeps(httpClient())).get('supplier');
  const request = { kind: 'skill', skill: 'quote', arguments: {} } as const;
  const reply = await transport.start({ request, idempotencyKey: 'run1/3' });
  if (reply.kind === 'started') await transport.get(reply.handle);
  expect(ownConnection(server)).toEqual([
    ['SendMessage', true],
    ['GetTask', false],
  ]);
});
