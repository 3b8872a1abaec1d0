import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { contextIdOf, messageIdOf } from '../../../lib/remote/a2a/message-id.js';
import type { RemoteQuestion } from '../../../lib/remote/transport.js';
import { secret } from '../../../lib/workflow/app.js';
import { textOf } from '../../../lib/workflow/outcome.js';
import { type Agent, agent, handle, jsonRpc, rpcError, started, working } from './a2a-agent.js';
import { closeAll, json, type Received, result, serve } from './loopback.js';

afterEach(closeAll);

const start = { request: { kind: 'message', parts: [{ text: 'hi' }] }, idempotencyKey: 'k' } as const;
const rest = (origin: string): readonly object[] => [
  { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'acme' },
];
const empty = { ...working, status: { state: 'TASK_STATE_COMPLETED' } };
const ended = { ...empty, artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }] };

describe('reads', () => {
  it.each([
    [
      'A2A-C1: another task',
      (request: Received) => ({ jsonrpc: '2.0', id: request.body.id, result: { ...ended, id: 't2' } }),
    ],
    ['A2A-C2: the id of another request', () => ({ jsonrpc: '2.0', id: 'other', result: ended })],
    ['A2A-C2: a number as the id', () => ({ jsonrpc: '2.0', id: 1, result: ended })],
    ['A2A-C2: null as the id', () => ({ jsonrpc: '2.0', id: null, result: ended })],
    [
      'A2A-C3: result and error',
      (request: Received) => ({ jsonrpc: '2.0', id: request.body.id, result: ended, error: { code: 1, message: '' } }),
    ],
    [
      'A2A-C3: version 1.0 of JSON-RPC',
      (request: Received) => ({ jsonrpc: '1.0', id: request.body.id, result: ended }),
    ],
    ['A2A-C43: a page of a proxy', () => '<html>'],
    ['A2A-C43: JSON that is cut', (request: Received) => `{"jsonrpc":"2.0","id":"${request.body.id}","result":{`],
  ])('%s: settles nothing', async (_name, body) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      json(response, body(request));
    };
    expect(await supplier.transport().get(handle)).toMatchObject({
      kind: 'unreadable',
      error: { code: 'REMOTE_PROTOCOL_VIOLATION' },
    });
  });

  it('A2A-C43: an empty answer settles nothing', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (_request, response) => {
      response.writeHead(204).end();
    };
    expect((await supplier.transport().get(handle)).kind).toBe('unreadable');
  });

  it('A2A-C4: two agents with one task id are each read for themselves', async () => {
    const [one, other] = [await agent(jsonRpc), await agent(jsonRpc)];
    other.answer = (request, response) => {
      result(response, request, ended);
    };
    expect((await one.transport().get(handle)).kind).toBe('working');
    expect((await other.transport().get(handle)).kind).toBe('ended');
  });

  it('A2A-C28, A2A-C29: an unknown task is missing, in both bindings', async () => {
    const rpc = await agent(jsonRpc);
    rpc.answer = (request, response) => {
      rpcError(response, request, -32001);
    };
    expect((await rpc.transport().get(handle)).kind).toBe('missing');
    const http = await agent(rest);
    http.answer = (_request, response) => {
      json(response, { error: { code: 404, status: 'NOT_FOUND', details: [{ reason: 'TASK_NOT_FOUND' }] } }, 404);
    };
    expect((await http.transport().get({ ...handle, binding: 'HTTP+JSON' })).kind).toBe('missing');
    http.answer = (_request, response) => {
      json(response, 'no route', 404);
    };
    expect((await http.transport().get({ ...handle, binding: 'HTTP+JSON' })).kind).toBe('unreadable');
  });

  it('A2A-C36: a task that waits for a consent goes on by itself and is read to its end', async () => {
    const supplier = await agent(jsonRpc);
    let state = 'TASK_STATE_AUTH_REQUIRED';
    supplier.answer = (request, response) => {
      result(response, request, { ...working, status: { state }, artifacts: [{ parts: [{ text: 'done' }] }] });
    };
    const transport = supplier.transport();
    expect(await transport.get(handle)).toMatchObject({ kind: 'working', questions: [{ kind: 'auth' }] });
    state = 'TASK_STATE_COMPLETED';
    expect((await transport.get(handle)).kind).toBe('ended');
    expect(supplier.trail()).toEqual(['card', 'GetTask', 'GetTask']);
  });

  it('A2A-C38: an answer beyond the limit is not read to its end', async () => {
    const supplier = await agent(jsonRpc, {}, { http: { limits: { replyMaxBytes: 300_000 } } });
    supplier.answer = (request, response) => {
      result(response, request, { ...ended, artifacts: [{ artifactId: 'r', parts: [{ text: 'x'.repeat(300_000) }] }] });
    };
    expect(await supplier.transport().get(handle)).toMatchObject({
      kind: 'unreadable',
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
  });

  it('A2A-C44: a redirect is not followed and our credentials stay', async () => {
    const other = await serve((request, response) => {
      result(response, request, ended);
    });
    const supplier = await agent(jsonRpc);
    supplier.answer = (_request, response) => {
      response.writeHead(307, { location: other.url }).end();
    };
    const transport = supplier.transport({ auth: { bearer: 'canary-token' } });
    expect((await transport.get(handle)).kind).toBe('unreadable');
    expect((await transport.start(start)).kind).toBe('refused');
    expect(other.connections()).toBe(0);
  });

  it('A2A-C45: says how long the agent wants to be left alone', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (_request, response) => {
      json(response, '', 429, { 'retry-after': '120' });
    };
    expect(await supplier.transport().get(handle)).toMatchObject({ kind: 'unreadable', retryAfterMs: 120_000 });
  });

  it('A2A-C50: the tenant of the interface is in every request of HTTP+JSON', async () => {
    const supplier = await agent(rest);
    supplier.answer = (request, response) => {
      json(response, request.httpMethod === 'POST' ? started : working);
    };
    const transport = supplier.transport();
    await transport.start(start);
    await transport.get({ ...handle, binding: 'HTTP+JSON' });
    await transport.cancel({ ...handle, binding: 'HTTP+JSON' });
    expect(supplier.calls().map(({ httpMethod, path }) => `${httpMethod} ${path}`)).toEqual([
      'POST /rest/acme/message:send',
      'GET /rest/acme/tasks/t1?historyLength=0',
      'POST /rest/acme/tasks/t1:cancel',
    ]);
    expect(supplier.calls().map(({ headers }) => headers['a2a-version'])).toEqual(['1.0', '1.0', '1.0']);
  });

  it('A2A-C53: a secret is read for each request and is in no handle', async () => {
    let token = 'canary-first-token';
    const supplier = await agent(jsonRpc, {}, { deps: { readSecret: () => token } });
    supplier.answer = (request, response) => {
      result(response, request, request.body.method === 'SendMessage' ? started : working);
    };
    const transport = supplier.transport({ auth: { bearer: secret('TOKEN') } });
    const reply = await transport.start(start);
    expect(JSON.stringify(reply)).not.toContain(token);
    token = 'canary-second-token';
    await transport.get(handle);
    expect(supplier.calls().map(({ headers }) => headers.authorization)).toEqual([
      'Bearer canary-first-token',
      'Bearer canary-second-token',
    ]);
  });

  it('A2A-C54: tasks that share a context and end in reverse order each have their own result', async () => {
    const supplier = await agent(jsonRpc);
    const over = new Set<string>();
    supplier.answer = (request, response) => {
      const id = request.body.params['id'] as string;
      const artifacts = [{ artifactId: 'r', parts: [{ text: `result of ${id}` }] }];
      result(response, request, over.has(id) ? { ...ended, id, artifacts } : { ...working, id });
    };
    const transport = supplier.transport();
    const ids = ['t1', 't2', 't3'];
    for (const id of ids.toReversed()) {
      over.add(id);
      const kinds = await Promise.all(ids.map(async (taskId) => (await transport.get({ ...handle, taskId })).kind));
      expect(kinds).toEqual(ids.map((taskId) => (over.has(taskId) ? 'ended' : 'working')));
    }
    const last = await transport.get({ ...handle, taskId: 't1' });
    expect(JSON.stringify(last)).toContain('result of t1');
    expect(JSON.stringify(last)).not.toMatch(/result of t[23]/);
  });

  it('takes what the configuration and the request held out of notes and errors', async () => {
    const supplier = await agent(jsonRpc);
    const message = { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'canary-token was sent' }] };
    supplier.answer = (request, response) => {
      result(response, request, { ...working, status: { ...working.status, message } });
    };
    const reply = await supplier.transport({ auth: { bearer: 'canary-token' } }).get(handle);
    expect(reply).toEqual({ kind: 'working', state: 'TASK_STATE_WORKING', note: '[redacted] was sent' });
  });
});

describe('cancel', () => {
  it.each([
    [-32001, 'gone'],
    [-32002, 'refused'],
    [-32004, 'refused'],
    [-32603, 'retry'],
  ])('A2A-C31: %d is %s', async (code, kind) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      rpcError(response, request, code);
    };
    expect((await supplier.transport().cancel(handle)).kind).toBe(kind);
  });

  it('B080: an acknowledgement is enough, whatever state it shows', async () => {
    const supplier = await agent(jsonRpc);
    expect(await supplier.transport().cancel(handle)).toEqual({ kind: 'done' });
    expect(supplier.calls()[0]!.body).toMatchObject({ method: 'CancelTask', params: { id: 't1' } });
  });
});

describe('answers to a question', () => {
  const question: RemoteQuestion = { key: 'q-1', kind: 'form', message: 'Which cost centre?' };
  const asking = (messageId: string) => ({
    ...working,
    status: {
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { messageId, role: 'ROLE_AGENT', parts: [{ text: 'Which?' }] },
    },
  });
  const answerTo = (supplier: Agent) =>
    supplier.transport().answer(handle, question, { action: 'accept', content: { costCentre: '4711' } }, 'k:in:1');

  it('S2-04, B053: goes to the same task and context, with the same message id on every attempt', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, request.body.method === 'GetTask' ? asking('q-1') : started);
    };
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
    const sent = supplier.calls().filter(({ body }) => body.method === 'SendMessage');
    expect(sent.map(({ body }) => body.params['message'])).toEqual(
      Array.from({ length: 2 }, () => ({
        messageId: messageIdOf('k:in:1'),
        role: 'ROLE_USER',
        taskId: 't1',
        contextId: 'c1',
        parts: [{ data: { costCentre: '4711' }, mediaType: 'application/json' }],
      })),
    );
  });

  it.each([
    ['works', working],
    ['asks something else', asking('q-2')],
    ['has ended', ended],
  ])('A2A-C34, A2A-C37: is not sent when the task %s by now', async (_name, task) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, task);
    };
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
    expect(supplier.trail()).toEqual(['card', 'GetTask']);
  });

  it.each([
    ['it cannot be read', 500],
    ['it is missing', 404],
  ])('is kept for later while it is unknown whether the question is still open: %s', async (_name, status) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      if (status === 404) rpcError(response, request, -32001);
      else json(response, '', status);
    };
    expect((await answerTo(supplier)).kind).toBe('retry');
    expect(supplier.trail()).toEqual(['card', 'GetTask']);
  });

  it('A2A-C34: without a reply it is sent again', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      if (request.body.method === 'GetTask') result(response, request, asking('q-1'));
      else response.socket?.destroy();
    };
    expect((await answerTo(supplier)).kind).toBe('retry');
  });

  it('a refusal is one while the question stands, and none when it does no longer', async () => {
    const supplier = await agent(jsonRpc);
    let reads = 0;
    supplier.answer = (request, response) => {
      if (request.body.method === 'GetTask') result(response, request, ++reads > 3 ? ended : asking('q-1'));
      else rpcError(response, request, -32004);
    };
    expect(await answerTo(supplier)).toMatchObject({ kind: 'refused', error: { code: 'REMOTE_ANSWER_REFUSED' } });
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
  });

  it('K6: an answer of which the agent made another task is not sent again', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, request.body.method === 'GetTask' ? asking('q-1') : { task: { ...working, id: 't9' } });
    };
    expect((await answerTo(supplier)).kind).toBe('refused');
  });
});

describe('a start whose answer was lost', () => {
  const ids = { contextId: contextIdOf('k'), messageId: messageIdOf('k') };

  it('A2A-C16: carries a context of ours only where it can be looked for', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, { task: { ...working, contextId: ids.contextId } });
    };
    await supplier.transport().start(start);
    await supplier.transport({ probeByContext: true }).start(start);
    const messages = supplier.calls().map(({ body }) => body.params['message']);
    expect(messages).toMatchObject([{ messageId: ids.messageId }, ids]);
    expect(messages[0]).not.toHaveProperty('contextId');
  });

  it('A2A-C16: is found by its context, and nothing is sent anew', async () => {
    const supplier = await agent(jsonRpc);
    const task = { ...working, contextId: ids.contextId };
    supplier.answer = (request, response) => {
      result(response, request, { tasks: [task], nextPageToken: '' });
    };
    const transport = supplier.transport({ probeByContext: true });
    expect(await transport.find(start)).toEqual({
      kind: 'found',
      handle: { ...handle, contextId: ids.contextId },
    });
    expect(supplier.calls().map(({ body }) => [body.method, body.params])).toEqual([
      ['ListTasks', { contextId: ids.contextId, historyLength: 5, pageSize: 10 }],
    ]);
  });

  it('A2A-C16: is found over HTTP+JSON too', async () => {
    const supplier = await agent(rest);
    supplier.answer = (_request, response) => {
      json(response, { tasks: [{ ...working, contextId: ids.contextId }], nextPageToken: '' });
    };
    const found = await supplier.transport({ probeByContext: true }).find(start);
    expect(found).toEqual({
      kind: 'found',
      handle: { ...handle, contextId: ids.contextId, binding: 'HTTP+JSON', tenant: 'acme' },
    });
  });

  it.each([
    [-32601, 'unsupported'],
    [-32004, 'unsupported'],
    // A context that is not known yet, and failures that may pass.
    [-32602, 'unknown'],
    [-32603, 'unknown'],
  ])('F62: an agent that answers the list of a context with error %i: %s', async (code, kind) => {
    const supplier = await agent((origin) => [...jsonRpc(origin), ...rest(origin)]);
    supplier.answer = (request, response) => {
      rpcError(response, request, code);
    };
    expect((await supplier.transport({ probeByContext: true }).find(start)).kind).toBe(kind);
    expect(supplier.trail()).toEqual(['card', 'ListTasks']);
  });
});

describe('a task that somebody else has started', () => {
  it('is taken over after one read', async () => {
    const supplier = await agent(jsonRpc);
    expect(await supplier.transport().adopt({ taskId: 't1', contextId: 'c1' })).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle,
    });
    supplier.answer = (request, response) => {
      result(response, request, ended);
    };
    expect(await supplier.transport().adopt({ taskId: 't1' })).toMatchObject({ kind: 'ended', handle });
    expect(supplier.trail()).toEqual(['card', 'GetTask', 'card', 'GetTask']);
  });

  it.each([
    ['another task', { ...working, id: 't2' }, 'the task is not the one requested'],
    ['another context', { ...working, contextId: 'c2' }, 'the task is in another context'],
  ])('is refused when the agent shows %s', async (_name, task, message) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, task);
    };
    expect(await supplier.transport().adopt({ taskId: 't1', contextId: 'c1' })).toEqual({
      kind: 'refused',
      error: { code: 'REMOTE_START_REFUSED', message },
    });
  });

  it('is refused when the agent does not know it, and read again when it cannot be read', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      rpcError(response, request, -32001);
    };
    expect((await supplier.transport().adopt({ taskId: 't1' })).kind).toBe('refused');
    supplier.answer = (_request, response) => {
      json(response, '<html>');
    };
    expect((await supplier.transport().adopt({ taskId: 't1' })).kind).toBe('retry');
  });
});

describe('starts', () => {
  it.each([
    ['A2A-C8: task and message', { ...started, message: { messageId: 'a', parts: [] } }, 'unknown'],
    ['A2A-C5: a message', { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }, 'ended'],
    ['A2A-C6: an ended task', { task: ended }, 'ended'],
    ['A2A-C7: a question', { task: { ...working, status: { state: 'TASK_STATE_INPUT_REQUIRED' } } }, 'started'],
  ])('%s', async (name, reply, kind) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, reply);
    };
    const came = await supplier.transport().start(start);
    expect(came.kind).toBe(kind);
    expect('questions' in came).toBe(name.startsWith('A2A-C7'));
    expect(supplier.calls()).toHaveLength(1);
  });
});

describe('answers in other forms', () => {
  const answer = { messageId: 'a', role: 'ROLE_AGENT', taskId: 't1', contextId: 'c1', parts: [{ text: '42' }] };

  /** Starts an agent that answers a start with a message that names a task, and a read as `read` says. */
  async function answering(read: (request: Received, response: Parameters<typeof rpcError>[0]) => void) {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      if (request.body.method === 'SendMessage') result(response, request, { message: answer });
      else read(request, response);
    };
    return supplier.transport();
  }

  it('F61: a message that speaks of a task that is not there is the answer', async () => {
    const transport = await answering((request, response) => {
      rpcError(response, request, -32001);
    });
    expect(await transport.start(start)).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result: answer, isError: false },
    });
  });

  it('F61: a message that speaks of a task that is there is a note on it', async () => {
    const works = await answering((request, response) => {
      result(response, request, working);
    });
    expect(await works.start(start)).toEqual({ kind: 'started', handle });
    const hasEnded = await answering((request, response) => {
      result(response, request, ended);
    });
    expect(await hasEnded.start(start)).toMatchObject({ kind: 'ended', end: { result: ended }, handle });
  });

  it('F61: a message whose task cannot be read now is neither', async () => {
    const transport = await answering((_request, response) => {
      json(response, {}, 503);
    });
    expect((await transport.start(start)).kind).toBe('unknown');
  });

  it('F65: a completed task with nothing in it is read once more, with its history', async () => {
    const said = { messageId: 'b', role: 'ROLE_AGENT', parts: [{ text: '42' }] };
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      const { historyLength } = request.body.params as { historyLength?: number };
      result(response, request, (historyLength ?? 0) > 0 ? { ...empty, history: [said] } : empty);
    };
    const reply = await supplier.transport().get(handle);
    expect(reply).toMatchObject({ kind: 'ended', end: { result: { history: [said] } } });
    if (reply.kind !== 'ended' || reply.end.kind !== 'completed') throw new Error(reply.kind);
    const { end } = reply;
    expect(textOf({ ...end, server: 'supplier', isError: false })).toBe('42');
    expect(supplier.calls()).toHaveLength(2);
  });

  it('F65: so is one with a status message alone, which may be the word of the server; the message stands where that brings nothing', async () => {
    const word = { messageId: 'w', role: 'ROLE_AGENT', parts: [{ text: 'Task completed successfully' }] };
    const said = { messageId: 'b', role: 'ROLE_AGENT', parts: [{ text: '42' }] };
    const told = { ...empty, status: { ...empty.status, message: word } };
    const supplier = await agent(jsonRpc);
    let keepsHistory = true;
    supplier.answer = (request, response) => {
      const { historyLength } = request.body.params as { historyLength?: number };
      if ((historyLength ?? 0) === 0) result(response, request, told);
      else if (keepsHistory) result(response, request, { ...told, history: [said] });
      else json(response, {}, 503);
    };
    expect(await supplier.transport().get(handle)).toMatchObject({ end: { result: { history: [said] } } });
    keepsHistory = false;
    expect(await supplier.transport().get(handle)).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', result: { status: { message: word } } },
    });
  });

  it('F65: so is one that had ended when it was started, by the first read', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, { task: empty });
    };
    expect(await supplier.transport().start(start)).toEqual({ kind: 'started', handle, pollAfterMs: 0 });
  });

  it.each([
    ['has ended', ended, 'done'],
    ['works on', working, 'refused'],
  ])('F70: a cancel that the agent refuses is looked into: the task %s', async (_name, task, kind) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      if (request.body.method === 'CancelTask') rpcError(response, request, -32002);
      else result(response, request, task);
    };
    expect((await supplier.transport().cancel(handle)).kind).toBe(kind);
    expect(supplier.calls()).toHaveLength(2);
  });

  it('F64: an error of the application over HTTP+JSON is a refusal, and one of a gateway is none', async () => {
    const supplier = await agent(rest);
    supplier.answer = (_request, response) => {
      json(response, { error: { code: 500, status: 'INTERNAL', message: 'it broke' } }, 500);
    };
    expect(await supplier.transport().start(start)).toMatchObject({
      kind: 'refused',
      error: { code: 'REMOTE_START_REFUSED', message: 'the server answered with error 500: it broke' },
    });
    supplier.answer = (_request, response) => {
      json(response, { message: 'Internal server error' }, 500);
    };
    expect((await supplier.transport().start(start)).kind).toBe('unknown');
  });

  it('F60: an answer over HTTP+JSON that is called text is read all the same', async () => {
    const supplier = await agent(rest);
    supplier.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(JSON.stringify(started));
    };
    expect((await supplier.transport().start(start)).kind).toBe('started');
    supplier.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    };
    expect(await supplier.transport().start(start)).toMatchObject({
      kind: 'unknown',
      error: { message: 'the server broke the protocol: the body is not JSON, but text/html' },
    });
  });

  it('F73: a server that wants to know who calls is named as one without auth', async () => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (_request, response) => {
      json(response, {}, 401);
    };
    const message = 'the server answered with status 401';
    expect(await supplier.transport().start(start)).toMatchObject({
      error: { message: `${message}; the entry of "supplier" has no auth` },
    });
    expect(await supplier.transport({ auth: { bearer: 'canary-token' } }).start(start)).toMatchObject({
      error: { message },
    });
  });
});

describe('starts over a stream', () => {
  const streaming = { capabilities: { streaming: true } };
  const old = (origin: string) => [{ url: `${origin}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }];

  /** Sends events in the format of the request's binding, and keeps the stream open. */
  function events(response: ServerResponse, request: Received, all: readonly unknown[]): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const isRpc = (request.body.method as string | undefined) !== undefined;
    for (const event of all) {
      const value = isRpc ? { jsonrpc: '2.0', id: request.body.id, result: event } : event;
      response.write(`: beat\n\ndata: ${JSON.stringify(value)}\n\n`);
    }
  }

  it.each([
    [
      'JSON-RPC 1.0',
      jsonRpc,
      'SendStreamingMessage',
      started,
      { kind: 'started', state: expect.any(String) as string, handle },
    ],
    [
      'HTTP+JSON 1.0',
      rest,
      'POST /rest/acme/message:stream',
      started,
      {
        kind: 'started',
        state: expect.any(String) as string,
        handle: { ...handle, binding: 'HTTP+JSON', tenant: 'acme' },
      },
    ],
    [
      'JSON-RPC 0.3',
      old,
      'message/stream',
      { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'submitted' } },
      { kind: 'started', state: expect.any(String) as string, handle: { ...handle, wire: '0.3' } },
    ],
    [
      'an update first',
      jsonRpc,
      'SendStreamingMessage',
      { statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: 'TASK_STATE_WORKING' } } },
      { kind: 'started', handle },
    ],
    [
      'an update of 0.3 first',
      old,
      'message/stream',
      { kind: 'status-update', taskId: 't1', contextId: 'c1', status: { state: 'working' } },
      { kind: 'started', handle: { ...handle, wire: '0.3' } },
    ],
  ] as const)('F62: %s: is left at the first event, which names the task', async (_name, to, method, event, reply) => {
    const supplier = await agent(to, streaming);
    supplier.answer = (request, response) => {
      events(response, request, [event]);
    };
    expect(await supplier.transport().start(start)).toEqual(reply);
    expect(supplier.trail()).toEqual(['card', method]);
    expect(supplier.calls()[0]!.headers.accept).toBe('text/event-stream, application/json');
  });

  it('F62: a message is the answer', async () => {
    const message = { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] };
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      events(response, request, [{ message }]);
    };
    expect(await supplier.transport().start(start)).toMatchObject({ kind: 'ended', end: { result: message } });
  });

  it.each([
    ['JSON-RPC', jsonRpc, ['card', 'SendStreamingMessage', 'SendMessage']],
    ['HTTP+JSON', rest, ['card', 'POST /rest/acme/message:stream', 'POST /rest/acme/message:send']],
  ] as const)('F62: an agent that streams nothing after all is asked plainly: %s', async (name, to, trail) => {
    const supplier = await agent(to, streaming);
    supplier.answer = (request, response) => {
      const isFirst = supplier.calls().length === 1;
      if (!isFirst && name === 'JSON-RPC') result(response, request, started);
      else if (!isFirst) json(response, started);
      else if (name === 'JSON-RPC') rpcError(response, request, -32004);
      else json(response, { error: { code: 501, message: 'no', details: [{ reason: 'UNSUPPORTED_OPERATION' }] } }, 400);
    };
    expect((await supplier.transport().start(start)).kind).toBe('started');
    expect(supplier.trail()).toEqual(trail);
  });

  type Ending = readonly [name: string, to: (origin: string) => readonly object[], end: (to: ServerResponse) => void];
  const endings: readonly Ending[] = [
    ['ends without an event', jsonRpc, (response) => void response.end()],
    ['ends without an event, over HTTP+JSON', rest, (response) => void response.end()],
    ['breaks', jsonRpc, (response) => void response.destroy()],
    [
      'has the event of another request',
      jsonRpc,
      (response) => void response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 'x', result: started })}\n\n`),
    ],
    ['has an event that is no JSON', rest, (response) => void response.end('data: {\n\n')],
  ];

  it.each(endings)(
    'F62: the fate of a start whose stream %s is unknown, and it is not sent again',
    async (_name, to, end) => {
      const supplier = await agent(to, streaming);
      supplier.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        end(response);
      };
      expect((await supplier.transport().start(start)).kind).toBe('unknown');
      expect(supplier.calls()).toHaveLength(1);
    },
  );
});
