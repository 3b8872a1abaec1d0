import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, type Received, result } from './loopback.js';
import {
  accepted,
  aPeer,
  bareHandle,
  httpStatus,
  inSession,
  legacyHandle,
  legacyHello,
  legacyTask,
  legacyTools,
  modern,
  modernHandle,
  rpcError,
  started,
  startOf,
} from './mcp-peer.js';

afterEach(closeAll);

const content = [{ type: 'text', text: '412 rows' }];
const legacy = {
  'server/discover': rpcError(-32000, 'Bad Request: Server not initialized', { status: 400, id: null }),
  initialize: inSession('s-1', legacyHello),
  'notifications/initialized': accepted,
  'tools/list': legacyTools,
  'tools/call': { task: legacyTask },
};

describe('which revision a server speaks', () => {
  it('asks once in the life of a process', async () => {
    const { transport, methods } = await aPeer({ 'server/discover': modern, 'tools/call': started });
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: modernHandle,
    });
    await transport.start(startOf('x'));
    expect(methods()).toEqual(['server/discover', 'tools/call', 'tools/call']);
  });

  it('asks once for calls that start together', async () => {
    const { transport, methods } = await aPeer({ 'server/discover': modern, 'tools/call': started });
    await Promise.all([transport.start(startOf('x')), transport.start(startOf('y')), transport.traits!()]);
    expect(methods().filter((method) => method === 'server/discover')).toHaveLength(1);
  });

  it('S0-27: a pinned revision is not asked for', async () => {
    const { transport, methods } = await aPeer({ 'tools/call': started }, { protocolVersion: '2026-07-28' });
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: modernHandle,
    });
    expect(await transport.traits!()).toMatchObject({ dedupes: false, finds: false });
    expect(methods()).toEqual(['tools/call']);
  });

  it('GB-27: a pinned 2025-11-25 begins with its handshake', async () => {
    const { transport, methods } = await aPeer(legacy, { protocolVersion: '2025-11-25' });
    expect(await transport.start(startOf('simulate'))).toMatchObject({
      kind: 'started',
      state: expect.any(String) as string,
      handle: legacyHandle,
    });
    expect(methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'tools/call']);
  });

  it.each([
    ['MCP-51: an uninitialised session', legacy['server/discover']],
    [
      'MCP-51: a version error of the first SDK',
      rpcError(-32000, 'Unsupported protocol version', { status: 400, id: null }),
    ],
    ['an unknown method', rpcError(-32601, 'no', { status: 404 })],
    ['an unknown method under 200', rpcError(-32601, 'no')],
    ['an empty 404', httpStatus(404)],
    ['an empty result', {}],
    ['a list of older versions', { ...modern, supportedVersions: ['2025-11-25'] }],
    ['-32022 with older versions', rpcError(-32022, 'no', { status: 400, data: { supported: ['2025-11-25'] } })],
    ['-32022 without versions', rpcError(-32022, 'no', { status: 400 })],
  ])('GB-27: %s leads to the handshake of 2025-11-25', async (_name, answer) => {
    const { transport } = await aPeer({ ...legacy, 'server/discover': answer });
    expect(await transport.start(startOf('simulate'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: legacyHandle,
      pollAfterMs: 1_000,
    });
  });

  it.each([
    ['MCP-51: 500', httpStatus(500), 'retry', 'REMOTE_UNREACHABLE'],
    [
      'MCP-51: -32022 under 500',
      rpcError(-32022, 'no', { status: 500, data: { supported: ['2025-11-25'] } }),
      'retry',
      'REMOTE_UNREACHABLE',
    ],
    ['429', httpStatus(429), 'retry', 'REMOTE_UNREACHABLE'],
    [
      'MCP-03: a page',
      (_: unknown, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'retry',
      'REMOTE_PROTOCOL_VIOLATION',
    ],
    [
      'a reset',
      (_: unknown, response: ServerResponse) => void response.socket?.destroy(),
      'retry',
      'REMOTE_UNREACHABLE',
    ],
    ['MCP-51: 401', httpStatus(401), 'refused', 'REMOTE_START_REFUSED'],
    ['MCP-51: -32601 under 401', rpcError(-32601, 'no', { status: 401 }), 'refused', 'REMOTE_START_REFUSED'],
    ['403', httpStatus(403), 'refused', 'REMOTE_START_REFUSED'],
    ['MCP-09: a redirect', httpStatus(307), 'refused', 'REMOTE_START_REFUSED'],
    ['MCP-52: -32020', rpcError(-32020, 'Mcp-Method is missing', { status: 400 }), 'refused', 'CONFIG_INVALID'],
    ['-32021', rpcError(-32021, 'no', { status: 400 }), 'refused', 'CONFIG_INVALID'],
    [
      'versions that nobody here knows',
      rpcError(-32022, 'no', { status: 400, data: { supported: ['2027-01-01'] } }),
      'refused',
      'REMOTE_START_REFUSED',
    ],
  ] as const)(
    '%s says nothing of the revision: nothing is started, and the next call asks again',
    async (_name, answer, kind, code) => {
      const peer = await aPeer({ 'server/discover': [answer, modern], 'tools/call': started });
      expect(await peer.transport.start(startOf('x'))).toMatchObject({ kind, error: { code } });
      expect(peer.methods()).not.toContain('tools/call');
      expect((await peer.transport.start(startOf('x'))).kind).toBe('started');
    },
  );

  it('MCP-52b: -32022 that lists the very revision is asked again once', async () => {
    const again = rpcError(-32022, 'no', { status: 400, data: { supported: ['2026-07-28'] } });
    const once = await aPeer({ 'server/discover': [again, modern], 'tools/call': started });
    expect((await once.transport.start(startOf('x'))).kind).toBe('started');
    const always = await aPeer({ 'server/discover': again, 'tools/call': started });
    expect(await always.transport.start(startOf('x'))).toMatchObject({
      kind: 'refused',
      error: { message: 'the server refuses MCP 2026-07-28, although it says that it supports it' },
    });
    expect(always.methods()).toEqual(['server/discover', 'server/discover']);
  });

  it('MCP-52b: -32022 to a call that lists the very revision is repeated once, then it is final', async () => {
    const again = rpcError(-32022, 'no', { status: 400, data: { supported: ['2026-07-28'] } });
    const once = await aPeer({ 'server/discover': modern, 'tools/call': [again, started] });
    expect((await once.transport.start(startOf('x'))).kind).toBe('started');
    const always = await aPeer({ 'server/discover': modern, 'tools/call': again });
    expect(await always.transport.start(startOf('x'))).toMatchObject({
      kind: 'refused',
      error: { details: { code: -32022 } },
    });
    expect(always.methods()).toEqual(['server/discover', 'tools/call', 'tools/call']);
  });

  it('a server that knows neither discover nor initialize is spoken to without either', async () => {
    const { transport, methods } = await aPeer({ 'tools/call': started });
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: modernHandle,
    });
    expect(methods()).toEqual(['server/discover', 'initialize', 'tools/call']);
  });

  it.each([401, 403, 503])(
    'MCP-51: a server that knows no discover, and says %i to initialize, says nothing',
    async (status) => {
      const peer = await aPeer({
        'server/discover': rpcError(-32601, 'no', { status: 404 }),
        initialize: rpcError(-32601, 'no', { status }),
        'tools/call': started,
      });
      expect((await peer.transport.start(startOf('x'))).kind).toBe(status === 503 ? 'retry' : 'refused');
      expect(peer.methods()).toEqual(['server/discover', 'initialize']);
    },
  );

  it('an address without an MCP server is named as such', async () => {
    const nothing = httpStatus(404, 'not found');
    const { transport } = await aPeer({ 'server/discover': nothing, initialize: nothing });
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'refused',
      error: {
        code: 'REMOTE_START_REFUSED',
        message:
          'there is no MCP server at this address, or one that speaks 2024-11-05, which is not supported: "initialize" was answered with status 404',
      },
    });
  });

  it('MCP-53: a server that turned into an older one is asked again, and its tasks keep their revision', async () => {
    const peer = await aPeer({ 'server/discover': modern, 'tools/call': started });
    const old = await peer.transport.start(startOf('simulate'));
    expect(old).toMatchObject({ kind: 'started', state: expect.any(String) as string, handle: { wire: '2026-07-28' } });
    const onlyOld = rpcError(-32022, 'no', { status: 400, data: { supported: ['2025-11-25'] } });
    peer.becomes({
      ...legacy,
      'server/discover': onlyOld,
      'tools/call': [onlyOld, { task: legacyTask }],
      'tasks/get': { ...legacyTask },
    });
    expect(await peer.transport.start(startOf('simulate'))).toMatchObject({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { wire: '2025-11-25' },
    });
    const sent = peer.server.received.length;
    await peer.transport.get(modernHandle);
    await peer.transport.get(legacyHandle);
    expect(
      peer.server.received
        .slice(sent)
        .map(({ headers }) => [headers['mcp-protocol-version'], headers['mcp-session-id']]),
    ).toEqual([
      ['2026-07-28', undefined],
      ['2025-11-25', 's-1'],
    ]);
  });

  it('MCP-53: a server that turned into a newer one is asked again', async () => {
    const peer = await aPeer(legacy);
    await peer.transport.start(startOf('simulate'));
    const notOld = rpcError(-32020, 'no', { status: 400 });
    peer.becomes({ 'server/discover': modern, initialize: notOld, 'tools/call': [notOld, started] });
    expect(await peer.transport.start(startOf('simulate'))).toMatchObject({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { wire: '2026-07-28' },
    });
  });

  it('a pinned server that speaks another revision is refused, with one request', async () => {
    const onlyOld = rpcError(-32022, 'only 2025-11-25', { status: 400, data: { supported: ['2025-11-25'] } });
    const { transport, methods } = await aPeer({ 'tools/call': onlyOld }, { protocolVersion: '2026-07-28' });
    expect(await transport.start(startOf('x'))).toMatchObject({
      kind: 'refused',
      error: { details: { code: -32022 } },
    });
    expect(methods()).toEqual(['tools/call']);
  });

  it('a call that ran is never made again over another revision', async () => {
    const { transport, methods } = await aPeer({ 'server/discover': modern, 'tools/call': { content } });
    expect((await transport.start(startOf('x'))).kind).toBe('ended');
    expect(methods()).toEqual(['server/discover', 'tools/call']);
  });
});

describe('what is asked before a start', () => {
  it('S0-44: credentials that come back are in no error, also of a call that waited for another to ask', async () => {
    const echo = (request: Received, response: ServerResponse): void => {
      rpcError(-32000, `who is ${String(request.headers.authorization)}`, { status: 403 })(request, response);
    };
    const { transport } = await aPeer({ 'server/discover': echo }, { auth: { bearer: 'canary-4711' } });
    const replies = await Promise.all([transport.start(startOf('x')), transport.start(startOf('y'))]);
    expect(JSON.stringify(replies)).toContain('[redacted]');
    expect(JSON.stringify(replies)).not.toContain('canary');
  });

  it('S0-10: takes from the 30 s of the attempt: when they are over, nothing is started', async () => {
    const peer = await aPeer({
      'server/discover': (request: Received, response: ServerResponse) => {
        peer.advance(30_000);
        result(response, request, modern);
      },
      'tools/call': started,
    });
    expect(await peer.transport.start(startOf('x'))).toEqual({
      kind: 'retry',
      error: {
        code: 'REMOTE_UNREACHABLE',
        message: 'the time for the attempt was over before the request was sent',
      },
    });
    expect(peer.methods()).toEqual(['server/discover']);
  });
});

describe('what a server says of itself', () => {
  const deduping = {
    ...modern,
    capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {}, 'dev.outwait/dedupes': {} } },
  };

  it('a server that says that it dedupes is believed', async () => {
    const { transport } = await aPeer({ 'server/discover': deduping });
    expect(await transport.traits!()).toMatchObject({ dedupes: true, finds: false });
  });

  it('the configuration is believed without a request', async () => {
    const { transport, methods } = await aPeer({}, { dedupes: true });
    expect(await transport.traits!()).toMatchObject({ dedupes: true, finds: false });
    expect(methods()).toEqual([]);
  });

  it('a server that cannot be asked is not one that dedupes', async () => {
    const { transport } = await aPeer({ 'server/discover': httpStatus(500) });
    expect(await transport.traits!()).toMatchObject({ dedupes: false, finds: false });
  });

  it.each([
    [300_000, 299_999, 1],
    [300_000, 300_000, 2],
    [0, 59_999, 1],
    [0, 60_000, 2],
    [86_400_000, 3_599_999, 1],
    [86_400_000, 3_600_000, 2],
  ])('with a ttlMs of %i it is asked after %i ms %i times in all', async (ttlMs, elapsedMs, times) => {
    const peer = await aPeer({
      'server/discover': [
        { ...modern, ttlMs },
        { ...deduping, ttlMs },
      ],
    });
    await peer.transport.traits!();
    peer.advance(elapsedMs);
    expect(await peer.transport.traits!()).toMatchObject({ dedupes: times === 2, finds: false });
    expect(peer.methods()).toHaveLength(times);
  });
});

describe('taking over a task that another party started', () => {
  const task = { resultType: 'complete', taskId: 't1' };

  it('takes a working one with one read', async () => {
    const { transport, methods } = await aPeer({
      'server/discover': modern,
      'tasks/get': { ...task, status: 'working', pollIntervalMs: 9_000 },
    });
    expect(await transport.adopt!({ taskId: 't1' })).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: bareHandle,
      pollAfterMs: 9_000,
    });
    expect(methods()).toEqual(['server/discover', 'tasks/get']);
  });

  it('takes an ended one with its result', async () => {
    const { transport } = await aPeer({
      'server/discover': modern,
      'tasks/get': { ...task, status: 'completed', result: { content } },
    });
    expect(await transport.adopt!({ taskId: 't1' })).toEqual({
      kind: 'ended',
      handle: bareHandle,
      end: { kind: 'completed', result: { content }, isError: false, taskId: 't1' },
    });
  });

  it.each([
    ['an unknown one is refused', rpcError(-32602, 'unknown task'), 'refused'],
    ['a server in trouble is asked again', httpStatus(503), 'retry'],
    ['a wrong answer is asked for again', { ...task, taskId: 't2', status: 'working' }, 'retry'],
  ] as const)('%s', async (_name, answer, kind) => {
    const { transport } = await aPeer({ 'server/discover': modern, 'tasks/get': answer });
    expect((await transport.adopt!({ taskId: 't1' })).kind).toBe(kind);
  });

  it('takes one over 2025-11-25 under the session of now', async () => {
    const { transport } = await aPeer({ ...legacy, 'tasks/get': legacyTask });
    expect(await transport.adopt!({ taskId: 't1' })).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: { ...bareHandle, wire: '2025-11-25', session: 's-1' },
      pollAfterMs: 1_000,
    });
  });
});
