import { afterEach, describe, expect, it } from 'vitest';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent, mcpServer, secret, type ServerConfig } from '../../../lib/workflow/app.js';
import { ssmParameter } from '../../../lib/workflow/server-auth.js';
import { closeAll, httpClient, json, result, serve, transportDeps } from './loopback.js';

afterEach(closeAll);

const handle = { server: 'reports', protocol: 'mcp', wire: '2026-07-28', taskId: 't1' } as const;
const transportsFor = (servers: Record<string, ServerConfig>, readSecret?: (name: string) => string | undefined) =>
  createTransports(servers, transportDeps(httpClient(), readSecret === undefined ? {} : { readSecret }));

/** Starts a server on which every task continues to work. */
const working = () =>
  serve((request, response) => {
    result(response, request, { taskId: 't1', status: 'working' });
  });

describe('createTransports', () => {
  const servers = {
    supplier: a2aAgent({ url: 'https://supplier.example/a2a', dedupes: true }),
    reports: mcpServer({ url: 'https://reports.example/mcp' }),
  };

  it('gives each server one transport for its protocol', () => {
    const transports = transportsFor(servers);
    expect([transports.get('reports').protocol, transports.get('supplier').protocol]).toEqual(['mcp', 'a2a']);
    expect([transports.get('reports').dedupes, transports.get('supplier').dedupes]).toEqual([false, true]);
    expect(transports.get('reports')).toBe(transports.get('reports'));
  });

  it.each(['other', 'constructor', '__proto__'])('S0-08: knows no server %s and names the known ones', (name) => {
    expect(() => transportsFor(servers).get(name)).toThrow(
      expect.objectContaining({
        code: 'SERVER_NOT_FOUND',
        message: `no server is named "${name}"; the app configures reports, supplier`,
      }),
    );
  });

  it.each([
    ['reports', { kind: 'tool', tool: 'x', arguments: {} }, undefined],
    ['reports', { kind: 'tool', tool: '', arguments: {} }, 'the name of the tool is empty'],
    [
      'reports',
      { kind: 'skill', skill: 'x', arguments: {} },
      'the server "reports" speaks MCP, which takes a tool, not a skill',
    ],
    ['reports', { kind: 'message', parts: [] }, 'the server "reports" speaks MCP, which takes a tool, not a message'],
    [
      'supplier',
      { kind: 'tool', tool: 'x', arguments: {} },
      'the server "supplier" speaks A2A, which takes a skill or a message, not a tool',
    ],
    ['supplier', { kind: 'skill', skill: 'x', arguments: {} }, undefined],
    ['supplier', { kind: 'skill', skill: '', arguments: {} }, 'the name of the skill is empty'],
    ['supplier', { kind: 'message', parts: [{ text: 'x' }, { data: null }] }, undefined],
    ['supplier', { kind: 'message', parts: [] }, 'a message needs at least one part'],
    [
      'supplier',
      { kind: 'message', parts: [{ text: 'x' }, { text: 'x', url: 'y' }] },
      'part 1 of the message must have exactly one of text, raw, url, data',
    ],
    [
      'supplier',
      { kind: 'message', parts: [{ kind: 'text' }] },
      'part 0 of the message must have exactly one of text, raw, url, data',
    ],
  ] as const)('S0-08, A2A-C41: on %s the request %j has the problem %j', async (server, request, problem) => {
    expect(await transportsFor(servers).get(server).problemWith(request)).toBe(problem);
  });
});

describe('credentials', () => {
  it('S0-46: headers of the protocol and of the connection win over those of the configuration', async () => {
    const server = await working();
    const auth = {
      bearer: 'canary-token',
      headers: {
        'MCP-METHOD': 'x',
        Accept: 'x',
        Host: 'evil.example',
        'Transfer-Encoding': 'chunked',
        Authorization: 'Basic x',
        'X-Extra': secret('EXTRA'),
      },
    };
    const transports = transportsFor({ reports: mcpServer({ url: server.url, auth }) }, () => 'canary-extra');
    expect((await transports.get('reports').get(handle)).kind).toBe('working');
    expect(server.received[0]!.headers).toMatchObject({
      'mcp-method': 'tasks/get',
      accept: 'application/json, text/event-stream',
      host: new URL(server.url).host,
      authorization: 'Bearer canary-token',
      'x-extra': 'canary-extra',
    });
    expect(server.received[0]!.headers['transfer-encoding']).toBeUndefined();
  });

  it('A2A-C53: a rotated secret is used by the next request', async () => {
    const server = await working();
    let token = 'canary-old-token';
    const transport = transportsFor(
      { reports: mcpServer({ url: server.url, auth: { bearer: secret('T') } }) },
      () => token,
    ).get('reports');
    await transport.get(handle);
    token = 'canary-new-token';
    await transport.get(handle);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer canary-old-token',
      'Bearer canary-new-token',
    ]);
  });

  it('a secret without a value is named and nothing is sent', async () => {
    const server = await working();
    const transport = transportsFor({
      reports: mcpServer({ url: server.url, auth: { bearer: secret('REPORTS_TOKEN') } }),
    }).get('reports');
    const error = { code: 'CONFIG_INVALID', message: 'the secret "REPORTS_TOKEN" has no value' };
    const request = { kind: 'tool', tool: 'x', arguments: {} } as const;
    expect(await transport.start({ request, idempotencyKey: 'k' })).toEqual({ kind: 'refused', error });
    expect(await transport.get(handle)).toEqual({ kind: 'unreadable', error });
    expect(server.received).toEqual([]);
  });

  it('S0-46: a secret that is not a header value is refused without being shown', async () => {
    const server = await working();
    const transport = transportsFor({ reports: mcpServer({ url: server.url, auth: { bearer: 'canary\n' } }) }).get(
      'reports',
    );
    const reply = await transport.start({ request: { kind: 'tool', tool: 'x', arguments: {} }, idempotencyKey: 'k' });
    expect(reply).toMatchObject({ kind: 'refused', error: { code: 'CONFIG_INVALID' } });
    expect(JSON.stringify(reply)).not.toContain('canary');
  });

  it('without allowLoopback a server on this machine is refused for good', async () => {
    const server = await working();
    const { GuardedHttpClient } = await import('../../../lib/remote/http/http.js');
    const transports = createTransports(
      { reports: mcpServer({ url: server.url }) },
      transportDeps(new GuardedHttpClient()),
    );
    const reply = await transports
      .get('reports')
      .start({ request: { kind: 'tool', tool: 'x', arguments: {} }, idempotencyKey: 'k' });
    expect(reply).toMatchObject({ kind: 'refused', error: { code: 'CONFIG_INVALID' } });
    expect(server.connections()).toBe(0);
  });
});

describe('secrets of AWS', () => {
  it('are read again at once after a 401, and the request is sent once more', async () => {
    let token = 'canary-old-token';
    const server = await serve((request, response) => {
      if (request.headers.authorization === 'Bearer canary-new-token')
        result(response, request, { taskId: 't1', status: 'working' });
      else json(response, {}, 401);
    });
    const awsSecrets = { readParameter: async () => token, readSecret: async () => undefined };
    const auth = { bearer: ssmParameter('/outwait/token') };
    const deps = transportDeps(httpClient(), { awsSecrets });
    const transport = createTransports({ reports: mcpServer({ url: server.url, auth }) }, deps).get('reports');
    expect((await transport.get(handle)).kind).toBe('unreadable');
    expect(server.received).toHaveLength(1);
    token = 'canary-new-token';
    expect((await transport.get(handle)).kind).toBe('working');
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer canary-old-token',
      'Bearer canary-old-token',
      'Bearer canary-new-token',
    ]);
  });
});
