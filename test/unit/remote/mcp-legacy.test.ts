import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, type Received, result } from './loopback.js';
import {
  accepted,
  aPeer,
  httpStatus,
  inSession,
  legacyHandle,
  legacyHello,
  legacyTask,
  legacyTools,
  rpcError,
  type Script,
  startOf,
  statelessHandle,
} from './mcp-peer.js';

afterEach(closeAll);

const content = [{ type: 'text', text: '412 rows' }];
const hello = {
  initialize: inSession('s-1', legacyHello),
  'notifications/initialized': accepted,
  'tools/list': legacyTools,
};
const old = { protocolVersion: '2025-11-25' } as const;
const legacyPeer = (scripts: Readonly<Record<string, Script | readonly Script[]>>) =>
  aPeer({ ...hello, ...scripts }, old);

/** Answers as a server with sessions: it knows the last one that it created, and refuses every other. */
function keepingSessions(lost: (request: Received, response: ServerResponse) => void, answers: Record<string, object>) {
  let count = 0;
  const known = () => `s-${count}`;
  const guarded = Object.entries(answers).map(([method, answer]): [string, Script] => [
    method,
    (request, response) => {
      if (request.headers['mcp-session-id'] === known()) result(response, request, answer);
      else lost(request, response);
    },
  ]);
  return {
    initialize: (request: Received, response: ServerResponse) => {
      count++;
      inSession(known(), legacyHello)(request, response);
    },
    forget: () => {
      count++;
    },
    guarded: Object.fromEntries(guarded),
  };
}

describe('a start over 2025-11-25', () => {
  it.each([
    ['simulate', true],
    ['perhaps', true],
    ['never', false],
    ['plain', false],
    ['not listed', false],
  ])('MCP-54: the tool %s is called as a task: %s', async (tool, asTask) => {
    const { transport, server } = await legacyPeer({ 'tools/call': asTask ? { task: legacyTask } : { content } });
    expect((await transport.start(startOf(tool, { q: 'x' }))).kind).toBe(asTask ? 'started' : 'ended');
    expect(server.received.at(-1)!.body.params).toEqual({
      name: tool,
      arguments: { q: 'x' },
      ...(asTask ? { task: { ttl: 604_800_000 } } : {}),
      _meta: { 'dev.outwait/idempotencyKey': 'run1/3' },
    });
  });

  it('MCP-54: a server without tasks is called plainly, and its tools are not listed', async () => {
    const { transport, methods } = await legacyPeer({
      initialize: { ...legacyHello, capabilities: { tools: {} } },
      'tools/call': { content },
    });
    expect((await transport.start(startOf('simulate'))).kind).toBe('ended');
    expect(methods()).toEqual(['initialize', 'notifications/initialized', 'tools/call']);
  });

  it('a server that lists no tools is called plainly', async () => {
    const { transport } = await legacyPeer({ 'tools/list': rpcError(-32601, 'no'), 'tools/call': { content } });
    expect((await transport.start(startOf('simulate'))).kind).toBe('ended');
  });

  it('MCP-55: the handle has what the server decided, and the session', async () => {
    const { transport } = await legacyPeer({ 'tools/call': { task: legacyTask } });
    expect(await transport.start(startOf('simulate'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: legacyHandle,
      pollAfterMs: 1_000,
    });
  });

  it('handshake and headers are those of the revision, and nothing is declared', async () => {
    const { transport, server } = await legacyPeer({ 'tools/call': { task: legacyTask } });
    await transport.start(startOf('simulate'));
    await transport.start(startOf('simulate'));
    const sent = server.received.map(({ headers, body }) => [
      body.method,
      headers['mcp-protocol-version'],
      headers['mcp-session-id'],
      headers['mcp-method'],
      'id' in body,
    ]);
    expect(sent).toEqual([
      ['initialize', undefined, undefined, undefined, true],
      ['notifications/initialized', '2025-11-25', 's-1', undefined, false],
      ['tools/list', '2025-11-25', 's-1', undefined, true],
      ['tools/call', '2025-11-25', 's-1', undefined, true],
      ['tools/call', '2025-11-25', 's-1', undefined, true],
    ]);
    expect(server.received[0]!.body.params).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'outwait', version: '0.1.0' },
    });
    expect(server.received[3]!.headers['idempotency-key']).toBe('run1/3');
  });

  it('GB-16: a required tool that answers with an error of its own at once is an outcome', async () => {
    const { transport } = await legacyPeer({ 'tools/call': { content, isError: true } });
    expect(await transport.start(startOf('simulate'))).toMatchObject({ kind: 'ended', end: { isError: true } });
  });

  it.each([
    ['no id', { task: { status: 'working' } }],
    ['no status', { task: { taskId: 't1' } }],
    ['no task and no content', {}],
  ])('MCP-25: a reply with %s may stand for running work', async (_name, reply) => {
    const { transport } = await legacyPeer({ 'tools/call': reply });
    expect((await transport.start(startOf('simulate'))).kind).toBe('unknown');
  });

  it.each([
    ['2025-06-18', 'ended'],
    ['2025-03-26', 'ended'],
  ])('MCP-60: %s is spoken for plain calls', async (version, kind) => {
    const { transport, server } = await legacyPeer({
      initialize: { ...legacyHello, protocolVersion: version },
      'tools/call': { content },
    });
    expect((await transport.start(startOf('simulate'))).kind).toBe(kind);
    expect(server.received.at(-1)!.headers['mcp-protocol-version']).toBe(version);
  });

  it.each([
    ['2024-11-05', 'the server speaks MCP 2024-11-05, which is not supported'],
    [undefined, 'the server answered "initialize" without a protocolVersion'],
  ])('MCP-60: a counter-offer of %s is refused and named', async (protocolVersion, message) => {
    const { transport, methods } = await legacyPeer({ initialize: { ...legacyHello, protocolVersion } });
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'refused',
      error: { code: 'REMOTE_START_REFUSED', message },
    });
    expect(methods()).toEqual(['initialize']);
  });

  it('a session id that cannot be a header is refused', async () => {
    const { transport } = await legacyPeer({ initialize: inSession('a b', legacyHello) });
    expect((await transport.start(startOf('x'))).kind).toBe('refused');
  });

  it.each([
    ['the handshake', { initialize: httpStatus(503) }],
    ['the list of tools', { 'tools/list': httpStatus(503) }],
  ])('a server that fails at %s is tried again', async (_name, scripts) => {
    const { transport } = await legacyPeer(scripts);
    expect((await transport.start(startOf('simulate'))).kind).toBe('retry');
  });

  it('MCP-61: a plain call whose stream breaks is ambiguous and is not made again', async () => {
    const { transport, methods } = await legacyPeer({
      'tools/call': (_: Received, response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('id: 1\ndata:\n\n', () => response.socket?.destroy());
      },
    });
    const reply = await transport.start(startOf('plain'));
    expect(reply).toMatchObject({ kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE' } });
    expect('error' in reply && reply.error.message).toContain('the tool does not run as a task');
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('MCP-04, MCP-59: a priming event and a request of the server before the response are passed over', async () => {
    const { transport, server } = await legacyPeer({
      'tools/call': (request: Received, response: ServerResponse) => {
        const event = (value: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...value })}\n\n`;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('id: 1\ndata: \n\n');
        response.write(event({ id: request.body.id, method: 'sampling/createMessage', params: {} }));
        response.end(event({ id: request.body.id, result: { task: legacyTask } }));
      },
    });
    expect((await transport.start(startOf('simulate'))).kind).toBe('started');
    // There is no answer, since a response of ours would be another request.
    expect(server.received).toHaveLength(4);
  });

  it('a stateless server is called without a session', async () => {
    const { transport, server } = await legacyPeer({ initialize: legacyHello, 'tools/call': { task: legacyTask } });
    expect(await transport.start(startOf('simulate'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: statelessHandle,
      pollAfterMs: 1_000,
    });
    expect(server.received.at(-1)!.headers).not.toHaveProperty('mcp-session-id');
  });
});

describe('reads over 2025-11-25', () => {
  it.each([
    [
      'working',
      { ...legacyTask, statusMessage: 'row 7' },
      { state: 'working', note: 'row 7', ttlMs: 300_000, pollAfterMs: 1_000 },
    ],
    [
      'input_required, which is not answered',
      { ...legacyTask, status: 'input_required' },
      {
        state: 'input_required',
        note: 'the task asks for input, which cannot be given over MCP 2025-11-25',
        pollAfterMs: 1_000,
      },
    ],
  ])('a task that is %s goes on', async (_name, task, expected) => {
    const { transport, methods } = await legacyPeer({ 'tasks/get': task });
    expect(await transport.get(legacyHandle)).toEqual({ kind: 'working', ...expected });
    expect(methods()).toEqual(['tasks/get']);
  });

  it.each(['completed', 'failed'])('MCP-56: a task that is %s has its result fetched once', async (status) => {
    const related = { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } } };
    const outcome = { content, isError: status === 'failed', ...related };
    const { transport, methods } = await legacyPeer({
      'tasks/get': { ...legacyTask, status },
      'tasks/result': outcome,
    });
    expect(await transport.get(legacyHandle)).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result: outcome, isError: status === 'failed', taskId: 't1' },
    });
    expect(methods()).toEqual(['tasks/get', 'tasks/result']);
  });

  it.each([
    ['nothing but metadata', {}, undefined],
    ['no content', { content: [] }, undefined],
    ['content that claims no error', { content, isError: false }, true],
  ])('F66: a failed task whose result has %s is a failure', async (_name, outcome, isError) => {
    const result = { ...outcome, _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } } };
    const { transport } = await legacyPeer({
      'tasks/get': { ...legacyTask, status: 'failed', statusMessage: 'quota' },
      'tasks/result': result,
    });
    const end =
      isError === true
        ? { kind: 'completed', result, isError, taskId: 't1' }
        : { kind: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: 'remote task failed: quota' } };
    expect(await transport.get(legacyHandle)).toMatchObject({ kind: 'ended', end });
  });

  it('MCP-56: a failed task without a result is failed, with its own words and those of the error', async () => {
    const { transport } = await legacyPeer({
      'tasks/get': { ...legacyTask, status: 'failed', statusMessage: 'quota' },
      'tasks/result': rpcError(-32603, 'no result stored', { data: { limit: 5 } }),
    });
    expect(await transport.get(legacyHandle)).toEqual({
      kind: 'ended',
      end: {
        kind: 'failed',
        error: {
          code: 'REMOTE_TASK_FAILED',
          message: 'remote task failed: quota',
          details: {
            server: 'reports',
            state: 'failed',
            code: -32603,
            message: 'no result stored',
            data: { limit: 5 },
          },
        },
      },
    });
  });

  it('MCP-57: a cancelled task is cancelled, and no result is asked for', async () => {
    const { transport, methods } = await legacyPeer({ 'tasks/get': { ...legacyTask, status: 'cancelled' } });
    expect(await transport.get(legacyHandle)).toMatchObject({
      kind: 'ended',
      end: { kind: 'failed', error: { code: 'REMOTE_TASK_CANCELLED' } },
    });
    expect(methods()).toEqual(['tasks/get']);
  });

  it.each([
    ['another task', { ...legacyTask, taskId: 't2' }, {}],
    ['an unknown status', { ...legacyTask, status: 'done' }, {}],
    ['no object', [], {}],
    [
      'the result of another task',
      { ...legacyTask, status: 'completed' },
      { content, _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't2' } } },
    ],
    ['a result that is no object', { ...legacyTask, status: 'completed' }, []],
    ['a result that cannot be read now', { ...legacyTask, status: 'completed' }, httpStatus(503)],
    ['a completed task whose result is an error', { ...legacyTask, status: 'completed' }, rpcError(-32603, 'no')],
    ['a failed task behind a login', { ...legacyTask, status: 'failed' }, rpcError(-32000, 'no', { status: 401 })],
  ])('MCP-28: %s settles nothing', async (_name, task, outcome) => {
    const { transport } = await legacyPeer({ 'tasks/get': task, 'tasks/result': outcome });
    expect((await transport.get(legacyHandle)).kind).toBe('unreadable');
  });

  it('MCP-35: -32602 says that the server has no such task', async () => {
    const { transport } = await legacyPeer({ 'tasks/get': rpcError(-32602, 'Task not found') });
    expect((await transport.get(legacyHandle)).kind).toBe('missing');
  });

  it('a poll in another process speaks under the session of the handle, without a handshake', async () => {
    const { transport, server, methods } = await legacyPeer({ 'tasks/get': legacyTask });
    await transport.get({ ...legacyHandle, session: 's-77' });
    expect(methods()).toEqual(['tasks/get']);
    expect(server.received[0]!.headers['mcp-session-id']).toBe('s-77');
  });
});

describe('a lost session', () => {
  const lostBy = [
    ['404', httpStatus(404)],
    ['404 with an error', rpcError(-32001, 'Session not found', { status: 404, id: null })],
    ['400 with -32000', rpcError(-32000, 'Bad Request: No valid session ID provided', { status: 400, id: null })],
  ] as const;

  it.each(lostBy)('MCP-58: %s to a read: one new session and one more read', async (_name, lost) => {
    const sessions = keepingSessions(lost, { 'tasks/get': legacyTask });
    const { transport, methods } = await legacyPeer({ initialize: sessions.initialize, ...sessions.guarded });
    const handle = { ...legacyHandle, session: 'gone' };
    expect((await transport.get(handle)).kind).toBe('working');
    expect(methods()).toEqual(['tasks/get', 'initialize', 'notifications/initialized', 'tasks/get']);
    // The transport does not ask again under the lost session.
    expect((await transport.get(handle)).kind).toBe('working');
    expect(methods()).toHaveLength(5);
  });

  it('MCP-58: a task that is gone with its session is missing', async () => {
    const sessions = keepingSessions(httpStatus(404), {});
    const { transport } = await legacyPeer({
      initialize: sessions.initialize,
      'tasks/get': [httpStatus(404), rpcError(-32602, 'Task not found')],
    });
    expect((await transport.get(legacyHandle)).kind).toBe('missing');
  });

  it('MCP-58: a session that is lost again at once leaves the task missing, with two reads in all', async () => {
    const { transport, methods } = await legacyPeer({ 'tasks/get': httpStatus(404) });
    expect(await transport.get(legacyHandle)).toMatchObject({ kind: 'missing' });
    expect(methods().filter((method) => method === 'tasks/get')).toHaveLength(2);
  });

  it('is opened anew within the time of the read, and no later', async () => {
    const late = (request: Received, response: ServerResponse): void => {
      peer.advance(30_000);
      httpStatus(404)(request, response);
    };
    const peer = await legacyPeer({ 'tasks/get': late });
    expect(await peer.transport.get(legacyHandle)).toMatchObject({
      kind: 'unreadable',
      error: { message: 'the time for the attempt was over before the request was sent' },
    });
    expect(peer.methods()).toEqual(['tasks/get']);
  });

  it('a handshake that fails says nothing of the task', async () => {
    const { transport } = await legacyPeer({ initialize: httpStatus(503), 'tasks/get': httpStatus(404) });
    expect((await transport.get(legacyHandle)).kind).toBe('unreadable');
  });

  it.each(lostBy)('MCP-58: %s to a start: one new session and one more call', async (_name, lost) => {
    const sessions = keepingSessions(lost, { 'tools/call': { task: legacyTask } });
    const { transport, methods } = await legacyPeer({ initialize: sessions.initialize, ...sessions.guarded });
    await transport.start(startOf('simulate'));
    sessions.forget();
    const before = methods().length;
    expect((await transport.start(startOf('simulate'))).kind).toBe('started');
    expect(methods().slice(before)).toEqual(['tools/call', 'initialize', 'notifications/initialized', 'tools/call']);
  });

  it('a start that loses its session twice is tried again later', async () => {
    const { transport } = await legacyPeer({ 'tools/call': httpStatus(404) });
    expect((await transport.start(startOf('simulate'))).kind).toBe('retry');
  });

  it.each([
    ['400 with -32000 and no word of a session', 'unknown', rpcError(-32000, 'quota', { status: 400, id: null })],
    ['the same as an answer to the call', 'unknown', rpcError(-32000, 'quota', { status: 400 })],
    ['a word of a session in an answer to the call', 'unknown', rpcError(-32000, 'no bank session', { status: 400 })],
    ['404 with an answer to the call', 'refused', rpcError(-32001, 'no such report', { status: 404 })],
  ] as const)('F94 a start is sent once, %s: %s', async (_name, kind, answer) => {
    const { transport, methods } = await legacyPeer({ 'tools/call': [answer, { task: legacyTask }] });
    expect((await transport.start(startOf('simulate'))).kind).toBe(kind);
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it.each([
    'Bad Request: No valid session ID provided',
    'Bad Request: Mcp-Session-Id header is required',
    'Bad Request: Server not initialized',
  ])('F94 a start is sent again if it was never read: %s', async (message) => {
    const lost = rpcError(-32000, message, { status: 400, id: null });
    const { transport, methods } = await legacyPeer({ 'tools/call': [lost, { task: legacyTask }] });
    expect((await transport.start(startOf('simulate'))).kind).toBe('started');
    expect(methods().filter((method) => method === 'tools/call')).toHaveLength(2);
  });

  it('F94 the next start has a session of its own, where it may have been the session', async () => {
    const doubtful = rpcError(-32000, 'unknown session', { status: 400 });
    const { transport, methods } = await legacyPeer({ 'tools/call': [doubtful, { task: legacyTask }] });
    await transport.start(startOf('simulate'));
    expect((await transport.start(startOf('simulate'))).kind).toBe('started');
    expect(methods().filter((method) => method === 'initialize')).toHaveLength(2);
  });

  it('400 with -32000 to a server without sessions is an error like any other', async () => {
    const { transport, methods } = await legacyPeer({ 'tasks/get': rpcError(-32000, 'no', { status: 400 }) });
    expect((await transport.get(statelessHandle)).kind).toBe('unreadable');
    expect(methods()).toEqual(['tasks/get']);
  });
});

describe('cancels and answers over 2025-11-25', () => {
  it.each([
    ['a task that is cancelled now', { ...legacyTask, status: 'cancelled' }, 'done'],
    ['MCP-57: an ended task', rpcError(-32602, 'already ended'), 'gone'],
    ['a task that is gone with its session', httpStatus(404), 'gone'],
    ['a server in trouble', httpStatus(503), 'retry'],
  ] as const)('%s: %#', async (_name, answer, kind) => {
    const { transport } = await legacyPeer({ 'tasks/cancel': answer });
    expect((await transport.cancel(legacyHandle)).kind).toBe(kind);
  });

  it('takes no answers', async () => {
    const { transport, methods } = await legacyPeer({});
    const question = { key: 'a', kind: 'form', message: 'x' } as const;
    expect(await transport.answer!(legacyHandle, question, { action: 'decline' }, 'k')).toEqual({
      kind: 'refused',
      error: { code: 'CONFIG_INVALID', message: 'a task over MCP 2025-11-25 accepts no answers' },
    });
    expect(methods()).toEqual([]);
  });
});
