import { ClientFactory } from '@a2a-js/sdk/client';
import { Role, TaskState } from '@a2a-js/sdk';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { startA2aAgent } from '../../../examples/servers/a2a-agent.js';
import { startMcpServer } from '../../../examples/servers/mcp-server.js';
import type { RemoteServer } from '../../../examples/servers/remote-server.js';
import { heldWork } from '../../support/remotes/held-work.js';
import type { RpcReply } from '../../support/remotes/json-rpc.js';
import { a2aRequest, mcpRequest } from '../../support/remotes/json-rpc.js';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(starting: Promise<RemoteServer>): Promise<RemoteServer> {
  const server = await starting;
  cleanups.push(() => server.close());
  return server;
}

describe('the MCP server of the examples', () => {
  const exportOf = (month: string) => ({ name: 'start_export', arguments: { month } });
  const keyed = (key: string) => ({ 'idempotency-key': key });

  async function start(url: string, month: string, key?: string): Promise<string> {
    const reply = await mcpRequest(url, 'tools/call', {
      params: exportOf(month),
      headers: key === undefined ? {} : keyed(key),
    });
    return String(reply.body.result?.['taskId']);
  }
  const get = (url: string, taskId: string) => mcpRequest(url, 'tasks/get', { params: { taskId } });

  it('answers a tool call with a working task and later gives the result in tasks/get', async () => {
    const { work, finish } = heldWork();
    const { url } = await opened(startMcpServer({ work }));

    const started = await mcpRequest(url, 'tools/call', { params: exportOf('2026-10') });
    expect(started).toMatchObject({
      status: 200,
      body: {
        id: 'r-1',
        result: {
          resultType: 'task',
          taskId: expect.any(String) as string,
          status: 'working',
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
          lastUpdatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
          ttlMs: 3_600_000,
          pollIntervalMs: 2_000,
        },
      },
    });
    const taskId = String(started.body.result?.['taskId']);
    expect((await get(url, taskId)).body.result).toMatchObject({ resultType: 'complete', taskId, status: 'working' });

    finish();
    expect((await get(url, taskId)).body.result).toMatchObject({
      resultType: 'complete',
      taskId,
      status: 'completed',
      result: {
        resultType: 'complete',
        content: [{ type: 'text', text: '410 rows' }],
        structuredContent: { month: '2026-10', rows: 410, file: 'bookings-2026-10.csv' },
        isError: false,
      },
    });
  });

  it('completes with isError for a month without bookings', async () => {
    const { work, finish } = heldWork();
    const { url } = await opened(startMcpServer({ work }));
    const taskId = await start(url, '2019-12');
    finish();

    expect((await get(url, taskId)).body.result).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text', text: 'no bookings in 2019-12' }], isError: true },
    });
  });

  it('gives a repeated start with one key the same task', async () => {
    const server = await opened(startMcpServer({ work: heldWork().work }));
    const first = await start(server.url, '2026-10', 'run/1');

    expect(await start(server.url, '2026-10', 'run/1')).toBe(first);
    expect(await start(server.url, '2026-10', 'run/2')).not.toBe(first);
    expect(server.stats()).toMatchObject({
      startCalls: [{ key: 'run/1' }, { key: 'run/1' }, { key: 'run/2' }],
      tasks: 2,
    });
  });

  it('reads the key from _meta where there is no header', async () => {
    const server = await opened(startMcpServer({ work: heldWork().work }));
    await mcpRequest(server.url, 'tools/call', {
      params: exportOf('2026-10'),
      meta: { 'dev.outwait/idempotencyKey': 'run/1' },
    });

    expect(server.stats().startCalls).toEqual([{ key: 'run/1' }]);
  });

  it('refuses a key that comes back with other arguments', async () => {
    const server = await opened(startMcpServer({ work: heldWork().work }));
    await start(server.url, '2026-10', 'run/1');
    const reply = await mcpRequest(server.url, 'tools/call', { params: exportOf('2026-11'), headers: keyed('run/1') });

    expect(reply.body.error?.code).toBe(40901);
    expect(server.stats().tasks).toBe(1);
  });

  it('starts a second task for a repeated key when it does not dedupe', async () => {
    const server = await opened(startMcpServer({ work: heldWork().work, dedupe: false }));
    const first = await start(server.url, '2026-10', 'run/1');

    expect(await start(server.url, '2026-10', 'run/1')).not.toBe(first);
    expect(server.stats().tasks).toBe(2);
  });

  it('cancels a working task and acknowledges a cancel of an ended one', async () => {
    const { work, finish } = heldWork();
    const server = await opened(startMcpServer({ work }));
    const taskId = await start(server.url, '2026-10');
    const cancel = () => mcpRequest(server.url, 'tasks/cancel', { params: { taskId } });

    expect((await cancel()).body.result).toMatchObject({ resultType: 'complete' });
    finish();
    expect((await cancel()).status).toBe(200);
    const read = await get(server.url, taskId);
    expect(read.body.result).toMatchObject({ status: 'cancelled' });
    expect(read.body.result).not.toHaveProperty('result');
    expect(server.stats()).toMatchObject({ reads: 1, cancels: 2 });
  });

  it('keeps the result of a completed task that is cancelled', async () => {
    const { work, finish } = heldWork();
    const { url } = await opened(startMcpServer({ work }));
    const taskId = await start(url, '2026-10');
    finish();
    await get(url, taskId);
    await mcpRequest(url, 'tasks/cancel', { params: { taskId } });

    expect((await get(url, taskId)).body.result).toMatchObject({ status: 'completed', result: { isError: false } });
  });

  it('creates the task and then drops the connection when told to', async () => {
    let calls = 0;
    const server = await opened(
      startMcpServer({
        work: heldWork().work,
        beforeReply: (method) => (method === 'tools/call' && calls++ === 0 ? 'drop' : 'ok'),
      }),
    );

    await expect(start(server.url, '2026-10', 'run/1')).rejects.toThrow();
    await start(server.url, '2026-10', 'run/1');
    expect(server.stats()).toMatchObject({ startCalls: [{ key: 'run/1' }, { key: 'run/1' }], tasks: 1 });
  });

  it('says in server/discover and tools/list what it can do', async () => {
    const { url } = await opened(startMcpServer());

    expect((await mcpRequest(url, 'server/discover')).body.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    expect((await mcpRequest(url, 'tools/list')).body.result).toMatchObject({ tools: [{ name: 'start_export' }] });
  });

  const taskCall = { params: exportOf('2026-10') };
  const noTasks = { 'io.modelcontextprotocol/clientCapabilities': {} };
  const refused: [what: string, request: (url: string) => Promise<RpcReply>, status: number, code: number][] = [
    [
      'no version header',
      (url) => mcpRequest(url, 'tools/call', { ...taskCall, headers: { 'mcp-protocol-version': undefined } }),
      400,
      -32020,
    ],
    [
      'another method in the header',
      (url) => mcpRequest(url, 'tools/call', { ...taskCall, headers: { 'mcp-method': 'tools/list' } }),
      400,
      -32020,
    ],
    [
      'another name in the header',
      (url) => mcpRequest(url, 'tools/call', { ...taskCall, headers: { 'mcp-name': 'other' } }),
      400,
      -32020,
    ],
    [
      'another task in the header',
      (url) => mcpRequest(url, 'tasks/get', { params: { taskId: 'a' }, headers: { 'mcp-name': 'b' } }),
      400,
      -32020,
    ],
    [
      'a version that it does not speak',
      (url) =>
        mcpRequest(url, 'tools/call', {
          ...taskCall,
          headers: { 'mcp-protocol-version': '2027-01-01' },
          meta: { 'io.modelcontextprotocol/protocolVersion': '2027-01-01' },
        }),
      400,
      -32022,
    ],
    [
      'a call without the tasks extension',
      (url) => mcpRequest(url, 'tools/call', { ...taskCall, meta: noTasks }),
      400,
      -32021,
    ],
    [
      'a read without the tasks extension',
      (url) => mcpRequest(url, 'tasks/get', { params: { taskId: 'a' }, meta: noTasks }),
      400,
      -32021,
    ],
    ['a removed method', (url) => mcpRequest(url, 'tasks/list'), 404, -32601],
    ['an unknown task', (url) => mcpRequest(url, 'tasks/get', { params: { taskId: 'a' } }), 200, -32602],
    ['a cancel of an unknown task', (url) => mcpRequest(url, 'tasks/cancel', { params: { taskId: 'a' } }), 200, -32602],
    ['an unknown tool', (url) => mcpRequest(url, 'tools/call', { params: { name: 'x', arguments: {} } }), 200, -32602],
    ['bad arguments', (url) => mcpRequest(url, 'tools/call', { params: exportOf('October') }), 200, -32602],
  ];

  it.each(refused)('refuses %s', async (_what, request, status, code) => {
    const server = await opened(startMcpServer());
    const reply = await request(server.url);

    expect({ status: reply.status, code: reply.body.error?.code }).toEqual({ status, code });
    expect(server.stats()).toMatchObject({ startCalls: [], tasks: 0 });
  });

  it('refuses a browser page from elsewhere', async () => {
    const { url } = await opened(startMcpServer());
    const reply = await mcpRequest(url, 'tools/list', { headers: { origin: 'https://evil.example' } });

    expect(reply.status).toBe(403);
  });
});

describe('the A2A agent of the examples', () => {
  const message = (data: unknown) => ({
    message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ data }] },
    configuration: { returnImmediately: true, historyLength: 0 },
  });
  const quote = (quantity: number) => message({ skill: 'quote', arguments: { article: 'bolt', quantity } });
  const get = (url: string, id: string) => a2aRequest(url, 'GetTask', { params: { id, historyLength: 0 } });

  async function start(url: string, params: Record<string, unknown>, key = 'run/1'): Promise<string> {
    const reply = await a2aRequest(url, 'SendMessage', { params, headers: { 'idempotency-key': key } });
    return (reply.body.result?.['task'] as { id: string }).id;
  }

  it('answers a message with a task and later gives the quote as an artifact', async () => {
    const { work, finish } = heldWork();
    const { url } = await opened(startA2aAgent({ work }));

    const id = await start(url, quote(200));
    expect((await get(url, id)).body.result).toMatchObject({ id, status: { state: 'TASK_STATE_WORKING' } });

    finish();
    const ended = (await get(url, id)).body.result;
    expect(ended).toMatchObject({
      id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [
        {
          artifactId: 'quote',
          parts: [{ data: { article: 'bolt', quantity: 200, totalCents: 45_000, currency: 'EUR' } }],
        },
      ],
    });
    expect(ended).not.toHaveProperty('history');
  });

  it.each([
    ['a quantity below 1', quote(0), 'we quote for one piece or more'],
    ['an unknown skill', message({ skill: 'paint' }), 'send one data part'],
  ])('rejects %s', async (_what, params, text) => {
    const { url } = await opened(startA2aAgent());
    const id = await start(url, params);

    expect((await get(url, id)).body.result).toMatchObject({
      status: { state: 'TASK_STATE_REJECTED', message: { parts: [{ text: expect.stringContaining(text) as string }] } },
    });
  });

  it('starts a second task for a repeated key and message id', async () => {
    const server = await opened(startA2aAgent({ work: heldWork().work }));
    const first = await start(server.url, quote(1));

    expect(await start(server.url, quote(1))).not.toBe(first);
    expect(server.stats()).toMatchObject({ startCalls: [{ key: 'run/1' }, { key: 'run/1' }], tasks: 2 });
  });

  it('cancels a working task and answers -32002 for an ended one', async () => {
    const { work, finish } = heldWork();
    const server = await opened(startA2aAgent({ work }));
    const cancel = (id: string) => a2aRequest(server.url, 'CancelTask', { params: { id } });

    const working = await start(server.url, quote(1));
    expect((await cancel(working)).body.result).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } });

    finish();
    const ended = await start(server.url, quote(1));
    expect((await cancel(ended)).body.error?.code).toBe(-32002);
    expect(server.stats()).toMatchObject({ cancels: 2, reads: 0 });
  });

  it('creates the task and then drops the connection when told to', async () => {
    const server = await opened(
      startA2aAgent({ work: heldWork().work, beforeReply: (method) => (method === 'SendMessage' ? 'drop' : 'ok') }),
    );

    await expect(start(server.url, quote(1))).rejects.toThrow();
    expect(server.stats()).toMatchObject({ startCalls: [{ key: 'run/1' }], tasks: 1 });
  });

  it('refuses an unknown task, an unknown version and an unknown method', async () => {
    const { url } = await opened(startA2aAgent());

    expect((await get(url, 'none')).body.error?.code).toBe(-32001);
    const noVersion = await a2aRequest(url, 'GetTask', { params: { id: 'a' }, headers: { 'a2a-version': undefined } });
    expect(noVersion.body).toMatchObject({ id: 'r-1', error: { code: -32009 } });
    expect((await a2aRequest(url, 'tasks/get', { params: { id: 'a' } })).body.error?.code).toBe(-32601);
  });

  it('serves the client of the official SDK, found by its card', async () => {
    const { work, finish } = heldWork();
    const { url } = await opened(startA2aAgent({ work }));
    const client = await new ClientFactory().createFromUrl(new URL(url).origin);

    const started = await client.sendMessage({
      tenant: '',
      metadata: undefined,
      message: {
        messageId: 'm-1',
        contextId: '',
        taskId: '',
        role: Role.ROLE_USER,
        parts: [
          {
            content: { $case: 'data', value: { skill: 'quote', arguments: { article: 'bolt', quantity: 3 } } },
            metadata: undefined,
            filename: '',
            mediaType: 'application/json',
          },
        ],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      },
      configuration: { returnImmediately: true, acceptedOutputModes: [], taskPushNotificationConfig: undefined },
    });
    finish();
    const task = await client.getTask({ tenant: '', id: 'status' in started ? started.id : '', historyLength: 0 });

    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(task.artifacts[0]?.parts[0]?.content?.value).toMatchObject({ totalCents: 750 });
  });
});

describe('a remote server as a program', () => {
  const programs = [
    ['mcp-server', /^mcp-server ready at (http:\/\/127\.0\.0\.1:\d+\/mcp)$/],
    ['a2a-agent', /^a2a-agent ready at (http:\/\/127\.0\.0\.1:\d+\/a2a)$/],
  ] as const;

  function run(name: string, ...args: string[]): ChildProcess {
    const child = spawn(process.execPath, ['--import', 'tsx', `examples/servers/${name}.ts`, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    cleanups.push(async () => {
      child.kill('SIGKILL');
    });
    return child;
  }
  async function readyLine(child: ChildProcess): Promise<string> {
    const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
    return line;
  }

  it.each(programs)('%s says where it listens, serves its statistics and ends on SIGTERM', async (name, ready) => {
    const child = run(name, '--port', '0', '--task-ms', '10');
    const url = ready.exec(await readyLine(child))?.[1];

    const stats = await fetch(new URL('/stats', url));
    expect(await stats.json()).toEqual({ startCalls: [], tasks: 0, reads: 0, cancels: 0 });

    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('ends with its parent when asked to', async () => {
    const child = run('mcp-server', '--with-parent');
    await readyLine(child);

    child.stdin?.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('says in one line that its port is taken, and which option was wrong', async () => {
    const other = await opened(startMcpServer());
    const { port } = new URL(other.url);
    expect(await saidBy(run('a2a-agent', '--port', port))).toEqual([
      `a2a-agent: port ${port} is taken; choose another with --port, or leave it out for a free one\n`,
      1,
    ]);
    expect(await saidBy(run('mcp-server', '--task-ms', 'soon'))).toEqual([
      '--task-ms takes a whole number, not "soon"\n',
      2,
    ]);
  });

  async function saidBy(child: ChildProcess): Promise<[string, unknown]> {
    const ended = once(child, 'close');
    const said = await text(child.stderr!);
    const [code] = (await ended) as [unknown];
    return [said, code];
  }
});
