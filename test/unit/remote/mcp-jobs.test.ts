import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { RemoteTaskHandle } from '../../../lib/history/event.js';
import type { McpServerConfig } from '../../../lib/workflow/app.js';
import { closeAll, json, type Received, result } from './loopback.js';
import {
  accepted,
  aPeer,
  httpStatus,
  inSession,
  legacyHello,
  modern,
  rpcError,
  type Peer,
  type Script,
  startOf,
} from './mcp-peer.js';

afterEach(closeAll);

const job = { status: 'export_status', id: 'job_id', cancel: 'cancel_export' };
const jobs = { start_export: job };
const data = (structuredContent: object, more: object = {}) => ({ content: [], structuredContent, ...more });
const text = (said: string, more: object = {}) => ({ content: [{ type: 'text', text: said }], ...more });
const listOf = (...names: readonly string[]) => ({ tools: names.map((name) => ({ name, inputSchema: {} })) });
const tools = listOf('start_export', 'export_status', 'cancel_export', 'export_result');

type Scripts = Readonly<Record<string, Script | readonly Script[]>>;

/** Answers `tools/call` by the name of the tool. */
function toolsOf(scripts: Scripts): Script {
  const counts = new Map<string, number>();
  return (request, response) => {
    const name = request.body.params['name'] as string;
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    const script = scripts[name] ?? rpcError(-32602, `Unknown tool: ${name}`);
    const one = Array.isArray(script) ? (script as readonly Script[])[Math.min(count, script.length - 1)]! : script;
    if (typeof one === 'function') one(request, response);
    else result(response, request, one);
  };
}

/** Returns the calls of tools so far. */
const callsOf = ({ server }: Peer) =>
  server.received
    .filter(({ body }) => body.method === 'tools/call')
    .map(({ body: { params } }) => ({ tool: params['name'], arguments: params['arguments'] }));

const methodsButHello = ({ methods }: Peer) =>
  methods().filter((method) => !['initialize', 'notifications/initialized', 'server/discover'].includes(method));

interface Dialect {
  readonly name: string;
  readonly hello: Scripts;
  readonly config: Partial<McpServerConfig>;
  readonly handle: RemoteTaskHandle;
}

const bare = { server: 'reports', protocol: 'mcp', taskId: 'j-1', job: 'start_export' } as const;
const dialects: readonly Dialect[] = [
  {
    name: '2026-07-28',
    hello: { 'server/discover': modern },
    config: { protocolVersion: '2026-07-28' },
    handle: { ...bare, wire: 'jobs-2026-07-28' },
  },
  {
    name: '2025-11-25',
    hello: { initialize: inSession('s-1', legacyHello), 'notifications/initialized': accepted },
    config: { protocolVersion: '2025-11-25' },
    handle: { ...bare, wire: 'jobs-2025-11-25', session: 's-1' },
  },
  {
    name: '2025-03-26, whose servers know no tasks',
    hello: {
      initialize: {
        protocolVersion: '2025-03-26',
        capabilities: { tools: {} },
        serverInfo: { name: 'o', version: '1' },
      },
      'notifications/initialized': accepted,
    },
    config: {},
    handle: { ...bare, wire: 'jobs-2025-03-26' },
  },
];

describe.each(dialects)('a job over $name', ({ hello, config, handle }) => {
  const peer = (scripts: Scripts, more: Partial<McpServerConfig> = {}, listed: Script = tools) =>
    aPeer({ ...hello, 'tools/list': listed, 'tools/call': toolsOf(scripts) }, { ...config, jobs, ...more });

  it('is started, read until its end and stopped with calls of its tools', async () => {
    const one = await peer({
      start_export: data({ job_id: 'j-1', status: 'queued' }),
      export_status: [
        data({ job_id: 'j-1', status: 'running', message: 'row 7' }),
        data({ status: 'completed', rows: 9 }),
      ],
      cancel_export: text('stopping'),
    });
    expect(await one.transport.start(startOf('start_export', { month: '2026-10' }))).toEqual({
      kind: 'started',
      state: expect.any(String) as string,
      handle,
    });
    expect(await one.transport.get(handle)).toEqual({ kind: 'working', state: 'running', note: 'row 7' });
    expect(await one.transport.get(handle)).toEqual({
      kind: 'ended',
      end: { kind: 'completed', result: data({ status: 'completed', rows: 9 }), isError: false, taskId: 'j-1' },
    });
    expect(await one.transport.cancel(handle)).toEqual({ kind: 'done' });
    expect(callsOf(one)).toEqual([
      { tool: 'start_export', arguments: { month: '2026-10' } },
      { tool: 'export_status', arguments: { job_id: 'j-1' } },
      { tool: 'export_status', arguments: { job_id: 'j-1' } },
      { tool: 'cancel_export', arguments: { job_id: 'j-1' } },
    ]);
    expect(methodsButHello(one)).toEqual(['tools/list', ...Array<string>(4).fill('tools/call')]);
  });

  it('carries the key with its start, and with nothing else', async () => {
    const one = await peer({ start_export: data({ job_id: 'j-1' }), export_status: data({ status: 'x' }) });
    await one.transport.start(startOf('start_export'));
    await one.transport.get(handle);
    const keys = one.server.received
      .filter(({ body }) => body.method === 'tools/call')
      .map(({ headers, body: { params } }) => [
        headers['idempotency-key'],
        (params['_meta'] as Record<string, unknown> | undefined)?.['dev.outwait/idempotencyKey'],
      ]);
    expect(keys).toEqual([
      ['run1/3', 'run1/3'],
      [undefined, undefined],
    ]);
  });

  it('is never called as a task, and a task in place of its id is not followed', async () => {
    const listed = { tools: tools.tools.map((tool) => ({ ...tool, execution: { taskSupport: 'optional' } })) };
    const task = { taskId: 't1', status: 'working', ttl: 1, createdAt: '2026-11-29T10:00:00.000Z', ttlMs: 1 };
    const one = await peer({ start_export: { resultType: 'task', ...task, task } }, {}, listed);
    expect(await one.transport.start(startOf('start_export'))).toMatchObject({
      kind: 'unknown',
      error: {
        message:
          'the server broke the protocol: the tool "start_export" answered with a task, which is not followed while jobs lists the tool',
      },
    });
    const { params } = one.server.received.find(({ body }) => body.method === 'tools/call')!.body;
    expect(params).not.toHaveProperty('task');
    expect(JSON.stringify(params)).not.toContain('io.modelcontextprotocol/tasks');
  });

  it('has its result from a fourth tool where there is one', async () => {
    const one = await peer(
      {
        export_status: [data({ status: 'running' }), data({ status: 'done' })],
        export_result: data({ rows: 412 }),
      },
      { jobs: { start_export: { ...job, resultTool: 'export_result', argument: 'job', result: 'rows' } } },
    );
    expect((await one.transport.get(handle)).kind).toBe('working');
    expect(await one.transport.get(handle)).toMatchObject({
      kind: 'ended',
      end: { result: { structuredContent: 412 } },
    });
    expect(callsOf(one)).toEqual(
      ['export_status', 'export_status', 'export_result'].map((tool) => ({ tool, arguments: { job: 'j-1' } })),
    );
  });

  it('whose start names no id may be running, and the words say nothing of waiting for the end', async () => {
    const one = await peer({ start_export: data({ id: 7 }) });
    const reply = await one.transport.start(startOf('start_export'));
    expect(reply).toEqual({
      kind: 'unknown',
      error: {
        code: 'REMOTE_PROTOCOL_VIOLATION',
        message:
          'the server broke the protocol: the reply of the tool "start_export" has no job id at "job_id": it is {"id":7}',
      },
    });
    const silent = await peer({ start_export: (_request: Received, response: ServerResponse) => response.destroy() });
    const lost = await silent.transport.start(startOf('start_export'));
    expect(lost).toMatchObject({ kind: 'unknown', error: { code: 'REMOTE_UNREACHABLE' } });
    expect(JSON.stringify(lost)).not.toContain('only when its work is done');
  });

  it.each(['start', 'status', 'cancel'])(
    'is refused with the names of the existing tools if its %s is none of them',
    async (which) => {
      const missing = { start: 'start_export', status: 'export_status', cancel: 'cancel_export' }[which]!;
      const names = tools.tools.map(({ name }) => name).filter((name) => name !== missing);
      const one = await peer({}, {}, listOf(...names));
      expect(await one.transport.start(startOf('start_export'))).toEqual({
        kind: 'refused',
        error: {
          code: 'REMOTE_START_REFUSED',
          message: `jobs.start_export of the entry of "reports" names "${missing}", which the server does not have; its tools are ${names.sort().join(', ')}`,
        },
      });
      expect(callsOf(one)).toEqual([]);
    },
  );

  it('is started when its tools have come meanwhile', async () => {
    const one = await peer({ start_export: data({ job_id: 'j-1' }) }, {}, listOf('other'));
    expect((await one.transport.start(startOf('start_export'))).kind).toBe('refused');
    one.becomes({ ...hello, 'tools/list': tools, 'tools/call': toolsOf({ start_export: data({ job_id: 'j-1' }) }) });
    expect((await one.transport.start(startOf('start_export'))).kind).toBe('started');
  });

  it('is started on a server that does not list its tools, or not all of them', async () => {
    const start_export = data({ job_id: 'j-1' });
    for (const listed of [rpcError(-32601, 'no list'), httpStatus(500), { ...listOf('other'), nextCursor: 'more' }]) {
      const one = await peer({ start_export }, {}, listed);
      expect((await one.transport.start(startOf('start_export'))).kind).toBe('started');
    }
  });

  it('is read as nothing where the configuration has lost it, and the error names the line', async () => {
    const one = await peer({}, { jobs: { start_import: job } });
    const error = {
      code: 'CONFIG_INVALID',
      message:
        'the job "j-1" was started with the tool "start_export", which the entry of "reports" does not list; add jobs: { start_export: { status: …, id: … } }',
    };
    expect(await one.transport.get(handle)).toEqual({ kind: 'unreadable', error });
    expect(await one.transport.cancel(handle)).toEqual({ kind: 'retry', error });
    expect(one.server.received).toEqual([]);
  });

  it('takes no answers', async () => {
    const one = await peer({});
    const question = { key: 'k', kind: 'form', message: 'Go?', schema: {} } as const;
    expect(await one.transport.answer!(handle, question, { action: 'decline' }, 'key')).toMatchObject({
      kind: 'refused',
    });
  });

  it('is not stopped where the configuration names no tool for that', async () => {
    const one = await peer({}, { jobs: { start_export: { status: 'export_status', id: 'job_id' } } });
    expect(await one.transport.cancel(handle)).toEqual({
      kind: 'refused',
      error: {
        code: 'CONFIG_INVALID',
        message: 'jobs.start_export of the entry of "reports" names no tool that stops the job',
      },
    });
    expect(one.server.received).toEqual([]);
  });

  it.each([
    ['has ended', data({ status: 'completed' }), 'done'],
    ['has failed', data({ status: 'failed' }), 'done'],
    ['is unknown', text('no such job', { isError: true }), 'gone'],
    ['goes on', data({ status: 'running' }), 'retry'],
    ['cannot be read', text('down', { isError: true }), 'retry'],
  ])('that %s when its cancel fails comes to the cancel as it stands', async (_how, export_status, kind) => {
    const one = await peer(
      { cancel_export: text('cannot', { isError: true }), export_status },
      { jobs: { start_export: { ...job, missing: ['no such job'] } } },
    );
    expect((await one.transport.cancel(handle)).kind).toBe(kind);
    expect(callsOf(one).map(({ tool }) => tool)).toEqual(['cancel_export', 'export_status']);
  });

  it('keeps what the server was sent out of what is told of it', async () => {
    const token = 'canary-0123456789abcdef';
    const one = await peer(
      {
        start_export: data({ note: `${'x'.repeat(1_000)} ${token}` }),
        export_status: [
          data({ status: token, message: `as ${token}` }),
          data({ status: 'failed', message: `as ${token}` }),
          text(`as ${token}`, { isError: true }),
        ],
      },
      { auth: { bearer: token } },
    );
    const told: { readonly kind: string }[] = [await one.transport.start(startOf('start_export'))];
    for (let read = 1; read <= 3; read++) told.push(await one.transport.get(handle));
    expect(told.map(({ kind }) => kind)).toEqual(['unknown', 'working', 'ended', 'unreadable']);
    expect(JSON.stringify(told)).not.toContain('canary');
  });

  it('is asked for again after a reply that is too long to be read', async () => {
    const long = (request: Received, response: ServerResponse): void => {
      json(response, { jsonrpc: '2.0', id: request.body.id, result: text('x'.repeat(5_000_000)) });
    };
    const one = await peer({ export_status: [long, data({ status: 'done' })] });
    expect(await one.transport.get(handle)).toMatchObject({ kind: 'unreadable', error: { code: 'PAYLOAD_TOO_LARGE' } });
    expect((await one.transport.get(handle)).kind).toBe('ended');
  });
});

it('a tool that starts no job is called as usual at a server with jobs', async () => {
  const plain = { 'server/discover': modern, 'tools/call': text('412 rows') };
  const { transport, methods } = await aPeer(plain, { protocolVersion: '2026-07-28', jobs });
  expect((await transport.start(startOf('count'))).kind).toBe('ended');
  expect(methods()).toEqual(['tools/call']);
});

it('a handle of a job of a version that is not known is not read over another one', async () => {
  const { transport, server } = await aPeer({}, { jobs });
  const handle: RemoteTaskHandle = { ...bare, wire: 'jobs-2031-01-01' };
  expect(await transport.get(handle)).toMatchObject({ kind: 'unreadable', error: { code: 'CONFIG_INVALID' } });
  expect(server.received).toEqual([]);
});

it('a job is asked for in the session and version that it was started in, and in a new one when that is lost', async () => {
  let known = 's-1';
  const calls: unknown[] = [];
  const { transport } = await aPeer(
    {
      initialize: (request, response) => {
        inSession(known, { ...legacyHello, protocolVersion: '2025-06-18' })(request, response);
      },
      'notifications/initialized': accepted,
      'tools/call': (request, response) => {
        const { 'mcp-session-id': session, 'mcp-protocol-version': version } = request.headers;
        calls.push([session, version]);
        if (session === known) result(response, request, data({ status: 'running' }));
        else httpStatus(404)(request, response);
      },
    },
    { jobs, protocolVersion: '2025-11-25' },
  );
  const handle: RemoteTaskHandle = { ...bare, wire: 'jobs-2025-03-26', session: 's-1' };
  expect((await transport.get(handle)).kind).toBe('working');
  known = 's-2';
  expect((await transport.get(handle)).kind).toBe('working');
  expect(calls).toEqual([
    ['s-1', '2025-03-26'],
    ['s-1', '2025-03-26'],
    ['s-2', '2025-06-18'],
  ]);
});

it('arguments of the tools of a job are sent as headers where the server asks for them', async () => {
  const wanting =
    (answer: object): Script =>
    (request, response) => {
      if (request.headers['mcp-param-job'] === 'j-1') result(response, request, answer);
      else rpcError(-32020, 'header missing', { status: 400 })(request, response);
    };
  const listed = {
    tools: [
      {
        name: 'export_status',
        inputSchema: { type: 'object', properties: { job_id: { type: 'string', 'x-mcp-header': 'Job' } } },
      },
    ],
  };
  const { transport, methods } = await aPeer(
    { 'tools/list': listed, 'tools/call': toolsOf({ export_status: wanting(data({ status: 'done' })) }) },
    { jobs, protocolVersion: '2026-07-28' },
  );
  expect((await transport.get({ ...bare, wire: 'jobs-2026-07-28' })).kind).toBe('ended');
  expect(methods()).toEqual(['tools/call', 'tools/list', 'tools/call']);
});
