import { afterEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../lib/base/log.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent, mcpServer, type ServerConfig } from '../../../lib/workflow/app.js';
import { closeAll, httpClient, json, type Received, serve, transportDeps } from './loopback.js';
import { accepted, inSession, legacyHello, modern } from './mcp-peer.js';

afterEach(closeAll);

const taskId = 'task-of-the-server-4711';
const jobs = { start_export: { id: 'job_id', status: 'export_status', cancel: 'cancel_export' } };
type Kind = readonly [name: string, wire: string, config: (url: string) => ServerConfig, handle: object];
const kinds: readonly Kind[] = [
  ['MCP 2026-07-28', '2026-07-28', (url) => mcpServer({ url, protocolVersion: '2026-07-28' }), {}],
  ['MCP 2025-11-25', '2025-11-25', (url) => mcpServer({ url, protocolVersion: '2025-11-25' }), { session: 's-1' }],
  [
    'a job of MCP',
    'jobs-2026-07-28',
    (url) => mcpServer({ url, protocolVersion: '2026-07-28', jobs }),
    { job: 'start_export' },
  ],
  [
    'a job that is no longer configured',
    'jobs-2026-07-28',
    (url) => mcpServer({ url, protocolVersion: '2026-07-28' }),
    { job: 'start_export' },
  ],
  ['A2A 1.0', '1.0', (url) => a2aAgent({ url }), {}],
];

/** Answers with an error that says what it was asked, as servers do that do not know a task. */
function echo(request: Received, response: Parameters<typeof json>[0]): void {
  const { id, method } = request.body;
  if (method === 'initialize') inSession('s-1', legacyHello)(request, response);
  else if (method === 'notifications/initialized') accepted(request, response);
  else if (method === 'server/discover') json(response, { jsonrpc: '2.0', id, result: modern });
  else {
    const message = `no such task: ${request.path} ${request.text}`;
    json(response, { jsonrpc: '2.0', id, error: { code: -32001, message } }, 404);
  }
}

describe.each(kinds)('the log of a failed request over %s', (_name, wire, config, more) => {
  it('has the words of the server without the id of the task, which the reply keeps', async () => {
    const server = await serve(echo);
    const lines: unknown[] = [];
    const note = (...line: unknown[]): void => void lines.push(line);
    const log: Log = { debug: note, info: note, warn: note, error: note };
    const one = config(server.url);
    const { protocol } = one;
    const transport = createTransports({ remote: one }, transportDeps(httpClient(), { log })).get('remote');
    const handle: RemoteTaskHandle = { server: 'remote', protocol, wire, taskId, ...more };
    const question = { key: 'q', kind: 'form', message: '' } as const;
    const replies = [
      await transport.get(handle),
      await transport.cancel(handle),
      await transport.answer?.(handle, question, { action: 'decline' }, 'a'),
      await transport.adopt?.({ taskId }),
    ];
    await transport.forgetPush?.({ ...handle, pushConfigId: 'p' });
    await transport.watch?.(handle, () => undefined, new AbortController().signal);
    expect(JSON.stringify(replies)).toContain(taskId);
    expect(JSON.stringify(lines)).not.toContain(taskId);
  });
});
