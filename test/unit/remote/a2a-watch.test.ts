import { afterEach, describe, expect, it } from 'vitest';
import type { WatchEvent } from '../../../lib/remote/transport.js';
import { type Agent, agent, handle, jsonRpc, working } from './a2a-agent.js';
import { closeAll, json, type Received } from './loopback.js';
import type { ServerResponse } from 'node:http';

afterEach(closeAll);

const rest = (origin: string) => [{ url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }];
const old = (origin: string) => [{ url: `${origin}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }];
const streaming = { capabilities: { streaming: true } };

/** Sends events of a stream, each in the format of the request's binding. */
function stream(
  response: ServerResponse,
  request: Received,
  events: readonly unknown[],
  status = 200,
  contentType = 'text/event-stream',
): void {
  response.writeHead(status, { 'content-type': contentType });
  for (const event of events) {
    const isRpc = (request.body.method as string | undefined) !== undefined;
    const value = isRpc ? { jsonrpc: '2.0', id: request.body.id, result: event } : event;
    response.write(`data: ${JSON.stringify(value)}\n\n`);
  }
}

async function watched(supplier: Agent, of: Parameters<ReturnType<Agent['transport']>['watch']>[0] = handle) {
  const events: WatchEvent[] = [];
  await supplier.transport().watch(of, (event) => events.push(event), new AbortController().signal);
  return events;
}

const statusUpdate = (state: string, more: object = {}) => ({
  statusUpdate: { taskId: 't1', contextId: 'c1', status: { state, ...more } },
});
const chunk = (text: string, append: boolean, lastChunk: boolean, artifactId = 'r') => ({
  artifactUpdate: { taskId: 't1', contextId: 'c1', artifact: { artifactId, parts: [{ text }] }, append, lastChunk },
});

describe('watching a task', () => {
  it('S2-20: tells states and artifacts until the task ends, and closes the stream', async () => {
    const supplier = await agent(jsonRpc, streaming);
    const message = { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'half way' }] };
    const task = { ...working, artifacts: [{ artifactId: 'a', parts: [{ text: '0' }] }] };
    let closed: Promise<unknown> | undefined;
    supplier.answer = (request, response) => {
      closed = new Promise((resolve) => response.on('close', resolve));
      stream(response, request, [
        { task },
        statusUpdate('TASK_STATE_WORKING', { message }),
        chunk('1', false, false),
        chunk('2', true, true),
        statusUpdate('TASK_STATE_COMPLETED'),
        statusUpdate('TASK_STATE_WORKING'),
      ]);
    };
    expect(await watched(supplier)).toEqual([
      { kind: 'status', state: 'TASK_STATE_WORKING' },
      { kind: 'artifact', artifact: { artifactId: 'a', parts: [{ text: '0' }] }, append: false, lastChunk: true },
      { kind: 'status', state: 'TASK_STATE_WORKING', note: 'half way' },
      { kind: 'artifact', artifact: { artifactId: 'r', parts: [{ text: '1' }] }, append: false, lastChunk: false },
      { kind: 'artifact', artifact: { artifactId: 'r', parts: [{ text: '2' }] }, append: true, lastChunk: true },
      { kind: 'status', state: 'TASK_STATE_COMPLETED' },
    ]);
    await closed;
    expect(supplier.calls()[0]!.body).toMatchObject({ method: 'SubscribeToTask', params: { id: 't1' } });
    expect(supplier.calls()[0]!.headers.accept).toBe('text/event-stream');
  });

  it('S2-20: a chunk to append to an unknown artifact is the first of it', async () => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      stream(response, request, [
        chunk('1', true, false),
        chunk('2', true, true),
        statusUpdate('TASK_STATE_COMPLETED'),
      ]);
    };
    expect(await watched(supplier)).toMatchObject([{ append: false }, { append: true }, { kind: 'status' }]);
  });

  it('S0-43: is not held up by 30,000 artifacts in one stream', async () => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      const artifact = (n: number) => ({ artifactUpdate: { taskId: 't1', artifact: { artifactId: n, parts: [] } } });
      stream(response, request, [
        ...Array.from({ length: 30_000 }, (_, n) => artifact(n)),
        statusUpdate('TASK_STATE_COMPLETED'),
      ]);
    };
    expect(await watched(supplier)).toHaveLength(30_001);
  });

  it('over HTTP+JSON and over 0.3', async () => {
    const http = await agent(rest, streaming);
    http.answer = (request, response) => {
      stream(response, request, [{ task: working }, statusUpdate('TASK_STATE_FAILED')]);
    };
    expect(await watched(http, { ...handle, binding: 'HTTP+JSON' })).toEqual([
      { kind: 'status', state: 'TASK_STATE_WORKING' },
      { kind: 'status', state: 'TASK_STATE_FAILED' },
    ]);
    expect(http.trail()).toEqual(['card', 'GET /rest/tasks/t1:subscribe']);

    const before = await agent(old, streaming);
    before.answer = (request, response) => {
      stream(response, request, [
        { kind: 'status-update', taskId: 't1', status: { state: 'input-required' }, final: true },
        {
          kind: 'artifact-update',
          taskId: 't1',
          artifact: { artifactId: 'r', parts: [{ kind: 'text', text: '1' }] },
          append: true,
        },
        { kind: 'status-update', taskId: 't1', status: { state: 'completed' }, final: true },
      ]);
    };
    expect(await watched(before, { ...handle, wire: '0.3' })).toEqual([
      { kind: 'status', state: 'TASK_STATE_INPUT_REQUIRED' },
      { kind: 'artifact', artifact: { artifactId: 'r', parts: [{ text: '1' }] }, append: false, lastChunk: false },
      { kind: 'status', state: 'TASK_STATE_COMPLETED' },
    ]);
    expect(before.trail()).toEqual(['card', 'tasks/resubscribe']);
  });

  it('S2-13: a stream that breaks just ends, and nothing is sent again', async () => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      stream(response, request, [{ task: working }]);
      response.write('data: {"half', () => response.socket?.destroy());
    };
    expect(await watched(supplier)).toEqual([{ kind: 'status', state: 'TASK_STATE_WORKING' }]);
    expect(supplier.trail()).toEqual(['card', 'SubscribeToTask']);
  });

  it.each([
    ['a stream event with two members', { task: working, ...statusUpdate('TASK_STATE_COMPLETED') }],
    ['one with none', { result: 'x' }],
    ['no object', 'x'],
  ])('%s ends it', async (_name, event) => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      stream(response, request, [statusUpdate('TASK_STATE_WORKING'), event, statusUpdate('TASK_STATE_COMPLETED')]);
    };
    expect(await watched(supplier)).toEqual([{ kind: 'status', state: 'TASK_STATE_WORKING' }]);
  });

  it('what is about another task is left out', async () => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      const other = { statusUpdate: { taskId: 't2', status: { state: 'TASK_STATE_FAILED' } } };
      stream(response, request, [
        { task: { ...working, id: 't2' } },
        other,
        { message: { messageId: 'a', parts: [] } },
        statusUpdate('TASK_STATE_COMPLETED'),
      ]);
    };
    expect(await watched(supplier)).toEqual([{ kind: 'status', state: 'TASK_STATE_COMPLETED' }]);
  });

  it.each([
    [
      'an error',
      (response: ServerResponse, request: Received) => {
        json(response, { jsonrpc: '2.0', id: request.body.id, error: { code: -32004, message: 'no' } });
      },
    ],
    [
      'an error status',
      (response: ServerResponse) => {
        json(response, '', 500);
      },
    ],
    [
      'a body that is no stream',
      (response: ServerResponse) => {
        json(response, { task: working });
      },
    ],
    [
      'a stream under an error status',
      (response: ServerResponse, request: Received) => {
        stream(response, request, [{ task: working }], 404);
        response.end();
      },
    ],
    [
      'a stream that says it is a text',
      (response: ServerResponse, request: Received) => {
        stream(response, request, [{ task: working }], 200, 'text/plain');
        response.end();
      },
    ],
  ])('B072: %s in place of a stream is the end', async (_name, answer) => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      answer(response, request);
    };
    expect(await watched(supplier)).toEqual([]);
  });

  it('S2-07: an agent that does not stream is not asked to', async () => {
    const supplier = await agent(jsonRpc);
    expect(await watched(supplier)).toEqual([]);
    expect(supplier.trail()).toEqual(['card']);
  });

  it('ends when the watcher has seen enough', async () => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      stream(response, request, [{ task: working }]);
    };
    const watcher = new AbortController();
    const events: WatchEvent[] = [];
    await supplier.transport().watch(
      handle,
      (event) => {
        events.push(event);
        watcher.abort();
      },
      watcher.signal,
    );
    expect(events).toEqual([{ kind: 'status', state: 'TASK_STATE_WORKING' }]);
    await supplier.transport().watch(handle, (event) => events.push(event), watcher.signal);
    expect(events).toHaveLength(1);
  });

  it('an endless stream is cut at its limit', async () => {
    const supplier = await agent(jsonRpc, streaming);
    supplier.answer = (request, response) => {
      stream(response, request, [{ task: working }]);
      const more = `: ${'x'.repeat(64 * 1024)}\n\n`;
      const flood = (): void => {
        while (!response.destroyed && response.write(more));
        if (!response.destroyed) response.once('drain', flood);
      };
      flood();
    };
    expect(await watched(supplier)).toEqual([{ kind: 'status', state: 'TASK_STATE_WORKING' }]);
  });

  it('what a request held is taken out of notes', async () => {
    const supplier = await agent(jsonRpc, streaming);
    const message = { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'you sent canary-token' }] };
    supplier.answer = (request, response) => {
      stream(response, request, [statusUpdate('TASK_STATE_FAILED', { message })]);
    };
    const events: WatchEvent[] = [];
    const transport = supplier.transport({ auth: { bearer: 'canary-token' } });
    await transport.watch(handle, (event) => events.push(event), new AbortController().signal);
    expect(events).toEqual([{ kind: 'status', state: 'TASK_STATE_FAILED', note: 'you sent [redacted]' }]);
  });
});
