import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, type Received, result } from './loopback.js';
import { aPeer, httpStatus, modern, modernHandle, rpcError, started, startOf } from './mcp-peer.js';

afterEach(closeAll);

const pinned = { protocolVersion: '2026-07-28' } as const;
const content = [{ type: 'text', text: '412 rows' }];
const form = {
  method: 'elicitation/create',
  params: { message: 'Release?', requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
};
const formQuestion = {
  kind: 'form' as const,
  message: 'Release?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } } },
};
const asked = (inputRequests: object, requestState?: string) => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState === undefined ? {} : { requestState }),
});
const capabilities = ({ body }: Received) =>
  (body.params['_meta'] as Record<string, unknown>)['io.modelcontextprotocol/clientCapabilities'];

describe('a start over 2026-07-28', () => {
  it('GB-11, MCP-23: a result at once ends the call without a handle', async () => {
    const { transport, methods } = await aPeer({ 'tools/call': { resultType: 'complete', content } }, pinned);
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result: { resultType: 'complete', content }, isError: false },
    });
    expect(methods()).toEqual(['tools/call']);
  });

  it('MCP-24: an ended task is read once for its result', async () => {
    const { transport } = await aPeer(
      {
        'tools/call': { ...started, status: 'completed', pollIntervalMs: 60_000 },
        'tasks/get': { resultType: 'complete', taskId: 't1', status: 'completed', result: { content } },
      },
      pinned,
    );
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle: modernHandle,
      pollAfterMs: 0,
    });
    expect((await transport.get(modernHandle)).kind).toBe('ended');
  });

  it('MCP-11: names outside of visible ASCII are sent wrapped', async () => {
    const { transport, server } = await aPeer({ 'tools/call': started, 'tasks/get': httpStatus(500) }, pinned);
    await transport.start(startOf('レポート'));
    await transport.start(startOf('=?base64?x?='));
    await transport.get({ ...modernHandle, taskId: 't1 ' });
    expect(server.received.map(({ headers }) => headers['mcp-name'])).toEqual([
      '=?base64?44Os44Od44O844OI?=',
      '=?base64?PT9iYXNlNjQ/eD89?=',
      '=?base64?dDEg?=',
    ]);
  });

  it('MCP-45: a start that is repeated carries the same key in header and _meta under a new id', async () => {
    const { transport, server } = await aPeer({ 'tools/call': [httpStatus(503), started] }, pinned);
    await transport.start(startOf('x'));
    await transport.start(startOf('x'));
    const keys = server.received.map(({ headers, body }) => [
      headers['idempotency-key'],
      (body.params['_meta'] as Record<string, unknown>)['dev.outwait/idempotencyKey'],
    ]);
    expect(keys).toEqual([
      ['run1/3', 'run1/3'],
      ['run1/3', 'run1/3'],
    ]);
    expect(new Set(server.received.map(({ body }) => body.id)).size).toBe(2);
  });

  it('GB-16: a refusal that comes as an error of the tool is an outcome', async () => {
    const { transport } = await aPeer({ 'tools/call': { content, isError: true } }, pinned);
    expect(await transport.start(startOf('x'))).toMatchObject({
      kind: 'ended',
      end: { kind: 'completed', isError: true },
    });
  });

  it.each([
    ['in the structured content', { content: [], structuredContent: { taskId: 't9', status: 'working' } }],
    [
      'in the structured content, nested',
      { content: [], structuredContent: { task: { taskId: 't9', status: 'input_required' } } },
    ],
    ['as a text', { content: [{ type: 'text', text: '{"taskId":"t9","status":"working"}' }] }],
  ])('GB-15: a result that is the handle of a task, %s, is not a result', async (_name, result) => {
    const { transport } = await aPeer({ 'tools/call': { resultType: 'complete', ...result } }, pinned);
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'unknown',
      error: {
        code: 'REMOTE_PROTOCOL_VIOLATION',
        message:
          'the server broke the protocol: the tool answered with the id of a running task as plain data; only a task of the protocol can be followed',
      },
    });
  });

  it.each([
    ['an ended task', { taskId: 't9', status: 'completed' }],
    ['the task of another system', { taskId: 'T-1', status: 'open' }],
  ])('GB-15: a result that speaks of %s is one', async (_name, structuredContent) => {
    const { transport } = await aPeer({ 'tools/call': { content: [], structuredContent } }, pinned);
    expect((await transport.start(startOf('x'))).kind).toBe('ended');
  });

  it('MCP-61: a tool without a task whose answer is lost says what that means', async () => {
    const noTasks = { ...modern, capabilities: { tools: {} } };
    const cut = (_: Received, response: ServerResponse): void => void response.socket?.destroy();
    const { transport, methods } = await aPeer({ 'server/discover': noTasks, 'tools/call': cut });
    const reply = await transport.start(startOf('x'));
    expect(reply).toMatchObject({ kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE' } });
    expect('error' in reply && reply.error.message).toMatch(
      /; the tool does not run as a task and answers only when its work is done, which may still go on$/,
    );
    expect(methods()).toEqual(['server/discover', 'tools/call']);
  });

  it('MCP-59: a request of the server in place of our response is not a response', async () => {
    const { transport } = await aPeer(
      {
        'tools/call': (request: Received, response: ServerResponse) => {
          const event = (value: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...value })}\n\n`;
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(event({ id: request.body.id, method: 'elicitation/create', params: {} }));
          response.end(event({ id: request.body.id, result: started }));
        },
      },
      pinned,
    );
    expect((await transport.start(startOf('x'))).kind).toBe('started');
  });
});

describe('arguments that are headers', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
      rows: { type: 'integer', 'x-mcp-header': 'Rows' },
      deep: { type: 'object', properties: { name: { type: 'string', 'x-mcp-header': 'Name' } } },
    },
  };
  const twice = {
    type: 'object',
    properties: { a: { type: 'string', 'x-mcp-header': 'Region' }, b: { type: 'string', 'x-mcp-header': 'REGION' } },
  };
  const tools = {
    tools: [
      { name: 'export', inputSchema },
      { name: 'bad', inputSchema: twice },
    ],
  };
  const mismatch = rpcError(-32020, 'Mcp-Param-Region is missing', { status: 400 });
  const unlessHeaders = (request: Received, response: ServerResponse): void => {
    if (request.headers['mcp-param-region'] === undefined) mismatch(request, response);
    else result(response, request, started);
  };

  it('MCP-21, MCP-22: a tool that asks for them is listed once and called again with them', async () => {
    const { transport, server, methods } = await aPeer({ 'tools/list': tools, 'tools/call': unlessHeaders }, pinned);
    const args = { region: 'über', dry: true, rows: 9_007_199_254_740_991, deep: { name: 'x' }, other: 1 };
    expect((await transport.start(startOf('export', args))).kind).toBe('started');
    await transport.start(startOf('export', { region: 'eu', dry: null, rows: 1.5 }));
    expect(methods()).toEqual(['tools/call', 'tools/list', 'tools/call', 'tools/call']);
    const sent = server.received.map(({ headers }) =>
      Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')),
    );
    expect(sent).toEqual([
      [],
      [],
      [
        ['mcp-param-region', '=?base64?w7xiZXI=?='],
        ['mcp-param-dry-run', 'true'],
        ['mcp-param-rows', '9007199254740991'],
        ['mcp-param-name', 'x'],
      ],
      [['mcp-param-region', 'eu']],
    ]);
  });

  it('MCP-22: a second -32020 is final', async () => {
    const { transport, methods } = await aPeer({ 'tools/list': tools, 'tools/call': mismatch }, pinned);
    expect(await transport.start(startOf('export', { region: 'eu' }))).toMatchObject({
      kind: 'refused',
      error: { details: { code: -32020 } },
    });
    expect(methods()).toEqual(['tools/call', 'tools/list', 'tools/call']);
  });

  it('-32020 to a tool without such arguments is final', async () => {
    const { transport, methods } = await aPeer({ 'tools/list': tools, 'tools/call': mismatch }, pinned);
    expect((await transport.start(startOf('other'))).kind).toBe('refused');
    expect(methods()).toEqual(['tools/call', 'tools/list']);
  });

  it('MCP-20: a tool whose definition breaks a rule is not called, the others are', async () => {
    const { transport, methods, warnings } = await aPeer({ 'tools/list': tools, 'tools/call': unlessHeaders }, pinned);
    expect((await transport.start(startOf('export', { region: 'eu' }))).kind).toBe('started');
    expect(warnings()).toEqual([
      {
        event: 'remote tool excluded',
        server: 'reports',
        tool: 'bad',
        problem: 'two properties with the x-mcp-header "REGION"',
      },
    ]);
    const before = methods().length;
    expect(await transport.start(startOf('bad', { a: 'eu' }))).toMatchObject({
      kind: 'refused',
      error: {
        message: 'the definition of the tool breaks the protocol: two properties with the x-mcp-header "REGION"',
      },
    });
    expect(methods()).toHaveLength(before);
  });

  it('a list that cannot be read leaves the start for another attempt', async () => {
    const { transport } = await aPeer({ 'tools/list': httpStatus(503), 'tools/call': mismatch }, pinned);
    expect((await transport.start(startOf('export', { region: 'eu' }))).kind).toBe('retry');
  });

  it('says which answer had no list of tools', async () => {
    const { transport } = await aPeer({ 'tools/list': { tools: 'many' }, 'tools/call': mismatch }, pinned);
    expect(await transport.start(startOf('export', { region: 'eu' }))).toMatchObject({
      error: { message: 'the server broke the protocol: tools/list did not return a list of tools' },
    });
  });

  it('a list of several pages is read to its end', async () => {
    const pages = [{ tools: [], nextCursor: 'c1' }, tools];
    const { transport, server } = await aPeer({ 'tools/list': pages, 'tools/call': unlessHeaders }, pinned);
    expect((await transport.start(startOf('export', { region: 'eu' }))).kind).toBe('started');
    expect(server.received.map(({ body }) => body.params['cursor'])).toEqual([undefined, undefined, 'c1', undefined]);
  });
});

describe('questions', () => {
  it('GB-03: elicitation is declared for a call that answers, on the start and on each read of its task', async () => {
    const { transport, server } = await aPeer({ 'tools/call': started, 'tasks/get': { ...started } }, pinned);
    const without = await transport.start(startOf('x'));
    const reply = await transport.start(startOf('x', {}, { answersQuestions: true }));
    if (reply.kind !== 'started' || without.kind !== 'started') throw new Error(reply.kind);
    expect(reply.handle).toEqual({ ...modernHandle, answersQuestions: true });
    await transport.get(without.handle);
    await transport.get(reply.handle);
    const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const asking = { elicitation: { form: {}, url: {} }, ...tasks };
    expect(server.received.map(capabilities)).toEqual([tasks, asking, tasks, asking]);
  });

  it('MCP-47: a question before the start is answered by the same call under a new id, the state byte for byte', async () => {
    const state = ' {"n":"\u00e9"} \n';
    const { transport, server } = await aPeer({ 'tools/call': [asked({ confirm: form }, state), started] }, pinned);
    const first = await transport.start(startOf('deploy', { env: 'prod' }, { answersQuestions: true }));
    expect(first).toEqual({ kind: 'asked', state, questions: [{ key: 'confirm', ...formQuestion }] });
    const answers = { confirm: { action: 'accept', content: { ok: true } } } as const;
    const continued = { answersQuestions: true, continuation: { state, answers } };
    expect((await transport.start(startOf('deploy', { env: 'prod' }, continued))).kind).toBe('started');
    const [one, two] = server.received.map(({ body }) => body);
    expect(two!.params).toEqual({
      ...one!.params,
      requestState: state,
      inputResponses: { confirm: { action: 'accept', content: { ok: true } } },
    });
    expect(two!.id).not.toBe(one!.id);
  });

  it('MCP-47: without a state none is sent, and neither goes with another call', async () => {
    const { transport, server } = await aPeer({ 'tools/call': [asked({ confirm: form }), started] }, pinned);
    expect(await transport.start(startOf('deploy', {}, { answersQuestions: true }))).not.toHaveProperty('state');
    await transport.start(startOf('other'));
    const continuation = { answers: { confirm: { action: 'decline' } } } as const;
    await transport.start(startOf('deploy', {}, { answersQuestions: true, continuation }));
    expect(server.received.map(({ body }) => [body.params['requestState'], body.params['inputResponses']])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [undefined, { confirm: { action: 'decline' } }],
    ]);
  });

  it('MCP-47: a state without a question is sent back at once', async () => {
    const { transport, server } = await aPeer({ 'tools/call': [asked({}, 's1'), asked({}, 's2'), started] }, pinned);
    expect((await transport.start(startOf('x'))).kind).toBe('started');
    expect(server.received.map(({ body }) => body.params['requestState'])).toEqual([undefined, 's1', 's2']);
  });

  it('MCP-47: a state without a question is sent back no more than eight times', async () => {
    const { transport, methods } = await aPeer({ 'tools/call': asked({}, 's') }, pinned);
    expect(await transport.start(startOf('x'))).toMatchObject({
      kind: 'refused',
      error: { message: 'the server requested the same start again 8 times without beginning it' },
    });
    expect(methods()).toHaveLength(8);
  });

  it('MCP-48: a task after a question is a task like any other, and its keys are its own', async () => {
    const task = { resultType: 'complete', taskId: 't1', status: 'input_required', inputRequests: { confirm: form } };
    const { transport } = await aPeer({ 'tools/call': started, 'tasks/get': task }, pinned);
    const continuation = { answers: { confirm: { action: 'accept' } } } as const;
    expect((await transport.start(startOf('x', {}, { continuation }))).kind).toBe('started');
    expect(await transport.get(modernHandle)).toMatchObject({ questions: [{ key: 'confirm' }] });
  });

  it('MCP-39, MCP-40: every read shows all that is open', async () => {
    const task = { resultType: 'complete', taskId: 't1', status: 'input_required' };
    const both = { ...task, inputRequests: { a: form, b: form } };
    const { transport } = await aPeer({ 'tasks/get': [both, both, { ...task, inputRequests: { b: form } }] }, pinned);
    const keys = async () => {
      const reply = await transport.get(modernHandle);
      return reply.kind === 'working' ? reply.questions?.map(({ key }) => key) : reply.kind;
    };
    expect([await keys(), await keys(), await keys()]).toEqual([['a', 'b'], ['a', 'b'], ['b']]);
  });

  it('MCP-41: a key that comes back with another question is shown as it is', async () => {
    const task = { resultType: 'complete', taskId: 't1', status: 'input_required' };
    const other = { ...form, params: { ...form.params, message: 'Delete?' } };
    const reads = [
      { ...task, inputRequests: { a: form } },
      { ...task, inputRequests: { a: other } },
    ];
    const { transport } = await aPeer({ 'tasks/get': reads }, pinned);
    await transport.get(modernHandle);
    expect(await transport.get(modernHandle)).toMatchObject({ questions: [{ key: 'a', message: 'Delete?' }] });
  });

  it('MCP-42: a page is shown and not opened, and what was not offered is left alone', async () => {
    const { transport, warnings, methods } = await aPeer(
      {
        'tasks/get': {
          resultType: 'complete',
          taskId: 't1',
          status: 'input_required',
          inputRequests: {
            plain: { method: 'elicitation/create', params: { message: 'Which?' } },
            page: {
              method: 'elicitation/create',
              params: { mode: 'url', message: 'Sign in', url: 'https://id.example/x' },
            },
            script: { method: 'elicitation/create', params: { mode: 'url', message: 'x', url: 'javascript:alert(1)' } },
            model: { method: 'sampling/createMessage', params: {} },
            files: { method: 'roots/list' },
          },
        },
      },
      pinned,
    );
    expect(await transport.get(modernHandle)).toEqual({
      kind: 'working',
      state: 'input_required',
      questions: [
        { key: 'plain', kind: 'form', message: 'Which?' },
        { key: 'page', kind: 'url', message: 'Sign in', url: 'https://id.example/x' },
      ],
    });
    expect(warnings()).toEqual([
      {
        event: 'remote question left unanswered',
        server: 'reports',
        asked: 'a page without a web address, sampling/createMessage, roots/list',
      },
    ]);
    expect(methods()).toEqual(['tasks/get']);
  });

  it.each([
    [
      'sampling alone',
      asked({ model: { method: 'sampling/createMessage' } }),
      'the server asks for input that this client does not provide: sampling/createMessage',
    ],
    ['nothing', asked({}), 'the server asks for input without a question'],
    [
      'a state that is no text',
      { resultType: 'input_required', requestState: 7 },
      'the server asks with a requestState that is not a string',
    ],
    [
      'a state of 70 KiB',
      asked({ a: form }, 'x'.repeat(70_000)),
      'the server asks with a requestState of more than 65536 bytes',
    ],
  ])('MCP-42: a start that asks for %s is refused', async (_name, reply, message) => {
    const { transport } = await aPeer({ 'tools/call': reply }, pinned);
    expect(await transport.start(startOf('x'))).toEqual({
      kind: 'refused',
      error: { code: 'REMOTE_START_REFUSED', message },
    });
  });
});

describe('answers', () => {
  const question = { key: 'approve', ...formQuestion } as const;
  const accept = { action: 'accept', content: { ok: true } } as const;
  const open = (key: string) => ({
    resultType: 'complete',
    taskId: 't1',
    status: 'input_required',
    inputRequests: { [key]: form },
  });

  it('MCP-40: one answer is one tasks/update with its key alone', async () => {
    const { transport, server } = await aPeer({ 'tasks/update': { resultType: 'complete' } }, pinned);
    expect(await transport.answer!(modernHandle, question, accept, 'a-1')).toEqual({ kind: 'done' });
    const [{ headers, body }] = server.received as [Received];
    expect(body.params).toMatchObject({
      taskId: 't1',
      inputResponses: { approve: { action: 'accept', content: { ok: true } } },
    });
    expect([headers['mcp-name'], headers['idempotency-key'], capabilities(server.received[0]!)]).toMatchObject([
      't1',
      'a-1',
      { elicitation: { form: {} } },
    ]);
  });

  it.each([
    [
      { action: 'accept', content: { ok: true } },
      { action: 'accept', content: { ok: true } },
    ],
    [{ action: 'accept' }, { action: 'accept' }],
    [{ action: 'decline' }, { action: 'decline' }],
    [{ action: 'cancel' }, { action: 'cancel' }],
  ] as const)('GB-02: %j is sent as %j', async (answer, response) => {
    const { transport, server } = await aPeer({ 'tasks/update': {} }, pinned);
    await transport.answer!(modernHandle, question, answer, 'a-1');
    expect(server.received[0]!.body.params['inputResponses']).toEqual({ approve: response });
  });

  it('MCP-43: an answer whose acknowledgement was lost is sent again as it was', async () => {
    const cut = (_: Received, response: ServerResponse): void => void response.socket?.destroy();
    const { transport, server } = await aPeer({ 'tasks/update': [cut, {}] }, pinned);
    expect((await transport.answer!(modernHandle, question, accept, 'a-1')).kind).toBe('retry');
    expect((await transport.answer!(modernHandle, question, accept, 'a-1')).kind).toBe('done');
    const [one, two] = server.received;
    expect([two!.body.params, two!.headers['idempotency-key']]).toEqual([one!.body.params, 'a-1']);
  });

  it.each([
    ['the question is no longer open', open('other'), 'done'],
    ['F07 the server knows no such task, perhaps not yet', rpcError(-32602, 'unknown task'), 'retry'],
    ['the task has ended', { taskId: 't1', status: 'completed', result: {} }, 'done'],
    ['the answer does not please', open('approve'), 'refused'],
    ['nobody knows', httpStatus(503), 'retry'],
  ] as const)('-32602 to an answer where %s', async (_name, task, kind) => {
    const { transport } = await aPeer({ 'tasks/update': rpcError(-32602, 'no'), 'tasks/get': task }, pinned);
    expect((await transport.answer!(modernHandle, question, accept, 'a-1')).kind).toBe(kind);
  });

  it.each([
    [rpcError(-32601, 'no', { status: 404 }), 'refused'],
    [rpcError(-32021, 'no', { status: 400 }), 'refused'],
    [httpStatus(503), 'retry'],
    [httpStatus(401), 'retry'],
  ])('what a server makes of an answer (case %#)', async (script, kind) => {
    const { transport } = await aPeer({ 'tasks/update': script }, pinned);
    expect((await transport.answer!(modernHandle, question, accept, 'a-1')).kind).toBe(kind);
  });
});

describe('reads and cancels over 2026-07-28', () => {
  const task = { resultType: 'complete', taskId: 't1' };

  it.each([
    ['MCP-25: a task without an id', { ...started, taskId: undefined }],
    ['MCP-27: a nested task', { resultType: 'complete', task: started }],
    ['MCP-10: an unknown resultType', { resultType: 'banana', content }],
  ])('%s may stand for running work', async (_name, reply) => {
    const { transport } = await aPeer({ 'tools/call': reply }, pinned);
    expect((await transport.start(startOf('x'))).kind).toBe('unknown');
  });

  it('GB-09, MCP-33: a poll interval of the latest answer, and what the server says of its progress, are handed on', async () => {
    const first = { ...task, status: 'working', statusMessage: 'row 7', pollIntervalMs: 60_000 };
    const { transport } = await aPeer({ 'tasks/get': [first, { ...first, pollIntervalMs: 10_000 }] }, pinned);
    expect(await transport.get(modernHandle)).toEqual({
      kind: 'working',
      state: 'working',
      note: 'row 7',
      pollAfterMs: 60_000,
    });
    expect(await transport.get(modernHandle)).toMatchObject({ pollAfterMs: 10_000 });
  });

  it('S0-44: a note is cut to 1 KiB', async () => {
    const { transport } = await aPeer(
      { 'tasks/get': { ...task, status: 'working', statusMessage: 'x'.repeat(2_000) } },
      pinned,
    );
    const reply = await transport.get(modernHandle);
    expect(reply.kind === 'working' && reply.note).toBe('x'.repeat(1_024));
  });

  it('MCP-35: -32602 says that the server has no such task', async () => {
    const { transport } = await aPeer({ 'tasks/get': rpcError(-32602, 'unknown task') }, pinned);
    expect(await transport.get(modernHandle)).toEqual({
      kind: 'missing',
      error: {
        code: 'REMOTE_UNREACHABLE',
        message: 'the server answered with error -32602: unknown task',
        details: { status: 200, code: -32602 },
      },
    });
  });

  it.each([
    ['MCP-28: another task', { ...task, taskId: 't2', status: 'completed', result: {} }],
    ['MCP-30: a failed task without an error', { ...task, status: 'failed' }],
    ['MCP-31: a completed task without a result', { ...task, status: 'completed' }],
    ['MCP-36: 500', httpStatus(500)],
    ['MCP-36: 401', httpStatus(401)],
    [
      '-32022, which a poll does not negotiate',
      rpcError(-32022, 'no', { status: 400, data: { supported: ['2025-11-25'] } }),
    ],
  ])('%s leaves the task as it is', async (_name, reply) => {
    const { transport, methods } = await aPeer({ 'tasks/get': reply }, pinned);
    expect((await transport.get(modernHandle)).kind).toBe('unreadable');
    expect(methods()).toEqual(['tasks/get']);
  });

  it('MCP-29, MCP-31, MCP-32: a completed task with isError, marked as a task, without a resultType inside, is an outcome', async () => {
    const ended = { taskId: 't1', resultType: 'task', status: 'completed', result: { content, isError: true } };
    const { transport } = await aPeer({ 'tasks/get': ended }, pinned);
    expect(await transport.get(modernHandle)).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result: { content, isError: true }, isError: true, taskId: 't1' },
    });
  });

  it('MCP-30: a failed task keeps code, message and data of its error', async () => {
    const error = { code: -32603, message: 'quota', data: { limit: 5 } };
    const big = { ...error, data: 'x'.repeat(20_000) };
    const reads = [
      { ...task, status: 'failed', statusMessage: 'upstream', error },
      { ...task, status: 'failed', error: big },
    ];
    const { transport } = await aPeer({ 'tasks/get': reads }, pinned);
    expect(await transport.get(modernHandle)).toEqual({
      kind: 'ended',
      end: {
        kind: 'failed',
        error: {
          code: 'REMOTE_TASK_FAILED',
          message: 'remote task failed: upstream',
          details: { server: 'reports', state: 'failed', code: -32603, message: 'quota', data: { limit: 5 } },
        },
      },
    });
    expect(await transport.get(modernHandle)).toMatchObject({
      end: { error: { details: { code: -32603, dataBytes: 20_002 } } },
    });
  });

  it('MCP-44: a cancel is sent once; an unknown task is reported as such', async () => {
    const { transport, methods } = await aPeer(
      { 'tasks/cancel': [{}, rpcError(-32602, 'unknown'), httpStatus(503)] },
      pinned,
    );
    const replies = [
      await transport.cancel(modernHandle),
      await transport.cancel(modernHandle),
      await transport.cancel(modernHandle),
    ];
    expect(replies.map(({ kind }) => kind)).toEqual(['done', 'gone', 'retry']);
    expect(methods()).toHaveLength(3);
  });
});
