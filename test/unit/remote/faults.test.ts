import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../lib/base/log.js';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { RemoteTaskTransport } from '../../../lib/remote/transport.js';
import { createTransports } from '../../../lib/remote/wiring/transports.js';
import { a2aAgent, mcpServer, secret } from '../../../lib/workflow/app.js';
import {
  type Answer,
  closeAll,
  closedPort,
  httpClient,
  json,
  type Received,
  result,
  serve,
  transportDeps,
} from './loopback.js';

afterEach(closeAll);

const bearer = 'canary-bearer-4711';
const apiKey = 'canary-key-0815';

interface Protocol {
  readonly name: 'mcp' | 'a2a';
  readonly started: object;
  readonly ended: (taskId: string) => object;
  readonly request: Parameters<RemoteTaskTransport['start']>[0]['request'];
  readonly handle: RemoteTaskHandle;
}

const mcp: Protocol = {
  name: 'mcp',
  started: { resultType: 'task', taskId: 't1', status: 'working', createdAt: '2026-11-29T10:00:00Z', ttlMs: null },
  ended: (taskId) => ({ resultType: 'complete', taskId, status: 'completed', result: { content: [] } }),
  request: { kind: 'tool', tool: 'start_export', arguments: { month: '2026-10' } },
  handle: { server: 'remote', protocol: 'mcp', wire: '2026-07-28', taskId: 't1' },
};
const a2a: Protocol = {
  name: 'a2a',
  started: { task: { id: 't1', status: { state: 'TASK_STATE_WORKING' } } },
  ended: (taskId) => ({ id: taskId, status: { state: 'TASK_STATE_COMPLETED' } }),
  request: { kind: 'skill', skill: 'quote', arguments: {} },
  handle: { server: 'remote', protocol: 'a2a', wire: '1.0', taskId: 't1' },
};

/** Creates a transport with credentials, and collects everything that it logs. */
function transportTo(protocol: Protocol, url: string, totalMs = 10_000) {
  const logged: unknown[] = [];
  const note = (event: string, fields?: object): void => void logged.push({ event, ...fields });
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const auth = { bearer: secret('TOKEN'), headers: { 'X-Api-Key': secret('KEY') } };
  const server =
    protocol.name === 'mcp' ? mcpServer({ url, auth, protocolVersion: '2026-07-28' }) : a2aAgent({ url, auth });
  const readSecret = (name: string): string => (name === 'TOKEN' ? bearer : apiKey);
  const deps = transportDeps(httpClient({ limits: { totalMs } }), { readSecret, log });
  return { transport: createTransports({ remote: server }, deps).get('remote'), logged };
}

const start = (protocol: Protocol) => ({ request: protocol.request, idempotencyKey: 'run1/3' });
const answered = (request: Received, value: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id: request.body.id, result: value });

type Fault = readonly [
  name: string,
  answer: (protocol: Protocol, request: Received, response: ServerResponse) => void,
  start: string,
  code: string,
];

const rejectedReplies: readonly Fault[] = [
  [
    'MCP-01, A2A-C2: another id',
    (p, r, s) => {
      json(s, { jsonrpc: '2.0', id: `${r.body.id}x`, result: p.started });
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'A2A-C2: a number as id',
    (p, _r, s) => {
      json(s, { jsonrpc: '2.0', id: 1, result: p.started });
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'A2A-C2: no id with a result',
    (p, _r, s) => {
      json(s, { jsonrpc: '2.0', id: null, result: p.started });
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'MCP-02: no jsonrpc',
    (p, r, s) => {
      json(s, { id: r.body.id, result: p.started });
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'MCP-02, A2A-C3: result and error',
    (p, r, s) => {
      json(s, { jsonrpc: '2.0', id: r.body.id, result: p.started, error: { code: 1, message: 'x' } });
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'MCP-03, A2A-C43: HTML with 200',
    (_p, _r, s) => {
      json(s, '<html>', 200, { 'content-type': 'text/html' });
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'A2A-C43: 204',
    (_p, _r, s) => {
      s.writeHead(204).end();
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'A2A-C43: truncated JSON',
    (p, r, s) => {
      json(s, answered(r, p.started).slice(0, -3));
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'MCP-08, A2A-C38: a body of 5 MiB',
    (_p, r, s) => {
      json(s, answered(r, { text: 'x'.repeat(5 * 1024 * 1024) }));
    },
    'unknown',
    'PAYLOAD_TOO_LARGE',
  ],
  [
    '5,000 levels of JSON',
    (_p, _r, s) => {
      json(s, '['.repeat(5_000) + ']'.repeat(5_000));
    },
    'unknown',
    'PAYLOAD_TOO_LARGE',
  ],
  [
    'an empty result',
    (_p, r, s) => {
      result(s, r, {});
    },
    'unknown',
    'REMOTE_PROTOCOL_VIOLATION',
  ],
  [
    'a reset after the request',
    (_p, _r, s) => {
      s.socket?.destroy();
    },
    'unknown',
    'REMOTE_UNREACHABLE',
  ],
  [
    'a body that is cut',
    (_p, _r, s) => {
      s.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
      s.write('{', () => s.socket?.destroy());
    },
    'unknown',
    'REMOTE_UNREACHABLE',
  ],
  ...[500, 502, 504].map((status): Fault => [
    `F64: ${status}, which may be a gateway's`,
    (_p, _r, s) => {
      json(s, { message: 'Internal server error' }, status);
    },
    'unknown',
    'REMOTE_UNREACHABLE',
  ]),
  [
    '503',
    (_p, _r, s) => {
      json(s, {}, 503);
    },
    'retry',
    'REMOTE_UNREACHABLE',
  ],
  [
    'F64: 500 with an error of the application',
    (_p, r, s) => {
      json(s, { jsonrpc: '2.0', id: r.body.id, error: { code: -32603, message: 'it broke' } }, 500);
    },
    'refused',
    'REMOTE_START_REFUSED',
  ],
  [
    '-32602',
    (_p, r, s) => {
      json(s, { jsonrpc: '2.0', id: r.body.id, error: { code: -32602, message: 'no such thing' } });
    },
    'refused',
    'REMOTE_START_REFUSED',
  ],
  [
    '401',
    (_p, _r, s) => {
      json(s, 'no', 401, { 'content-type': 'text/plain' });
    },
    'refused',
    'REMOTE_START_REFUSED',
  ],
];

describe.each([mcp, a2a])('a $name server', (protocol) => {
  const serving = (answer: (request: Received, response: ServerResponse) => void) => serve(answer);

  it.each(rejectedReplies)(
    '%s: the task is left alone, and the start is classified',
    async (_name, answer, kind, code) => {
      const server = await serving((request, response) => {
        answer(protocol, request, response);
      });
      const { transport } = transportTo(protocol, server.url);
      expect(await transport.start(start(protocol))).toMatchObject({ kind, error: { code } });
      expect((await transport.get(protocol.handle)).kind).toMatch(/^(unreadable|missing)$/);
      // Each made one request: nothing is repeated without the engine's knowledge.
      expect(server.received).toHaveLength(2);
    },
  );

  it('MCP-28, A2A-C1: the state of another task settles nothing', async () => {
    const server = await serving((request, response) => {
      result(response, request, protocol.ended('t2'));
    });
    const { transport } = transportTo(protocol, server.url);
    expect(await transport.get(protocol.handle)).toMatchObject({
      kind: 'unreadable',
      error: { code: 'REMOTE_PROTOCOL_VIOLATION' },
    });
  });

  it('starts, reads and cancels', async () => {
    const server = await serving((request, response) => {
      const get = request.body.method === 'tasks/get' || request.body.method === 'GetTask';
      result(response, request, get ? protocol.ended('t1') : protocol.started);
    });
    const { transport, logged } = transportTo(protocol, server.url);
    expect(await transport.start(start(protocol))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: protocol.handle,
    });
    expect(await transport.get(protocol.handle)).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', taskId: 't1' },
    });
    expect(await transport.cancel(protocol.handle)).toEqual({ kind: 'done' });
    expect(logged).toEqual([]);
  });

  it('S0-12, S0-13, MCP-45: repeats a start with the same key under a new request id', async () => {
    const server = await serving((request, response) => {
      result(response, request, protocol.started);
    });
    const { transport } = transportTo(protocol, server.url);
    await transport.start(start(protocol));
    await transport.start(start(protocol));
    const [first, second] = server.received;
    expect([first!.headers['idempotency-key'], second!.headers['idempotency-key']]).toEqual(['run1/3', 'run1/3']);
    expect(first!.body.id).not.toBe(second!.body.id);
    expect(first!.body.params).toEqual(second!.body.params);
  });

  it('MCP-09, A2A-C44: a redirect is refused and its target sees nothing', async () => {
    const target = await serving((request, response) => {
      result(response, request, protocol.started);
    });
    const server = await serving((_, response) => {
      response.writeHead(307, { location: target.url }).end();
    });
    const { transport } = transportTo(protocol, server.url);
    expect(await transport.start(start(protocol))).toMatchObject({
      kind: 'refused',
      error: {
        code: 'REMOTE_START_REFUSED',
        message: `the server answered with status 307, a redirect to ${target.url}, which is never followed`,
      },
    });
    expect((await transport.get(protocol.handle)).kind).toBe('unreadable');
    expect(target.connections()).toBe(0);
  });

  it.each([
    [429, '120', 120_000],
    [503, 'Sun, 29 Nov 2026 10:02:00 GMT', 120_000],
  ])('A2A-C45, MCP-36: %i with Retry-After %s is repeated no sooner', async (status, header, retryAfterMs) => {
    const server = await serving((_, response) => {
      json(response, {}, status, { 'retry-after': header });
    });
    const { transport } = transportTo(protocol, server.url);
    expect(await transport.start(start(protocol))).toMatchObject({ kind: 'retry', retryAfterMs });
    expect(await transport.get(protocol.handle)).toMatchObject({ kind: 'unreadable', retryAfterMs });
    expect(await transport.cancel(protocol.handle)).toMatchObject({ kind: 'retry', retryAfterMs });
  });

  it('S0-40, MCP-46: a server that hangs is left at the deadline, after one request', async () => {
    const server = await serving(() => undefined);
    const { transport } = transportTo(protocol, server.url, 60);
    expect(await transport.start(start(protocol))).toEqual({
      kind: 'unknown',
      error: { code: 'REMOTE_UNREACHABLE', message: 'no answer came in time' },
    });
    expect(server.received).toHaveLength(1);
  });

  it('a refused connection is surely not processed', async () => {
    const { transport } = transportTo(protocol, `http://127.0.0.1:${await closedPort()}/`);
    expect(await transport.start(start(protocol))).toEqual({
      kind: 'retry',
      error: { code: 'REMOTE_UNREACHABLE', message: 'no connection to the server (ECONNREFUSED)' },
    });
  });

  it('S0-44: neither URL nor credentials are in an error or a log, even when the server sends them back', async () => {
    const echo: Answer = (request, response) => {
      const message = `${request.headers.authorization} ${bearer} ${String(request.headers['x-api-key'])} at ${server.url}?key=canary-query and http://${request.headers.host}/`;
      json(response, { jsonrpc: '2.0', id: request.body.id, error: { code: -32000, message } }, 403);
    };
    const server = await serving(echo);
    const { transport, logged } = transportTo(protocol, `${server.url}?key=canary-query`);
    const replies = [
      await transport.start(start(protocol)),
      await transport.get(protocol.handle),
      await transport.cancel(protocol.handle),
    ];
    const text = JSON.stringify([replies, logged]);
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('canary');
    expect(text).not.toContain('127.0.0.1');
    expect(logged).toHaveLength(3);
  });

  it('S0-44: the text of an error is cut to 1 KiB', async () => {
    const server = await serving((request, response) => {
      json(response, { jsonrpc: '2.0', id: request.body.id, error: { code: 12, message: 'é'.repeat(5_000) } });
    });
    const reply = await transportTo(protocol, server.url).transport.get(protocol.handle);
    if (reply.kind !== 'unreadable') throw new Error(`got ${reply.kind}`);
    expect(Buffer.byteLength(reply.error.message)).toBe(1_023);
  });

  it('does not poll a task that was started over something else', async () => {
    const server = await serving((request, response) => {
      result(response, request, protocol.ended('t1'));
    });
    const { transport } = transportTo(protocol, server.url);
    const old: RemoteTaskHandle = { ...protocol.handle, wire: '0.1' };
    expect(await transport.get(old)).toMatchObject({ kind: 'unreadable', error: { code: 'CONFIG_INVALID' } });
    expect(await transport.cancel(old)).toMatchObject({ kind: 'retry', error: { code: 'CONFIG_INVALID' } });
    expect(server.received).toEqual([]);
  });
});

describe('an MCP server that answers with an event stream', () => {
  const event = (value: unknown): string =>
    `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\r\n\r\n`;
  const stream = async (write: (request: Received, response: ServerResponse) => void) => {
    const server = await serve((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      write(request, response);
    });
    return transportTo(mcp, server.url, 2_000).transport;
  };
  const started = { kind: 'started', state: expect.any(String) as string, handle: mcp.handle };

  it('MCP-04: the response is found after comments, priming and notifications, cut inside a character', async () => {
    const transport = await stream((request, response) => {
      const text = `: hello\r\n\r\nid: 1\r\ndata:\r\n\r\n${event({ jsonrpc: '2.0', method: 'notifications/progress', params: { message: 'é' } })}${event(answered(request, { ...mcp.started, statusMessage: 'レ' }))}`;
      const bytes = Buffer.from(text);
      const cuts = [20, bytes.indexOf(0xa9), bytes.indexOf(0x83) + 1, bytes.length];
      const sendFrom = (from: number, [to, ...rest]: readonly number[]): void => {
        if (to === undefined) response.end();
        else response.write(bytes.subarray(from, to), () => setImmediate(sendFrom, to, rest));
      };
      sendFrom(0, cuts);
    });
    expect(await transport.start(start(mcp))).toEqual({ ...started, note: 'レ' });
  });

  it('MCP-05: a stream that ends without a response is not an answer', async () => {
    const transport = await stream((_, response) => {
      response.end(event({ jsonrpc: '2.0', method: 'notifications/progress' }));
    });
    expect(await transport.start(start(mcp))).toEqual({
      kind: 'unknown',
      error: { code: 'REMOTE_UNREACHABLE', message: 'the event stream ended without an answer' },
    });
    expect((await transport.get(mcp.handle)).kind).toBe('unreadable');
  });

  it('MCP-06: a response to another request is skipped', async () => {
    const transport = await stream((request, response) => {
      response.end(
        event({ jsonrpc: '2.0', id: 'other', result: { content: [] } }) + event(answered(request, mcp.started)),
      );
    });
    expect(await transport.start(start(mcp))).toEqual(started);
  });

  it('MCP-07, S0-25: a stream that stays open is left at the response', async () => {
    let left: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => (left = resolve));
    const transport = await stream((request, response) => {
      response.on('close', left);
      response.write(event(answered(request, mcp.started)));
    });
    expect(await transport.start(start(mcp))).toEqual(started);
    await closed;
  });

  it('MCP-08: a stream without end is left at the cap', async () => {
    const transport = await stream((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(`: ${'x'.repeat(65_536)}\n\n`));
      };
      response.on('drain', more);
      more();
    });
    expect(await transport.start(start(mcp))).toEqual({
      kind: 'unknown',
      error: { code: 'PAYLOAD_TOO_LARGE', message: 'the answer is larger than 4194304 bytes' },
    });
  });

  it('MCP-10: a result without resultType is complete', async () => {
    const transport = await stream((request, response) => {
      response.end(event(answered(request, { content: [] })));
    });
    expect(await transport.start(start(mcp))).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result: { content: [] }, isError: false },
    });
  });
});
